"""What one decoder takes in time and memory on inputs made to hurt: patterns that have made others slow or fat."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

from slipway_lite import canon
from slipway_lite.canon import VALUES_FLOOR
from slipway_lite.control import bodies, chunks, importing, refs
from slipway_lite.errors import SlipwayError
from slipway_lite.hosts import ownership
from slipway_lite.hosts.registry import HOSTS
from slipway_lite.http.access import parse_tokens
from slipway_lite.observe import analysis, search
from slipway_lite.protocol import inputs, observation, outcome, replay
from slipway_lite.protocol.git import GitError
from slipway_lite.protocol.source.body import manifest_text
from slipway_lite.protocol.source.codes import InvalidChange
from slipway_lite.protocol.source.envelope import decode_envelope
from slipway_lite.protocol.source.manifest import decode_manifest
from slipway_lite.protocol.source.scan import second_marker
from slipway_lite.turns.compiler import FIX_INDEX_PATH, REPOSITORY_STATE_PATH, ROADMAP_PATH, compile_workflow_snapshot
from slipway_lite.turns.conductor import parse_sensor_output
from slipway_lite.turns.continuation import parse_continuation_argv
from slipway_lite.turns.parse import parse_line, parse_turn
from slipway_lite.turns.phases import read_phases, read_receipts
from slipway_lite.turns.repository_state import read_repository_state
from slipway_lite.turns.sensor import build_envelope
from slipway_lite.turns.status_forms import ALL_FORMS
from slipway_lite.turns.worktree import Documents, GitFacts
from tests.adversarial.fuzz import plane
from tests.adversarial.fuzz.protocol_targets import rows

MEMORY_FACTOR = 10
MEMORY_FLOOR = VALUES_FLOOR + 8 * 1024 * 1024

REFUSALS = (SlipwayError, InvalidChange, GitError, ownership.ManifestUnreadable, replay.Unreplayable)


def _text(decode: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda raw: decode(raw.decode("utf-8", "replace"))


def _worktree(text: str) -> None:
    found = [{"path": path, "content": text} for path in (REPOSITORY_STATE_PATH, ROADMAP_PATH, FIX_INDEX_PATH)]
    git = GitFacts("/r", "/r/.git", "main", "0" * 40, "", 0)
    build_envelope(git, Documents(found, []))
    compile_workflow_snapshot(
        source_revision="r", repository=git.as_repository(), documents=found, status_forms=ALL_FORMS
    )


def _manifests(raw: bytes) -> None:
    for host in HOSTS[:2]:
        ownership.decode_manifest(host, raw)


LIMIT = 1 << 30

BARE: dict[str, Callable[[bytes], object]] = {
    "canon.decode": lambda raw: canon.decode(raw, LIMIT),
    "protocol.outcome": outcome.decode_outcome,
    "protocol.envelope": decode_envelope,
    "protocol.scan": _text(second_marker),
    "protocol.manifest": _text(lambda text: decode_manifest(manifest_text(text))),
    "protocol.goal": inputs.goal_text,
    "protocol.git_status": lambda raw: observation.observation("/nonexistent", "0" * 40, b"", raw),
    "protocol.replay": lambda raw: replay.replay("run-1", rows(raw)),
    "turns.turn": _text(lambda text: parse_turn(skill="audit-pr", text=text)),
    "turns.line": parse_line,
    "turns.sensor_output": _text(parse_sensor_output),
    "turns.continuation": _text(parse_continuation_argv),
    "turns.documents": _text(_worktree),
    "turns.phases": _text(lambda text: (read_phases(text), read_receipts(text))),
    "turns.repository_state": _text(read_repository_state),
    "control.body": bodies.decode_body,
    "control.import_audit": lambda raw: importing.import_audit(plane.Undone(plane.place(0).store), raw),  # type: ignore[arg-type]  # all it uses
    "control.refs": _text(lambda text: (refs.is_typed_ref(text), refs.doc_id("a", text), refs.segment(text))),
    "control.chunks": _text(chunks.split),
    "observe.document": lambda raw: analysis.read_document(raw, "invalid_bundle"),
    "observe.snippet": _text(lambda text: search.snippet(text, ["quick", "brown"])),
    "hosts.manifest": _manifests,
    "http.tokens": _text(parse_tokens),
}
"""The decoders alone, without the checks that a campaign makes of what comes out."""

PATTERNS: tuple[bytes, ...] = (
    b"[", b'{"a":', b"[],", b"{},", b'"",', b'"ab",', b"9,", b"1e9,", b'{"a":1},', b'"\\ud800",', b"\\", b'"',
    b" ", b"\n",
    b"\r\n", b"> ", b"- ", b"1. ", b"* ", b"`", b"~", b"```\n", b"```json\n", b"```json\n\n```\n", b"```json ",
    b"\n ```x",
    b"| ", b"|a|b|\n", b"|11|a|b|\n", b"| 12 | csv | planned | 11, 12 |\n", b"# ", b"# A\n\nb\n",
    b"## P1 \xe2\x80\x94 ",
    b"- Done: P1\n", b"**Status:** ", b"Status: x\n", b"(", b"()", b"\xe2\x86\x92 fix (", b"\xe2\x86\x92 Next: ",
    b"\xc2\xb7 /a\n", b"VERDICT: ", b"Base: \xe2\x86\x90 Head: @ ", b"1. [a] b \xe2\x80\x94 c\n", b"'a' ", b"' ",
    b"a:b:",
    b"? a\0", b"? ", b"? a/b\0", b"2 R. N 1 1 1 0 0 R1 a\0b\0", b"<!-- slipway-level:",
    b"<!-- slipway-section:v1 key=a -->\n",
    b"\xc2\xa0", b"\xe2\x80\xa8", b"\x85", b"\xff", b"\0", b"\xf0\x9f\x98\x80", b"run_stopped\t\t{}\n", b"a b\n",
    b"admin a\n",
)  # fmt: skip

WRAPPED: tuple[tuple[bytes, bytes, bytes], ...] = (
    (b"[", b"[],", b"0]"), (b"[", b"{},", b"0]"), (b"[", b'"ab",', b"0]"), (b"[", b"7,", b"0]"), (b"[",
    b'{"a":1},', b"0]"),
    (b'{"a":"', b"\\n", b'"}'), (b'{"a":"', b"\xf0\x9f\x98\x80", b'"}'), (b'{"a":"', b"[],", b'"}'),
    (b"```json\n[", b"[],", b"0]\n```"), (b"```json\n[", b'"ab",', b"0]\n```"),
    (b"<!-- slipway-level: change/v2 -->\n```slipway-manifest\n[", b"[],", b"0]\n```\n"),
    (b"<!-- slipway-level: change/v2 -->\n```slipway-manifest\n{}\n```\n<!-- slipway-level:", b"> - ", b""),
)  # fmt: skip


def inputs_of(size: int) -> list[bytes]:
    """About ``size`` bytes of every pattern."""
    found = [pattern * (size // len(pattern)) for pattern in PATTERNS]
    return found + [head + middle * (size // len(middle)) + tail for head, middle, tail in WRAPPED]


def distinct_paths(size: int) -> bytes:
    """A git status of so many bytes, every path another one and as short as can be."""
    return b"\0".join(b"? %x" % number for number in range(size // 7)) + b"\0"


def seconds(decode: Callable[[bytes], object], raw: bytes) -> float:
    """Of processor time, so that a busy machine does not count."""
    started = time.process_time()
    with suppress(*REFUSALS):
        decode(raw)
    return time.process_time() - started


def peak(decode: Callable[[bytes], object], raw: bytes) -> int:
    """Bytes at the most, beside ``raw`` itself."""
    tracemalloc.start()
    try:
        seconds(decode, raw)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
