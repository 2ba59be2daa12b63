"""Hold a decoded JSON value against a shape. Pure.

A shape is ``str``, ``int`` or ``bool`` (exactly that type), an integer (exactly that one), a ``frozenset`` of allowed
values, a test that a string has to pass, ``[shape of the items]``, or a table of fields in wire order, in which a name
that ends in ``?`` may be absent. ``typed_outcome`` stands for an Outcome, whose own rules are in
:mod:`slipway_lite.protocol.outcome`; nothing is ever ``null`` outside of one.
"""

from __future__ import annotations

from slipway_lite.errors import SlipwayError
from slipway_lite.protocol.outcome import typed_outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Misshapen(ValueError):
    """A value that has no place where it stands, or a rule that an event breaks; it repeats no value.

    ``path`` is where, ``None`` for a rule that is not about one place.
    """

    def __init__(self, problem: str, path: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path

    def __str__(self) -> str:
        return self.problem if self.path is None else f"{self.path or 'the record'} {self.problem}"

    def below(self, step: str) -> Misshapen:
        """The same as seen from one level further up."""
        path = self.path or ""
        return Misshapen(self.problem, step + ("." if path and path[0] != "[" else "") + path)


def conform(value: Any, shape: Any) -> Any:
    """``value`` with every object in wire order. Raises :class:`Misshapen` for what breaks ``shape``."""
    # Exactly the type: canon gives numbers that are no integers as text of a class of its own.
    if type(value) is shape:
        return value
    if isinstance(shape, dict):
        return _object(value, shape)
    if isinstance(shape, list):
        return _array(value, shape[0])
    if shape is typed_outcome:
        try:
            return typed_outcome(value)
        except SlipwayError as error:
            raise Misshapen(f"is refused: {error.message.rstrip('.')}", "") from None
    if shape in _NAMES:
        raise Misshapen(f"must be {_NAMES[shape]}", "")
    if isinstance(shape, int):
        _require(type(value) is int and value == shape, f"must be {shape}")
    elif isinstance(shape, frozenset):
        _require(isinstance(value, str | bool) and value in shape, "has a value that the contract does not know")
    else:
        _require(type(value) is str and shape(value), "has a value that is not of its class")
    return value


_NAMES = {str: "a string", int: "an integer", bool: "a boolean", dict: "an object"}


def _object(value: Any, table: dict[str, Any]) -> dict[str, Any]:
    _require(type(value) is dict, "must be an object")
    found: dict[str, Any] = {}
    for name, shape in table.items():
        key = name.removesuffix("?")
        if key in value:
            try:
                found[key] = conform(value[key], shape)
            except Misshapen as error:
                raise error.below(key) from None
        else:
            _require(name.endswith("?"), f"has no {key}")
    _require(len(found) == len(value), "has a field that the contract does not know")
    return found


def _array(value: Any, shape: Any) -> list[Any]:
    _require(type(value) is list, "must be an array")
    found = []
    for number, item in enumerate(value):
        try:
            found.append(conform(item, shape))
        except Misshapen as error:
            raise error.below(f"[{number}]") from None
    return found


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise Misshapen(problem, "")
