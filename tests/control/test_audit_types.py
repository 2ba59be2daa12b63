from __future__ import annotations

import ast
from pathlib import Path

import slipway_lite.control
from slipway_lite.control.audit_types import ALIASES, AUDIT_TYPES
from tests.control.world import World


def written() -> set[str]:
    """Every event type that stands in the code as the first argument of ``Audit`` or of ``audit``."""
    found = set()
    for path in Path(slipway_lite.control.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in ("Audit", "audit"):
                    found.add(str(node.args[0].value))
    return found


def test_the_catalogue_lists_what_the_code_writes_and_nothing_else() -> None:
    assert written() == set(AUDIT_TYPES)


def test_an_alias_is_never_written_and_stands_for_something_that_is() -> None:
    assert not ALIASES.keys() & AUDIT_TYPES.keys()
    assert set(ALIASES.values()) <= AUDIT_TYPES.keys()


def test_a_whole_life_writes_types_of_the_catalogue_only(world: World) -> None:
    task_id = world.bring("published")
    assert set(world.audit_types(task_id)) <= AUDIT_TYPES.keys()
