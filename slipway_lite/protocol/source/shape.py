"""Tables of fields, and the typed walk that holds a decoded JSON object against one.

A table maps each allowed key to a :data:`Rule`: the JSON type, a test of the value, and the words for what
the test wants. Envelope and manifest are such tables, readable beside machine-protocol §8.1 and §8.4.
"""

from __future__ import annotations

from slipway_lite.errors import InvalidDocument
from slipway_lite.text import has_white_space, is_blank, is_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from typing import Any

    Rule = tuple[type, Callable[[Any], bool], str]

_NAMES = {str: "a string", int: "an integer", bool: "a boolean", list: "an array", dict: "an object"}
_ABSENT = {str: "", int: 0, bool: False, dict: None}


def is_node_id(text: str) -> bool:
    """Non-empty and without White_Space; controls are allowed (``node-id`` of comments and authors, §0.2)."""
    return text != "" and not has_white_space(text)


def is_plain_text(text: str) -> bool:
    """``plain+``: no control character, not blank."""
    return is_plain(text) and not is_blank(text)


def exactly(literal: int | str) -> Rule:
    return type(literal), lambda value: value == literal, f"be {literal}"


COMMENT_ID: Rule = (str, is_node_id, "be a node id without white space")
NODE_ID: Rule = (
    str,
    lambda text: is_node_id(text) and is_plain(text),
    "be a node id without white space or control characters",
)
POSITIVE: Rule = (int, lambda number: number >= 1, "be 1 or more")
PLAIN: Rule = (str, is_plain_text, "be text that is not blank and has no control character")
FLAG: Rule = (bool, lambda value: True, "be true or false")


def conform(value: object, table: Mapping[str, Rule], path: str) -> dict[str, Any]:
    """``value`` as an object with exactly the keys of ``table``, in the order of ``table``.

    An absent string, integer or boolean counts as ``""``, 0 or false before its rule is applied, and an
    absent or null object is ``None`` without a rule. An array has no such substitute (§8.1, runtime column).
    Raises :class:`InvalidDocument` with the path of the offender for another type, an unknown key, ``null``
    or a value that breaks its rule.
    """
    if type(value) is not dict:
        raise InvalidDocument("It must be an object.", path)
    if not table.keys() >= value.keys():
        raise InvalidDocument("It has a key that the contract does not know.", path)
    typed: dict[str, Any] = {}
    for name, (kind, holds, wanted) in table.items():
        item = value[name] if name in value else _ABSENT.get(kind)
        if item is None and kind is dict:
            typed[name] = None
            continue
        if type(item) is not kind:
            raise InvalidDocument(f"It must be {_NAMES[kind]}.", f"{path}.{name}")
        if not holds(item):
            raise InvalidDocument(f"It must {wanted}.", f"{path}.{name}")
        typed[name] = item
    return typed


def require_unique(values: Iterable[Hashable], path: str, name: str) -> None:
    """Raises :class:`InvalidDocument` at the second of two items of ``path`` that share their ``name``."""
    seen = set()
    for index, value in enumerate(values):
        if value in seen:
            raise InvalidDocument("Another item has the same value.", f"{path}[{index}].{name}")
        seen.add(value)
