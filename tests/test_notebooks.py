"""The notebooks as files: executed, without a path of any machine, ready for a strict run with nbval."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["cells"]
    return found


def test_there_are_five() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "01_drive_a_run", "02_audit_a_run", "03_self_improvement", "04_compare_runs", "05_from_datasette_json",
    ]  # fmt: skip


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_was_run_in_order(path: Path) -> None:
    counts = [cell["execution_count"] for cell in cells(path) if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_has_an_absolute_path_an_error_or_noise(path: Path) -> None:
    for cell in cells(path):
        for output in cell.get("outputs", ()):
            shown = output.get("text", "") or output.get("data", {}).get("text/plain", "")
            assert not re.search(r"(?<![\w./])/(tmp|home|root|usr|var|work|Users|private)\b", "".join(shown))
            assert output["output_type"] in ("stream", "execute_result", "display_data")
            assert output.get("name", "stdout") == "stdout"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_is_left_of_the_machine_that_ran_it(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    assert document["metadata"]["kernelspec"]["name"] == "python3"
    assert all(cell["metadata"] == {} for cell in document["cells"])
