"""Every mutation of all three contracts, killed at every point of its way to the disk.

A point is a statement or a commit, a call that changes a file (before it, in the middle of a write, after the last
one), and a loss of power there, which takes back what was not synced. After each of them the file verifies and is
exactly as before or as after the operation, nothing acknowledged is missing, and the operation done again gives what
the contract's table of repetitions says.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import slipway_lite
from tests.adversarial import shim
from tests.adversarial.operations_file import OPERATIONS as FILE
from tests.adversarial.operations_runs import OPERATIONS as RUNS
from tests.adversarial.operations_tasks import OPERATIONS as TASKS
from tests.adversarial.scale import FULL, scaled

pytestmark = pytest.mark.skipif(shim.COMPILER is None, reason="there is no C compiler for the shim")

NAMES = [*RUNS, *TASKS, *FILE]
SHARES = 12
PLACES = {"resting": (0, False, 0), "live": (3000, True, 80)}
"""How long the texts are, whether somebody reads the file, so that its log is not folded in, and how many points of
each operation are played at full length: every one, or so many."""
BAR_OF_A_SHARE = {"resting": 1000, "live": 400}
"""Points at full length; over all shares that is more than the bar of 10,000."""
PLAYED = [
    (share, place)
    for share in range(SHARES)
    for number, place in enumerate(PLACES)
    if FULL or number == share % len(PLACES)
]
"""At full length every operation in every place, else each in one of them."""


def test_killed_at_some_points_of_a_first_run(memory: Path) -> None:
    report = shim.play("crash_points", memory, names=["run, the first of a file"], limit=8)
    assert report == {"points": 8, "failures": []}


@pytest.mark.adversarial
@pytest.mark.parametrize(("share", "place"), PLAYED)
def test_killed_at_every_point_of_every_operation(memory: Path, share: int, place: str, record_property: Any) -> None:
    size, is_live, most = PLACES[place]
    names, limit = NAMES[share::SHARES], scaled(6, most)
    report = shim.play("crash_points", memory, names=names, limit=limit, size=size, is_live=is_live)
    record_property("points", report["points"])
    print(f"{report['points']} crash points")
    assert report["failures"] == []
    assert not FULL or report["points"] >= BAR_OF_A_SHARE[place]


ELSEWHERE = {
    "observe/rich_demo.py:write_rich_demo": "writes a file of its own for a demonstration",
}
"""Writers of a file that the campaign does not play, and why."""
PLAYED_WRITERS = {
    "control/importing.py:import_audit": ["audit import"],
    "control/repositories.py:add": ["repository, add", "repository, replace"],
    "control/repositories.py:remove": ["repository, remove"],
    "control/service.py:perform": ["create", "publish, refused and audited"],
    "control/upkeep.py:local_instance": ["create, the first of a file"],
    "control/upkeep.py:serve_instance": ["a served control plane takes over"],
    "http/writer.py:_commit": ["several requests in one commit"],
    "protocol/imported/service.py:import_journals": ["journals, import"],
    "protocol/service.py:start": ["run, a later one", "run, bound to an issue"],
    "protocol/service.py:_decided": ["submit, refused and audited"],
    "protocol/service.py:_write": ["submit, completed", "answer, a decision", "skip", "stop", "resume, ad hoc"],
    "store/connection.py:_prepared": ["a file of no bytes", "a file of schema 1"],
    "store/merge.py:merge": ["merge"],
    "store/projections.py:rebuild": ["rebuild"],
    "store/prune.py:prune": ["audit prune"],
    "turns/service.py:_append": ["turn, driven and asked again", "turn, a snapshot"],
}
"""Every function that opens a write transaction, with operations that pass through it."""


def writers() -> set[str]:
    """``file:function`` of every place in the package that opens a write transaction."""
    package = Path(slipway_lite.__file__).parent
    found = set()
    for path in package.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in (
                        "immediate",
                        "Immediate",
                    ):
                        found.add(f"{path.relative_to(package)}:{function.name}")
    return found - {"store/connection.py:immediate"}


def test_every_writer_is_in_the_campaign() -> None:
    assert writers() == PLAYED_WRITERS.keys() | ELSEWHERE.keys()
    assert {name for names in PLAYED_WRITERS.values() for name in names} <= set(NAMES)


READS = {"is_integrating"}
"""What goes through a write transaction and writes nothing."""


def test_every_use_case_of_the_control_plane_is_in_the_campaign() -> None:
    """By the name of its function, or by that of the method of the control plane that performs it."""
    source = (Path(slipway_lite.__file__).parent / "control" / "service.py").read_text("utf-8")
    played = ast.parse(Path(__file__).with_name("operations_tasks.py").read_text("utf-8"))
    names = {node.value for node in ast.walk(played) if isinstance(node, ast.Constant)}
    names |= {node.attr for node in ast.walk(played) if isinstance(node, ast.Attribute)}
    performed = re.findall(r"def (\w+)\(|perform\(use_cases(?:_docs)?\.(\w+)", source)
    method, missing = "", set()
    for begun, use_case in performed:
        method = begun or method
        if use_case and not {method, use_case} & names:
            missing.add(use_case)
    assert len(performed) > 50
    assert missing == READS
