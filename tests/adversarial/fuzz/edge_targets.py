"""The decoders of the edges: command lines, windows and cursors, manifests of hosts, HTTP requests."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from slipway_lite.canon import encode
from slipway_lite.cli import db, grammar
from slipway_lite.cli.human import harmless, visible
from slipway_lite.control import queries
from slipway_lite.control.importing import import_audit
from slipway_lite.control.refusals import Refused
from slipway_lite.hosts import github, ownership, transaction
from slipway_lite.hosts.registry import HOSTS
from slipway_lite.hosts.tree import Tree
from slipway_lite.http.access import RANK, Access, parse_tokens
from slipway_lite.observe import analysis, audit, export, gates, messages, observations
from slipway_lite.observe import search as searching
from slipway_lite.redact import redact
from slipway_lite.store.location import locate
from tests.adversarial.fuzz import plane
from tests.adversarial.fuzz.protocol_targets import written
from tests.adversarial.fuzz.target import RUNTIME, USAGE, Target
from tests.machine_host import Reply, invoke

TIME = "2026-07-12T09:00:00Z"


def words(raw: bytes) -> list[str]:
    """A command line from lines: what the system would hand over, surrogates for what is not UTF-8."""
    return [os.fsdecode(word.replace(b"\0", b"")) for word in raw.split(b"\n")]


# -- command lines


def _grammar(raw: bytes) -> None:
    argv = words(raw)
    if not grammar.is_machine(argv):
        return
    parsed = grammar.parse(argv)
    assert grammar.COMMANDS[parsed.command.words] is parsed.command
    for name, flag in parsed.command.flags.items():
        kind = {"string": str, "int": int, "bool": bool, "strings": list}[flag[1]]
        assert type(parsed[name]) is kind
        assert name in parsed.given or parsed[name] == flag[2]


def _grammar_starts() -> list[bytes]:
    lines = (
        "run|--goal-file|goal.md|--budget=0x1F|--no-review=false|--json|--root|.",
        "status|run-1|--section=a|--json=T",
        "protocol|--root=x|submit|--run|r|--action|a|--outcome-stdin",
        "protocol|answer|--text=--|--confirm-destructive|--scope-sha256|sha256:0",
        "protocol|resume|--budget|-0o17|--|--run",
        "install|--tool|a,b|--tool=c|--surface|ide|-h",
        "protocol|--help",
    )
    return [line.replace("|", "\n").encode() for line in lines]


UNSAFE_NOUNS = frozenset({"serve", "explore", "demo", "install", "uninstall"})
VERDICTS = frozenset({("turn", "parse"), ("schema", "validate")})
UNSAFE_WORDS = frozenset({"drive", "advance"})


def _command(raw: bytes) -> None:
    """A whole command, in a directory of its own: exit 0, 2 or 3, and one JSON line for a refusal, never 1.

    Words that start servers or other people's programs are left out, and no word is a path that leads elsewhere.
    """
    line, _, stdin = raw.partition(b"\0")
    argv = [word.replace("/", "_") for word in words(line)]
    if argv[0] in UNSAFE_NOUNS or UNSAFE_WORDS & set(argv) or any(word.startswith(("--db", "..")) for word in argv):
        return
    with _standing_aside():
        reply = invoke(*argv, stdin=stdin)
    _check_reply(argv, reply)


def _check_reply(argv: list[str], reply: Reply) -> None:
    assert reply.status in (0, USAGE, RUNTIME), f"exit status {reply.status}"
    reply.out.decode()
    if reply.status == RUNTIME and reply.err == b"":
        # A command whose answer is a verdict prints it whatever it is.
        assert tuple([word for word in argv if not word.startswith("-")][:2]) in VERDICTS and reply.out, argv
    elif reply.status != 0:
        *told, last = reply.err.decode().removesuffix("\n").split("\n")
        assert told == [], "more than one line on standard error"
        document = json.loads(last)
        assert document["exit_code"] == reply.status or document.get("error", {}).get("exit_code") == reply.status
    else:
        assert "Traceback" not in reply.err.decode()


@cache
def _aside() -> str:
    """A directory without a repository, deep enough that one step up leads nowhere."""
    path = Path(plane.path_of("aside")).with_suffix("") / "a" / "b"
    path.mkdir(parents=True)
    return str(path)


class _standing_aside:
    def __enter__(self) -> None:
        self._from = os.getcwd()
        self._db = os.environ.get("SLIPWAY_DB")
        os.chdir(_aside())
        os.environ["SLIPWAY_DB"] = os.path.join(_aside(), "slipway.db")

    def __exit__(self, *_: object) -> None:
        os.chdir(self._from)
        if self._db is None:
            del os.environ["SLIPWAY_DB"]
        else:
            os.environ["SLIPWAY_DB"] = self._db


def _command_starts() -> list[bytes]:
    from tests.turns.documents import envelope, fenced, outcome, snapshot

    lines = [
        b"status|--json", b"run|goal", b"protocol|submit|--run|r|--action|a|--outcome-stdin\0{}", b"db|path|--json",
        b"db|head", b"db|verify|--head|1:sha256:00", b"schema|list|--json", b"schema|show|task",
        b"schema|validate|task|-\0{}",
        b"audit|list|--limit|9",
        b"audit|list|--since|2026-01-01T00:00:00Z|--cursor|5", b"audit|prune|--before|2020-01-01T00:00:00Z|--dry-run",
        b"task|list|--json", b"task|get|x", b"search|word", b"observations|export|--all|--format|csv",
        b"task|create|--file|-|--json\0{\"title\":\"t\"}", b"docs|ingest|x", b"gates|analyze|-\0{}",
        b"turn|decide\0" + written({"snapshot": snapshot(), "lastOutcome": outcome(), "policy": {}}),
        b"turn|parse|--skill|execute-phase|--json\0" + fenced(envelope()).encode(), b"turn|profiles|--json",
        b"repo|list", b"job|get|j", b"tracker|link|t|--typed-ref|a:b:c:d", b"--version", b"nonsense",
    ]  # fmt: skip
    found = []
    for line in lines:
        head, zero, stdin = line.partition(b"\0")
        found.append(head.replace(b"|", b"\n") + zero + stdin)
    return found


def _noted_head(raw: bytes) -> None:
    seq, digest = db._noted_head(raw.decode("utf-8", "replace"))
    assert db._noted_head(f"{seq}:{digest}") == (seq, digest)


def _people(raw: bytes) -> None:
    text = raw.decode("utf-8", "surrogateescape")
    assert harmless(harmless(text)) == harmless(text)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000 for c in harmless(text))
    assert "\n" not in visible(text)
    redact(text)
    path, rule = locate({"SLIPWAY_DB": text}, None, None) if text else ("/", "user")
    assert os.path.isabs(path) and rule in ("environment", "user")


# -- windows, cursors, filters, searches


@cache
def _store() -> Any:
    store = plane.place(0).store
    events = [
        {
            "event_id": f"seen{number}", "event_type": "run.runSystemGateReported", "task_id": "t",
            "payload": {"a": number},
            "occurred_at": f"2026-07-1{number}T00:00:00Z",
        }
        for number in range(3)
    ]  # fmt: skip
    import_audit(store, b"\n".join(map(written, events)))
    return store


def _line(texts: list[str], place: int) -> str | None:
    return texts[place] if place < len(texts) and texts[place] else None


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text[:19])
    except ValueError:
        return len(text or "")


def _window(raw: bytes) -> None:
    """Lines: since, until, cursor, limit, then what an audit filter takes."""
    texts = raw.decode("utf-8", "replace").split("\n")
    since, until, cursor, limit = (_line(texts, place) for place in range(4))
    bundle = observations.page(_store(), since, until, cursor, _number(limit))
    messages.check(messages.ImprovementObservationBundle, json.loads(encode(bundle)), "invalid_bundle")
    wanted = audit.Filter(_line(texts, 4), _line(texts, 5), _line(texts, 6), since, until)
    shown = audit.events(_store(), wanted, _number(cursor), _number(limit) or 1)
    encode(shown).encode()
    for form in ("json", "ndjson", "csv"):
        export.write(_store(), export.Request(since, until, cursor, _number(limit)), form, io.BytesIO())


def _event(raw: bytes) -> None:
    encode(audit.event(_store(), raw.decode("utf-8", "replace"))).encode()


def _tasks(raw: bytes) -> None:
    texts = raw.decode("utf-8", "replace").split("\n")
    limit, offset, state = _number(_line(texts, 0)), _number(_line(texts, 1)), _line(texts, 2)
    for query in (queries.tasks, queries.run_list):
        json.loads(query(_store(), limit, offset, state))


def _search(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    found = searching.search(_store(), text)
    terms = [term for term in text.split() if term.isascii() and term.isprintable()]
    for item in found["items"]:
        encode(item).encode()
        assert item["kind"] in ("task", "run", "action", "activity", "finding", "answer")
    searching.snippet(text, terms or ["x"])


def _gates(raw: bytes) -> None:
    """Three documents, one a line: bundle, thresholds, the report before."""
    lines = [*raw.split(b"\n"), b"", b""][:3]
    bundle = analysis.read_document(lines[0], "invalid_bundle")
    thresholds = analysis.read_document(lines[1], "invalid_thresholds") if lines[1] else gates.DEFAULT
    before = analysis.read_document(lines[2], "invalid_previous_report") if lines[2] else None
    report = analysis.analyze_gates(bundle, thresholds, before, TIME)
    messages.check(messages.GateEffectivenessReport, json.loads(encode(report)), "no_valid_report")


def _gate_starts() -> list[bytes]:
    gate = {
        "observation_id": "gate:1", "task_id": "t", "occurred_at": TIME, "gate_id": "lint", "owner": "o",
        "policy_revision": "1", "decision": "hold", "effective_action": "hold", "transition_changed": True,
        "risk": "low",
        "override": "none", "source_event_id": "e",
    }  # fmt: skip
    bundle = {
        "schema_version": "self-improvement/v1", "generated_at": TIME, "since": TIME, "until": TIME, "task_count": 1,
        "gate_catalog": [{"gate_id": "lint", "owner": "o", "policy_revision": "1", "hard_safety": False}],
        "gate_observations": [gate, {**gate, "observation_id": "gate:2", "decision": "pass"}],
        "evidence_consumption_observations": [], "reflection_summaries": [],
    }  # fmt: skip
    report = analysis.analyze_gates(bundle, generated_at=TIME)
    lines = [bundle, gates.DEFAULT, report]
    return [written(bundle), b"\n".join(map(written, lines)), b"\n".join(map(written, [bundle, gates.DEFAULT]))]


# -- what lies in a repository


def _manifest(raw: bytes) -> None:
    for host in HOSTS:
        try:
            manifest = ownership.decode_manifest(host, raw)
        except ownership.ManifestUnreadable:
            continue
        assert ownership.decode_manifest(host, ownership.encode_manifest(host, *manifest)) == manifest


def _manifest_starts() -> list[bytes]:
    found = []
    for host in HOSTS:
        for surface in host.entries:
            files = {file.path: "sha256:" + "0" * 64 for file in ownership.generated_files(host, surface)}
            found.append(ownership.encode_manifest(host, surface, files))
    return found


def _journal(raw: bytes) -> None:
    """An interrupted install by somebody else: every file stays below the directory."""
    with tempfile.TemporaryDirectory(prefix="slipway-fuzz-", dir=plane.MEMORY) as root:
        for name in ("tree", "state"):
            os.mkdir(os.path.join(root, name))
        with Tree(os.path.join(root, "tree")) as tree, Tree(os.path.join(root, "state")) as state:
            state.make_directory(transaction.STATE)
            for path in (transaction.PREPARED, transaction.DIRECTORIES):
                state.write_new(path, raw, 0o600)
            transaction.read_directories(state)
            try:
                transaction.recover(tree, state)
            finally:
                assert os.listdir(root) in (["tree", "state"], ["state", "tree"])


def _journal_starts() -> list[bytes]:
    steps = [transaction.Step("a/b.md", None, "sha256:" + "0" * 64), transaction.Step("c", "sha256:" + "1" * 64, None)]
    journal = transaction.Journal("0" * 8, tuple(steps), ("a",), ("d",), {"kiro": ["a"]})
    return [transaction._encode(journal), b'{"kiro": ["a/b", "c"]}']


def _tools(raw: bytes) -> None:
    """What ``gh`` prints."""
    for found in (github._version(raw), github._permissions(raw)):
        assert found.status in ("ok", "warning")


# -- HTTP


def _access(raw: bytes) -> None:
    """A token file, and after an empty line the headers of a caller."""
    text, _, rest = raw.decode("utf-8", "replace").partition("\n\n")
    tokens = parse_tokens(text)
    assert tokens and all(not set(token) & set(" \n\t") for token in tokens)
    headers = {}
    # A server gives the bytes of a header as the characters of the same numbers.
    for line in rest.encode().decode("latin-1").split("\n"):
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    for access in (Access(tokens), Access()):
        for role in RANK:
            try:
                access.check(headers, role)  # type: ignore[arg-type]  # a Role by construction
            except Refused as refused:
                assert refused.code in ("UNAUTHORIZED", "FORBIDDEN")


def _head_target(name: str, run: Callable[[bytes], object], *covers: str) -> Callable[..., Target]:
    return partial(Target, name, tuple(f"slipway_lite.{cover}" for cover in covers), run)


_OBSERVE = {"invalid_window": USAGE, "invalid_limit": USAGE, "invalid_cursor": USAGE}

TARGETS = (
    _head_target("cli.grammar", _grammar, "cli.grammar.parse", "cli.grammar.is_machine")(
        _grammar_starts, {"invalid_usage": USAGE, "protocol_operation_required": USAGE}, longest=1024, weight=2
    ),
    _head_target("cli.command", _command, "cli.main.execute")(_command_starts, weight=0.02),
    _head_target("cli.noted_head", _noted_head, "cli.db._noted_head")(
        lambda: [b"7:sha256:" + b"0a" * 32 + b"\n", b"1:sha256:"], {"invalid_head": USAGE}, longest=128
    ),
    _head_target("cli.people", _people, "cli.human.harmless", "cli.human.visible", "redact.redact")(
        lambda: [b"\x1b]0;title\x07text \xc2\x9b31m \xe2\x80\xae", b"token=ghp_" + b"a" * 36],
        {"database_unavailable": RUNTIME},
        longest=1024,
    ),
    _head_target(
        "observe.window",
        _window,
        "observe.observations.page",
        "observe.audit.events",
        "observe.export.write",
        "observe.observations.Window",
    )(
        lambda: [
            b"2026-01-01T00:00:00Z\n2027-01-01T00:00:00+01:00\n\n5\nt\nr\ntask.created",
            b"\n\ngate:x\n500",
            b"9999-12-31T23:59:59.9999Z",
        ],
        _OBSERVE,
        longest=512,
        weight=0.3,
    ),
    _head_target("observe.event", _event, "observe.audit.event")(
        lambda: [b"seen1", b"x"], {"audit_event_not_found": RUNTIME}, longest=128, weight=0.5
    ),
    _head_target("control.page", _tasks, "control.queries.page_of")(
        lambda: [b"5\n0\nqueued", b"\n\nnone", b"501\n-1"], {"INVALID_REQUEST": USAGE}, longest=128, weight=0.5
    ),
    _head_target("observe.search", _search, "observe.search.search")(
        lambda: [b"schema", '契 a_%\\ "x" AND NOT *'.encode(), b"contract fix", b"a"],
        {"invalid_search": USAGE},
        longest=256,
        weight=0.3,
    ),
    _head_target("observe.gates", _gates, "observe.analysis.read_document", "observe.analysis.analyze_gates")(
        _gate_starts,
        {"invalid_bundle": USAGE, "invalid_thresholds": USAGE, "invalid_previous_report": USAGE},
        longest=8192,
    ),
    _head_target("hosts.manifest", _manifest, "hosts.ownership.decode_manifest")(_manifest_starts, longest=8192),
    _head_target("hosts.journal", _journal, "hosts.transaction.recover", "hosts.transaction.read_directories")(
        _journal_starts, raises=(transaction.Unsettled,), weight=0.2
    ),
    _head_target("hosts.github", _tools, "hosts.github.github_checks")(
        lambda: [b"gh version 2.94.1 (2026-01-01)\n", b'{"pull":true,"push":true,"triage":false}'], longest=512
    ),
    _head_target("http.access", _access, "http.access.parse_tokens", "http.access.Access")(
        lambda: [
            b"secret\noperator other\n# note\nadmin third\n\nAuthorization: Bearer other\nHost: localhost:80",
            b"a\n\nx-api-key: a\nhost: [::1]:8\norigin: http://[::1]:8",
        ],
        {"invalid_token_file": USAGE},
        longest=512,
    ),
)
