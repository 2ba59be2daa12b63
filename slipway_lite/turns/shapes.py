"""The little language in which the three contracts are written down, and what it can be read for.

A shape answers two questions: what is wrong with a value (:meth:`Shape.problems`), and what is its JSON Schema
(:meth:`Shape.schema`). Both read the same literal table, so they cannot drift apart.

The rules of the language are those of turn-contract §1: absent is not null; a number is whole when it is
mathematically whole, so ``7.0`` and ``1e2`` pass and ``true`` does not; nothing is coerced; a *strict* walk refuses
every key that the table does not name. Paths are built only where something is wrong, which keeps the walk over a
good value cheap.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_PROBLEMS = 100
"""How many problems one list or object reports; a hostile document must not cost more than itself."""

_KEY_LENGTH = 64

UNKNOWN_KEY = "unknown_key"
_QUOTED_KEY = re.compile(r"""\[['"]""")
"""Where :func:`segment` starts to quote; the names before it are the contract's, and an index has no quote."""


class Problem(NamedTuple):
    """One reason for a refusal: a stable code, the JSON path of the place, one sentence."""

    code: str
    path: str
    message: str

    def as_document(self) -> dict[str, str]:
        return {"code": self.code, "path": self.path, "message": self.message}

    def as_record(self) -> dict[str, str]:
        """The document without the name of an unknown key, which is text of the reply and not of the contract."""
        if self.code != UNKNOWN_KEY:
            return self.as_document()
        quoted = _QUOTED_KEY.search(self.path)
        parent = self.path[: quoted.start()] if quoted else self.path.rpartition(".")[0]
        return {**self.as_document(), "path": f"{parent}[unknown]"}


Problems = list[Problem] | tuple[()]


def is_whole(value: object) -> bool:
    """Whether ``value`` is a JSON number without a fraction; a boolean is no number. (§1)"""
    if type(value) is int:
        return abs(value) <= sys.float_info.max
    return type(value) is float and value.is_integer()


def segment(key: str) -> str:
    """``key`` as a step of a JSON path."""
    if key.isascii() and key.isidentifier() and len(key) <= _KEY_LENGTH:
        return f".{key}"
    shown = key if len(key) <= _KEY_LENGTH else key[:_KEY_LENGTH] + "…"
    return f"[{shown!a}]"


def _one(code: str, message: str) -> list[Problem]:
    return [Problem(code, "", message)]


def _under(step: str, inner: Problems) -> list[Problem]:
    return [Problem(code, step + path, message) for code, path, message in inner]


class Shape:
    """What a JSON value must look like.

    ``plain`` is a type all of whose values pass, when there is one: most fields are plain strings, and a walk that
    skips them costs half as much.
    """

    plain: type | None = None

    def problems(self, value: object, strict: bool) -> Problems:
        """Everything that is wrong with ``value``, paths relative to it; empty when nothing is."""
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        """The same rule as JSON Schema, draft 2020-12."""
        raise NotImplementedError


class Anything(Shape):
    def problems(self, value: object, strict: bool) -> Problems:
        return ()

    def schema(self) -> dict[str, Any]:
        return {}


class Text(Shape):
    """A string; ``least`` characters long at least, matching ``form`` when one is given."""

    def __init__(self, least: int = 0, form: re.Pattern[str] | None = None) -> None:
        self.least = least
        self.form = form
        self.plain = str if least == 0 and form is None else None

    def problems(self, value: object, strict: bool) -> Problems:
        if type(value) is not str:
            return _one("expected_text", "This must be a string.")
        if len(value) < self.least:
            return _one("empty_text", "This string must not be empty.")
        if self.form is not None and not self.form.search(value):
            return _one("malformed_text", "This string does not have the required form.")
        return ()

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "string"}
        if self.least:
            schema["minLength"] = self.least
        if self.form is not None:
            schema["pattern"] = self.form.pattern
        return schema


class Whole(Shape):
    def __init__(self, minimum: int | None = None) -> None:
        self.minimum = minimum

    def problems(self, value: Any, strict: bool) -> Problems:
        if not is_whole(value):
            return _one("expected_whole_number", "This must be a whole number.")
        if self.minimum is not None and value < self.minimum:
            return _one("below_minimum", f"This number must be at least {self.minimum}.")
        return ()

    def schema(self) -> dict[str, Any]:
        # The bounds keep 1e400 out: read as an infinity or as a big integer it has no fraction.
        least = -sys.float_info.max if self.minimum is None else self.minimum
        return {"type": "integer", "minimum": least, "maximum": sys.float_info.max}


class Flag(Shape):
    plain = bool

    def problems(self, value: object, strict: bool) -> Problems:
        return () if type(value) is bool else _one("expected_boolean", "This must be true or false.")

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class OneOf(Shape):
    """One word of a closed vocabulary, in its exact spelling."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._known = frozenset(words)

    def problems(self, value: object, strict: bool) -> Problems:
        if type(value) is str and value in self._known:
            return ()
        return _one("not_in_vocabulary", f"This must be one of: {', '.join(self.words)}.")

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.words)}


class Exactly(Shape):
    """One fixed string, or the number 1 in any whole spelling."""

    def __init__(self, expected: str | int) -> None:
        self.expected = expected

    def problems(self, value: object, strict: bool) -> Problems:
        if type(value) is not bool and value == self.expected:
            return ()
        return _one("wrong_constant", f"This must be {self.expected}.")

    def schema(self) -> dict[str, Any]:
        return {"const": self.expected}


class Nullable(Shape):
    def __init__(self, inner: Shape) -> None:
        self.inner = inner
        self.plain = inner.plain

    def problems(self, value: object, strict: bool) -> Problems:
        return () if value is None else self.inner.problems(value, strict)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.inner.schema(), {"type": "null"}]}


class ListOf(Shape):
    def __init__(self, item: Shape, least: int = 0) -> None:
        self.item = item
        self.least = least

    def problems(self, value: object, strict: bool) -> Problems:
        if type(value) is not list:
            return _one("expected_list", "This must be a list.")
        if len(value) < self.least:
            return _one("empty_list", "This list must not be empty.")
        plain, ask = self.item.plain, self.item.problems
        found: list[Problem] = []
        for index, item in enumerate(value):
            if type(item) is plain:
                continue
            inner = ask(item, strict)
            if inner:
                found += _under(f"[{index}]", inner)
                if len(found) >= MAX_PROBLEMS:
                    break
        return found

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "array", "items": self.item.schema()}
        if self.least:
            schema["minItems"] = self.least
        return schema


class Object(Shape):
    """An object with exactly these keys.

    ``optional`` keys may be absent, never null. ``lenient`` names keys of ``required`` that only a strict walk
    misses. A walk that is not strict lets unknown keys pass unless the object is ``sealed``.
    """

    def __init__(
        self,
        required: Mapping[str, Shape],
        optional: Mapping[str, Shape] | None = None,
        *,
        lenient: frozenset[str] = frozenset(),
        sealed: bool = False,
    ) -> None:
        self.required = dict(required)
        self.optional = dict(optional or {})
        self.lenient = lenient
        self.sealed = sealed
        self._fields = (*self.required.items(), *self.optional.items())

    def problems(self, value: object, strict: bool) -> Problems:
        if type(value) is not dict:
            return _one("expected_object", "This must be an object.")
        found: list[Problem] = []
        known = 0
        for key, shape in self._fields:
            if key not in value:
                if key in self.required and (strict or key not in self.lenient):
                    found.append(Problem("missing_key", f".{key}", "This key is required; absent is not null."))
                continue
            known += 1
            child = value[key]
            if type(child) is shape.plain:
                continue
            inner = shape.problems(child, strict)
            if inner:
                found += _under(f".{key}", inner)
        if known != len(value) and (strict or self.sealed):
            found += self._unknown(value)
        return found[:MAX_PROBLEMS]

    def _unknown(self, value: dict[str, Any]) -> list[Problem]:
        strange = [key for key in value if key not in self.required and key not in self.optional]
        return [
            Problem(UNKNOWN_KEY, segment(key), "This key is not part of the contract.")
            for key in strange[:MAX_PROBLEMS]
        ]

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "additionalProperties": False,
            "required": list(self.required),
            "properties": {key: shape.schema() for key, shape in self._fields},
        }


def check(shape: Shape, value: object, *, strict: bool = True) -> tuple[Problem, ...]:
    """Everything that is wrong with ``value``, with paths from ``$``; empty when nothing is."""
    return tuple(_under("$", shape.problems(value, strict)))


@dataclass(frozen=True, slots=True)
class Validation:
    """Whether ``value`` is a valid document of its contract; ``errors`` says what is wrong when it is not.

    ``kind`` is the key under which the published tools hand the value back: outcome, snapshot, envelope.
    """

    kind: str
    value: Any
    errors: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        return not self.errors

    def as_document(self) -> dict[str, Any]:
        if self.ok:
            return {"ok": True, self.kind: self.value}
        return {"ok": False, "errors": [error.as_document() for error in self.errors]}
