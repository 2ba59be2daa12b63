from __future__ import annotations

import json
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.hosts.ownership import (
    MANIFEST_LIMIT,
    UNSAFE,
    ManifestUnreadable,
    decode_manifest,
    encode_manifest,
    inspect,
    orphans,
)
from slipway_lite.hosts.registry import HOSTS, generated_files
from slipway_lite.hosts.tree import Tree, UnsafePath

BY_ID = {host.id: host for host in HOSTS}
CLAUDE, KIRO = BY_ID["claude"], BY_ID["kiro"]
RUN = ".claude/skills/slipway-run/SKILL.md"
DIGEST = "a" * 64


def state(repository, host=CLAUDE, surface=None):
    with Tree(str(repository.root)) as tree:
        return inspect(str(repository.root), tree, host, surface)


def manifest(**changes):
    document = {"version": 2, "tool_id": "claude", "files": [{"path": RUN, "sha256": DIGEST}], **changes}
    return json.dumps({key: value for key, value in document.items() if value is not ...}).encode()


def test_the_manifest_has_the_published_form() -> None:
    raw = encode_manifest(KIRO, "cli", {".kiro/b": f"sha256:{DIGEST}", ".kiro/a": "sha256:" + "b" * 64})
    assert raw.decode() == (
        '{\n  "version": 2,\n  "tool_id": "kiro",\n  "surface": {\n    "kiro": "cli"\n  },\n  "files": [\n'
        '    {\n      "path": ".kiro/a",\n      "sha256": "' + "b" * 64 + '"\n    },\n'
        '    {\n      "path": ".kiro/b",\n      "sha256": "' + DIGEST + '"\n    }\n  ]\n}\n'
    )


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_what_is_encoded_is_decoded(data) -> None:
    host = data.draw(st.sampled_from(HOSTS))
    surface = data.draw(st.sampled_from(sorted(host.entries)))
    paths = st.sampled_from([file.path for file in generated_files(host, surface)])
    digests = st.text("0123456789abcdef", min_size=64, max_size=64).map("sha256:".__add__)
    claims = data.draw(st.dictionaries(paths, digests))
    assert decode_manifest(host, encode_manifest(host, surface, claims)) == (surface, claims)


@pytest.mark.parametrize(
    ("why", "raw"),
    [
        ("not JSON", b"garbage"),
        ("not an object", b"[]"),
        ("empty", b""),
        ("byte order mark", b"\xef\xbb\xbf" + manifest()),
        ("repeated key", b'{"version":2,"version":2,"tool_id":"claude","files":[]}'),
        (
            "repeated key inside a claim",
            b'{"version":2,"tool_id":"claude","files":[{"path":"a","path":"a"}]}',
        ),
        ("unknown key", manifest(more=1)),
        ("missing key", manifest(files=...)),
        ("another version", manifest(version=3)),
        ("a version that is no integer", manifest(version=2.0)),
        ("another tool", manifest(tool_id="codex")),
        ("a surface that the host does not have", manifest(surface={"claude": "ide"})),
        ("null files", manifest(files=None)),
        ("a claim that is no object", manifest(files=[RUN])),
        ("a claim with an unknown key", manifest(files=[{"path": RUN, "sha256": DIGEST, "x": 1}])),
        ("a repeated path", manifest(files=[{"path": RUN, "sha256": DIGEST}] * 2)),
        ("a path outside", manifest(files=[{"path": "../../etc/passwd", "sha256": DIGEST}])),
        ("an absolute path", manifest(files=[{"path": "/etc/passwd", "sha256": DIGEST}])),
        (
            "a path of another host",
            manifest(files=[{"path": ".pi/skills/slipway-run/SKILL.md", "sha256": DIGEST}]),
        ),
        ("the manifest itself", manifest(files=[{"path": CLAUDE.manifest, "sha256": DIGEST}])),
        ("a path that is no string", manifest(files=[{"path": [], "sha256": DIGEST}])),
        ("an upper-case digest", manifest(files=[{"path": RUN, "sha256": "A" * 64}])),
        ("a prefixed digest", manifest(files=[{"path": RUN, "sha256": f"sha256:{DIGEST}"}])),
        ("a digest that is no string", manifest(files=[{"path": RUN, "sha256": 1}])),
        ("too large", b" " * MANIFEST_LIMIT + manifest()),
    ],
)
def test_a_manifest_that_we_would_not_have_written_is_unreadable(why: str, raw: bytes) -> None:
    assert decode_manifest(CLAUDE, manifest()).claims == {RUN: f"sha256:{DIGEST}"}
    with pytest.raises(ManifestUnreadable):
        decode_manifest(CLAUDE, raw)


