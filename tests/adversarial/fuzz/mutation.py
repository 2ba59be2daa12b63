"""New inputs from old ones, knowing a little about JSON and lines: the mutator of both kinds of campaign.

Bytes alone rarely get past a strict JSON decoder; half of the mutations therefore change a document as a tree and write
it out again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Mutate = Callable[[bytes, Random], bytes]

SCALARS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7.0, 0.5, 1e300, -0.0, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**30,
    "", " ", "\n", "\t", "\x00", "\x1b[2J", "\x7f", "\x85", "\u2028", "\ufeff", "\ud800", "\U0001f600", "none", "null",
    "a" * 65, "a:b:c:d", "../..", "-", "--", "|", "=1+1", "sha256:" + "0" * 64, "0" * 40, "2026-07-12T09:00:00Z",
    "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00+23:59", "2026-02-30T00:00:00Z", "P1", "[]", "{}",
    [], {}, [[]], {"": None}, [None], [0] * 20,
)  # fmt: skip
"""Values that have broken decoders before."""

CHUNKS = (
    b"\x00", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r\n", b"\r", b"\x0c", b"\xe2\x80\xa8",
    b"\xc2\xa0",
    b"\\ud800", b"\\u0000", b"[" * 40, b"{\"a\":" * 40, b"NaN", b"-Infinity", b"1e999", b"0" * 30, b"9" * 25,
    b"```json\n",
    b"\n```\n", b"~~~", b"> ", b"- ", b"1. ", b"| ", b"# ", b"--", b"-", b"=", b":", b"Z", b"+00:00",
)  # fmt: skip
_TOKEN = re.compile(rb"[A-Za-z0-9_.-]{2,40}|[^A-Za-z0-9_\s]{1,4}")


class Mutator:
    """Mutations with the words of ``samples`` as its dictionary."""

    def __init__(self, samples: Sequence[bytes], longest: int) -> None:
        self.samples = [sample for sample in samples if len(sample) <= longest] or [b""]
        self.longest = longest
        self.tokens = sorted({token for sample in samples for token in _TOKEN.findall(sample)}) or [b"a"]

    def mutated(self, raw: bytes, random: Random, plain: Callable[[bytes], bytes] | None = None) -> bytes:
        """``raw`` changed in one to four places; ``plain`` is another mutator of bytes to alternate with."""
        for _ in range(random.choice((1, 1, 1, 2, 4))):
            draw = random.random()
            changed = self._tree(raw, random) if draw < 0.5 else None
            if changed is None:
                changed = plain(raw) if plain is not None and draw < 0.8 else self._bytes(raw, random)
            raw = changed[: self.longest]
        return raw

    def _bytes(self, raw: bytes, random: Random) -> bytes:
        at = random.randrange(len(raw) + 1)
        end = min(len(raw), at + random.choice((0, 1, 1, 2, 8, 64)))
        match random.randrange(6):
            case 0:
                return raw[:at] + raw[end:]
            case 1:
                return raw[:at] + bytes([random.randrange(256)]) + raw[end:]
            case 2:
                return raw[:at] + random.choice(self.tokens) + raw[end:]
            case 3:
                return raw[:at] + random.choice(CHUNKS) + raw[end:]
            case 4:
                return raw[:end] + raw[at:end] * random.choice((1, 3, 20)) + raw[end:]
            case _:
                other = random.choice(self.samples)
                start = random.randrange(len(other) + 1)
                return raw[:at] + other[start : start + random.choice((4, 32, 256))] + raw[end:]

    def _tree(self, raw: bytes, random: Random) -> bytes | None:
        """The JSON in ``raw`` with one node changed: the whole text, the text between a fence, or one line."""
        start, stop = _json_part(raw, random)
        value = _parsed(raw[start:stop])
        if value is _NOTHING:
            return None
        try:
            value = self._changed(value, random)
            text = json.dumps(value, ensure_ascii=random.random() < 0.5, separators=random.choice(_SEPARATORS))
        except RecursionError:
            return None
        return raw[:start] + text.encode("utf-8", "surrogatepass") + raw[stop:]

    def _changed(self, root: Any, random: Random) -> Any:
        places = _places(root)
        if not places:
            return self._value(root, random)
        holder, key = random.choice(places)
        match random.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder[key:key] = [holder[key]] * random.choice((1, 2, 30))
            case 1:
                name = random.choice(
                    ("", "extra", str(key) + "s", random.choice(self.tokens).decode("utf-8", "replace"))
                )
                holder[name] = holder.pop(key)
            case 2:
                other, at = random.choice(places)
                holder[key] = json.loads(json.dumps(other[at]))
            case 3:
                for _ in range(random.choice((1, 5, 200))):
                    holder[key] = [holder[key]] if random.random() < 0.5 else {"a": holder[key]}
            case _:
                holder[key] = self._value(holder[key], random)
        return root

    def _value(self, value: Any, random: Random) -> Any:
        if isinstance(value, str) and random.random() < 0.5:
            at = random.randrange(len(value) + 1)
            part = random.choice([text for text in SCALARS if isinstance(text, str)])
            return (
                value[:at] + random.choice((part, random.choice(self.tokens).decode("utf-8", "replace"))) + value[at:]
            )
        if isinstance(value, int) and random.random() < 0.5:
            return value + random.choice((-1, 1, 2**32, -(2**63)))
        if random.random() < 0.2:
            return random.choice(self.tokens).decode("utf-8", "replace")
        return json.loads(json.dumps(random.choice(SCALARS)))


_SEPARATORS = ((",", ":"), (", ", ": "))
_NOTHING = object()


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return _NOTHING


def _json_part(raw: bytes, random: Random) -> tuple[int, int]:
    fence = raw.rfind(b"```json\n")
    if fence >= 0:
        start = fence + 8
        stop = raw.find(b"\n```", start)
        return start, stop if stop >= 0 else len(raw)
    if raw[:1] in b'{["' and b"\n" not in raw:
        return 0, len(raw)
    lines = [(found.start(), found.end()) for found in re.finditer(rb"[^\n]+", raw)]
    if not lines:
        return 0, len(raw)
    start, stop = random.choice(lines)
    opened = re.search(rb"[{\[]", raw[start:stop])
    return (start + opened.start() if opened else start), stop


def _places(root: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) below ``root``, found without recursion."""
    found: list[tuple[Any, Any]] = []
    waiting = [root]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            waiting.append(holder[key])
    return found
