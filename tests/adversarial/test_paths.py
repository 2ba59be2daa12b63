"""Places that are not what they seem: nothing outside is written or read, nothing hangs, every refusal has its code."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_lite.cli import serve as serving
from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.http.server import only_server
from slipway_lite.protocol.observation import observe
from tests.adversarial.scale import scaled
from tests.adversarial.test_git import all_right_or_refused
from tests.machine_host import Host, Reply, database, git, invoke, process, repository

QUICKLY = 30.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


def quickly(*argv: str, stdin: bytes = b"") -> Reply:
    started = time.monotonic()
    reply = all_right_or_refused(invoke(*argv, stdin=stdin))
    assert time.monotonic() - started < QUICKLY, argv
    return reply


# -- the place of the database


def _links(root: Path, target: Path) -> dict[str, Path]:
    """What may be a link that leads to ``target``."""
    place = database(root)
    return {
        "directory": place.parent,
        "file": place,
        **{name: place.with_name(place.name + name) for name in ("-wal", "-shm", "-journal", "-serve")},
    }


@pytest.mark.parametrize("part", ["directory", "file"])
@pytest.mark.parametrize("target", ["file", "missing", "directory", "fifo"])
def test_a_place_in_the_repository_that_leads_elsewhere_is_refused(
    root: Path, tmp_path: Path, part: str, target: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    if target == "file":
        elsewhere.write_bytes(b"precious")
    elif target == "directory":
        elsewhere.mkdir()
    elif target == "fifo":
        os.mkfifo(elsewhere)
    link = _links(root, elsewhere)[part]
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere)
    assert quickly("run", "Look", "--json", "--root", str(root)).code == "runstore_unavailable"
    assert quickly("status", "--json", "--root", str(root)).code == "runstore_unavailable"
    if target == "file":
        assert elsewhere.read_bytes() == b"precious"
    if target == "directory":
        assert list(elsewhere.iterdir()) == []
    assert target != "missing" or not elsewhere.exists()


@pytest.mark.parametrize("sidecar", ["-wal", "-shm", "-serve"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_sidecar_that_leads_elsewhere_is_never_followed(
    root: Path, tmp_path: Path, sidecar: str, exists: bool
) -> None:
    Host(root)
    elsewhere = tmp_path / "elsewhere"
    if exists:
        elsewhere.write_bytes(b"precious")
    _links(root, elsewhere)[sidecar].symlink_to(elsewhere)
    if sidecar == "-serve":
        with pytest.raises(SlipwayError) as refused, only_server(str(database(root))):
            pass
        assert refused.value.code == "database_unavailable"
    else:
        assert quickly("run", "Look", "--json", "--root", str(root)).status == 3
        quickly("db", "verify", "--json", "--root", str(root))
    assert (elsewhere.read_bytes() == b"precious") if exists else not elsewhere.exists()


@pytest.mark.adversarial
@pytest.mark.parametrize("kind", ["fifo", "/dev/null", "/dev/zero", "/dev/full", "directory", "text", "long", "loop"])
def test_a_database_that_is_none(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "place"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "text":
        path.write_text("precious " * 1000)
    elif kind == "long":
        path = path / ("x" * 300)
    elif kind == "loop":
        path.symlink_to(path)
    else:
        path = Path(kind)
    for argv in (["db", "verify"], ["task", "list"], ["db", "rebuild"], ["docs", "resolve", "t"], ["search", "x"]):
        started = time.monotonic()
        reply = all_right_or_refused(process(*argv, "--db", str(path), "--json"))
        assert reply.status in (2, 3) and time.monotonic() - started < QUICKLY
    assert kind != "text" or path.read_text() == "precious " * 1000


# -- files that are handed in


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    place = tmp_path_factory.mktemp("strange")
    (place / "file").write_text("A goal.")
    (place / "link").symlink_to(place / "file")
    (place / "loop").symlink_to(place / "loop")
    os.mkfifo(place / "fifo")
    with open(place / "sparse", "wb") as sparse:
        sparse.truncate(1 << 40)
    names = {name: str(place / name) for name in ("link", "loop", "fifo", "missing", "sparse")}
    yield names | {
        "directory": str(place), "zero": "/dev/zero", "random": "/dev/urandom", "stdin": "/dev/stdin",
        "tty": "/dev/tty", "process": "/proc/self/mem", "long": str(place / ("x" * 5000)),
        "dots": f"{place}/../{place.name}/missing", "empty": "",
    }  # fmt: skip


HANDED = (
    ["run", "--goal-file={}", "--root={root}"],
    ["run", "goal", "--source-file={}", "--root={root}"],
    ["protocol", "submit", "--run=r", "--action=a", "--outcome-file={}", "--root={root}"],
    ["protocol", "answer", "--run=r", "--action=a", "--text-file={}", "--root={root}"],
    ["protocol", "resume", "r", "--source-file={}", "--root={root}"],
    ["task", "create", "--file={}", "--db={db}"],
    ["task", "approve", "t", "--token-file={}", "--db={db}"],
    ["gates", "analyze", "{}"],
    ["gates", "analyze", "--thresholds={}", "-"],
)


@pytest.mark.parametrize("argv", HANDED, ids=" ".join)
def test_a_file_that_is_handed_in_is_a_file(
    argv: list[str], strange: dict[str, str], root: Path, tmp_path: Path
) -> None:
    for name, path in strange.items():
        if argv[0] == "gates" and name in ("sparse", "zero", "random"):
            # A bundle may have a gibibyte, so that much of a larger one is read before it is refused.
            continue
        words = [word.replace("{}", path).format(root=root, db=tmp_path / "x.db") for word in argv]
        reply = quickly(*words, stdin=b"")
        assert reply.status in (2, 3), (name, reply.out)
        assert path not in json.loads(reply.err)["message"] or not path
    assert not (root / ".git/slipway-lite").exists()


def test_a_token_file_is_a_file_of_tokens(strange: dict[str, str]) -> None:
    for name, path in strange.items():
        if path:
            with pytest.raises(UsageError) as refused:
                serving.tokens(path)
            assert refused.value.code == "invalid_token_file", name


def test_an_export_replaces_a_file_and_nothing_else(root: Path, tmp_path: Path) -> None:
    Host(root)
    argv = ["observations", "export", "--db", str(database(root)), "--output"]
    target = tmp_path / "kept"
    target.write_text("precious")
    link = tmp_path / "link"
    link.symlink_to(target)
    assert invoke(*argv, str(link)).status == 0
    assert target.read_text() == "precious" and not link.is_symlink()
    before = os.stat("/dev/null")
    assert invoke(*argv, "/dev/null").status == 0
    after = os.stat("/dev/null")
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)
    assert invoke(*argv, "/dev/full").code == "output_failed"
    assert invoke(*argv, str(tmp_path)).code == "output_failed"
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    assert invoke(*argv, str(fifo)).status == 0
    reader.join(QUICKLY)
    assert json.loads(read[0]) and fifo.is_fifo()


# -- roots


def test_a_root_of_any_name_is_one_worktree_or_none(tmp_path: Path) -> None:
    for number, name in enumerate(("a\nb", "\x1b[31m", "…\u202e", "-dash", "a b'\"$(x)`", "x" * 250, "%s{0}", "..x")):
        root = repository(tmp_path / str(number) / name)
        state = quickly("run", "Look", "--json", f"--root={root}").document
        (variant, *_) = state["next"]["variants"]
        # What comes back is to be run again, word by word.
        assert variant["base_argv"][variant["base_argv"].index("--root") + 1] == str(root)
        assert quickly("status", state["run_id"], "--json", f"--root={root}").status == 0


def test_a_root_that_is_no_directory_is_refused(tmp_path: Path, root: Path, strange: dict[str, str]) -> None:
    refused = {*strange.values(), "\0", "a\0b", os.fsdecode(b"\xff"), "/" * 5000, "../" * 500} - {""}
    for place in refused:
        assert quickly("status", "--json", "--root", place).code == "git_repository_required", place
    # A file stands for its directory, `..` for what it means on the disk.
    assert quickly("status", "--json", "--root", str(root / "README.md")).status == 0
    (tmp_path / "link").symlink_to(root / ".git")
    assert quickly("status", "--json", "--root", str(tmp_path / "link" / "..")).status in (0, 2)


# -- names in the worktree


def test_names_of_any_kind_in_the_worktree(root: Path) -> None:
    names = ["a\nb", "\x1b]0;x\x07", "\u202ecod", "x" * 255, "-rf", '"q"', "Same", "same", "a\\b", "tab\t", " ", "…"]
    for name in names:
        (root / name).write_text(name)
    deep = root
    for _ in range(12):
        deep = deep / ("d" * 200)
        deep.mkdir()
    (deep / "file").write_text("deep")
    os.symlink("/etc/passwd", root / "leads outside")
    os.symlink("x" * 4000, root / "leads nowhere")
    os.mkfifo(root / "fifo")
    with open(root / "sparse", "wb") as sparse:
        sparse.truncate(1 << 40)
    found = observe(str(root))
    seen = {item["path"]: item["observation"] for item in found["path_observations"]}
    assert {name: seen[name] for name in names} == dict.fromkeys(names, "regular")
    assert seen["sparse"] == "oversize_sampled" and seen["leads outside"] == seen["leads nowhere"] == "symlink"
    assert "fifo" not in seen
    assert quickly("run", "Look", "--json", "--root", str(root)).status == 0


def test_a_name_that_is_no_utf8_is_a_failed_observation_and_no_failed_run(root: Path) -> None:
    (Path(os.fsdecode(os.fsencode(root) + b"/\xff\xfe"))).write_text("x")
    reply = quickly("run", "Look", "--json", "--root", str(root))
    assert reply.status == 0 or reply.code


@pytest.mark.adversarial
def test_files_that_change_what_they_are_while_they_are_observed(root: Path, tmp_path: Path) -> None:
    """A file, a fifo, a link out of the worktree and a directory take turns in one place."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    place = root / "changing"
    stop = threading.Event()

    def change() -> None:
        number = 0
        while not stop.is_set():
            draft = root / ".git" / f"draft-{number % 2}"
            if number % 4 == 0:
                draft.write_text("plain")
            elif number % 4 == 1:
                os.mkfifo(draft)
            elif number % 4 == 2:
                draft.symlink_to(secret)
            else:
                draft.write_bytes(b"x" * 1_000_000)
            os.replace(draft, place)
            number += 1

    thread = threading.Thread(target=change)
    thread.start()
    seen: set[str] = set()
    try:
        for _ in range(scaled(60, 1_000)):
            started = time.monotonic()
            for item in observe(str(root))["path_observations"]:
                seen.add(item["observation"])
                if item["observation"] == "symlink":
                    assert item["content_fingerprint_kind"] == "symlink_target_sha256"
            assert time.monotonic() - started < QUICKLY
    finally:
        stop.set()
        thread.join()
    assert {"regular"} <= seen <= {"regular", "symlink", "non_regular", "unreadable", "missing"}


def test_a_database_in_a_linked_worktree_is_that_of_the_repository(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    assert quickly("db", "path", "--json", "--root", str(tmp_path / "linked")).status == 0
    (tmp_path / "alias").symlink_to(tmp_path / "linked")
    for place in ("linked", "alias"):
        document = json.loads(invoke("db", "path", "--json", "--root", str(tmp_path / place)).out)
        assert document["path"] == str(database(root))