@pytest.mark.parametrize("surface", [..., None, {}, "ide", {"kiro": "web"}, {"claude": "ide"}, {"kiro": ["ide"]}])
def test_the_manifest_of_kiro_names_its_surface(surface) -> None:
    assert decode_manifest(KIRO, manifest(tool_id="kiro", files=[], surface={"kiro": "cli"})).surface == "cli"
    with pytest.raises(ManifestUnreadable):
        decode_manifest(KIRO, manifest(tool_id="kiro", files=[], surface=surface))


def test_a_path_of_the_other_kiro_surface_is_refused() -> None:
    files = [{"path": ".kiro/agents/slipway-run.json", "sha256": DIGEST}]
    assert decode_manifest(KIRO, manifest(tool_id="kiro", surface={"kiro": "cli"}, files=files))
    with pytest.raises(ManifestUnreadable):
        decode_manifest(KIRO, manifest(tool_id="kiro", surface={"kiro": "ide"}, files=files))


def test_an_installed_host_is_pristine(repository) -> None:
    repository.install("claude")
    found = state(repository)
    assert found.detected and found.installed and found.complete and not found.needs_refresh
    assert all(item.pristine and not item.stale for item in found.files)
    assert len(found.capabilities) == 7


def test_ownership_files_are_private_and_capability_files_are_readable(repository) -> None:
    repository.install("kilo")
    modes = {
        path: stat.S_IMODE((repository.root / path).stat().st_mode)
        for path, content in repository.snapshot().items()
        if content is not None and not path.startswith(".git/")
    }
    private = {path for path, mode in modes.items() if mode == 0o600}
    assert private == {BY_ID["kilo"].manifest, BY_ID["kilo"].sentinel}
    assert {mode for path, mode in modes.items() if path not in private} == {0o644}


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_text("edited"),
        lambda path: path.unlink(),
        lambda path: (path.rename(path.with_name("x")), path.symlink_to("x")),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: path.write_bytes(b"x" * 1_048_577),
    ],
    ids=["edited", "missing", "link", "directory", "too large"],
)
def test_a_file_that_is_not_as_generated_is_not_pristine(repository, damage) -> None:
    repository.install("claude")
    damage(repository.path(RUN))
    found = state(repository)
    assert found.installed and found.complete and found.needs_refresh
    assert [item.file.path for item in found.files if not item.pristine] == [RUN]
    assert "slipway-run" not in found.capabilities and len(found.capabilities) == 6


def test_a_linked_directory_makes_what_is_below_it_unsafe(repository) -> None:
    repository.install("claude")
    repository.path(".claude/skills").rename(repository.path("elsewhere"))
    repository.path(".claude/skills").symlink_to("../elsewhere")
    assert {item.actual for item in state(repository).files} == {UNSAFE}


def test_a_linked_host_directory_cannot_be_inspected(repository) -> None:
    repository.install("claude")
    repository.path(".claude").rename(repository.path("elsewhere"))
    repository.path(".claude").symlink_to("elsewhere")
    with pytest.raises(UnsafePath, match=r"\.claude is a symbolic link"):
        state(repository)


def test_a_linked_manifest_is_unreadable(repository) -> None:
    repository.install("claude")
    path = repository.path(CLAUDE.manifest)
    path.rename(path.with_name("x"))
    path.symlink_to("x")
    with pytest.raises(ManifestUnreadable, match="symbolic link"):
        state(repository)


def test_without_manifest_and_request_only_detection_is_looked_at(repository) -> None:
    assert state(repository) == (CLAUDE, False, "", None, None, ())
    repository.path(".claude").mkdir()
    found = state(repository)
    assert found.detected and not found.installed and found.files == () and found.capabilities == []


def test_a_file_in_place_of_a_host_directory_is_no_host(repository) -> None:
    repository.write(".claude", "not a directory")
    assert state(repository) == (CLAUDE, False, "", None, None, ())


def test_orphans_are_found_on_every_surface(repository) -> None:
    repository.write(".kiro/steering/slipway-run.md", "x")
    repository.write(".kiro/agents/slipway-run.json", "x")
    repository.write(".kiro/agents/mine.json", "x")
    with Tree(str(repository.root)) as tree:
        assert orphans(tree, KIRO) == [".kiro/agents/slipway-run.json", ".kiro/steering/slipway-run.md"]
