"""One decoder under attack: what it is fed, what it may refuse, and the judgement over one execution."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slipway_lite.errors import EXIT_RUNTIME, EXIT_USAGE, InvalidDocument, SlipwayError

USAGE, RUNTIME = EXIT_USAGE, EXIT_RUNTIME
_CODE = re.compile(r"[a-z][a-z0-9_]*|[A-Z][A-Z0-9_]*")


class Finding(AssertionError):
    """An execution that ended in a way that nobody documented."""


@dataclass(frozen=True)
class Target:
    """One decoder.

    ``run`` takes the bytes and checks what holds for every value that comes out (round trips, equal second readings):
    an :class:`AssertionError` is a finding. ``covers`` are the product's functions that it reaches, ``starts`` what
    we wrote to begin with. ``refusals`` is every documented code and its exit status, ``raises`` the exceptions that
    the decoder documents besides. ``longest`` bounds the inputs of a campaign, in bytes; ``weight`` is the share of a
    campaign's executions, smaller where one of them costs more.
    """

    name: str
    covers: tuple[str, ...]
    run: Callable[[bytes], object]
    starts: Callable[[], Sequence[bytes]]
    refusals: Mapping[str, int | tuple[int, ...]] = field(default_factory=dict)
    raises: tuple[type[Exception], ...] = ()
    longest: int = 4096
    weight: float = 1.0


def execute(target: Target, raw: bytes) -> str:
    """Run ``target`` once: ``"accepted"``, or the code or exception of its refusal. Raises :class:`Finding`."""
    try:
        target.run(raw)
    except SlipwayError as error:
        return _judged(target, error)
    except target.raises as error:
        return type(error).__name__
    except Exception as error:
        raise Finding(f"{target.name}: {type(error).__name__}: {error}") from error
    return "accepted"


def _judged(target: Target, error: SlipwayError) -> str:
    documented = target.refusals.get(error.code, ())
    statuses = documented if isinstance(documented, tuple) else (documented,)
    if error.exit_code not in statuses or not _CODE.fullmatch(error.code):
        raise Finding(f"{target.name}: {error.code} with exit status {error.exit_code} is not documented") from error
    told = [error.message, error.path] if isinstance(error, InvalidDocument) else [error.message]
    if not all(map(_is_printable, told)):
        raise Finding(f"{target.name}: the message of {error.code} cannot be printed as it is") from error
    return error.code


def _is_printable(text: str) -> bool:
    return text.isprintable() and len(text) <= 4096


def json_of(value: Any) -> Any:
    """``value`` with tuples as lists and numbers that JSON does not tell apart as one: what a round trip may change."""
    if isinstance(value, dict):
        return {key: json_of(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_of(item) for item in value]
    return value
