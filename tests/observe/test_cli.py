"""The commands over observations, gates, audit, search: one document on standard output, and a file left alone."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.observe import messages


@pytest.fixture
def run(demo: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    """Runs a command line of ours on the demo and returns what it printed."""

    def call(noun: str, *arguments: str, db: bool = True) -> str:
        app = importlib.import_module(f"slipway_lite.cli.{noun}").app
        app([*arguments, *(["--db", str(demo)] if db else [])], standalone_mode=False)
        return capfd.readouterr().out

    before = (demo.read_bytes(), sorted(demo.parent.iterdir()))
    yield call
    assert (demo.read_bytes(), sorted(demo.parent.iterdir())) == before


@pytest.mark.parametrize("noun", ["audit", "explore", "gates", "observations", "search"])
def test_every_command_has_help_and_an_example(noun: str) -> None:
    app = importlib.import_module(f"slipway_lite.cli.{noun}").app
    for command in app.registered_commands:
        assert "Example: slipway " in command.callback.__doc__


def test_an_export_goes_to_standard_output_or_to_a_file(run: Any, tmp_path: Path) -> None:
    printed = json.loads(run("observations", "export", "--limit", "3"))
    messages.check(messages.ImprovementObservationBundle, printed, "invalid")
    target = tmp_path / "page.json"
    assert run("observations", "export", "--limit", "3", "--output", str(target)) == ""
    assert json.loads(target.read_text("utf-8")) | {"generated_at": ""} == printed | {"generated_at": ""}
    assert [path.name for path in tmp_path.iterdir()] == ["page.json"]


def test_the_cursor_of_a_page_gives_the_next(run: Any) -> None:
    first = json.loads(run("observations", "export", "--limit", "3"))
    second = json.loads(run("observations", "export", "--limit", "3", "--cursor", first["next_cursor"]))
    assert first["next_cursor"] != second["next_cursor"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--limit", "0"), "invalid_limit"),
        (("--since", "soon"), "invalid_window"),
        (("--cursor", "gate:nobody"), "invalid_cursor"),
        (("--all", "--cursor", "gate:nobody"), "cursor_with_all"),
    ],
)
def test_a_wrong_export_is_refused_by_its_code(run: Any, arguments: tuple[str, ...], code: str) -> None:
    with pytest.raises(UsageError) as refused:
        run("observations", "export", *arguments)
    assert refused.value.code == code


def test_an_export_that_cannot_be_written_is_refused_and_leaves_nothing(run: Any, tmp_path: Path) -> None:
    with pytest.raises(SlipwayError) as refused:
        run("observations", "export", "--output", str(tmp_path / "nowhere" / "page.json"))
    assert refused.value.code == "output_failed"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_database_is_refused(tmp_path: Path) -> None:
    from slipway_lite.cli.observations import app

    with pytest.raises(SlipwayError) as refused:
        app(["export", "--db", str(tmp_path / "none.db")], standalone_mode=False)
    assert refused.value.code == "database_not_found"


def test_gates_are_analysed_from_an_export(run: Any, tmp_path: Path) -> None:
    bundle, report = tmp_path / "bundle.json", tmp_path / "report.json"
    run("observations", "export", "--all", "--output", str(bundle))
    report.write_text(run("gates", "analyze", str(bundle), "--json", db=False), "utf-8")
    messages.check(messages.GateEffectivenessReport, json.loads(report.read_text("utf-8")), "invalid")
    again = json.loads(run("gates", "analyze", str(bundle), "--previous", str(report), "--json", db=False))
    assert {item["consecutive_periods"] for item in again["gate_reports"]} == {2}
    for_people = run("gates", "analyze", str(bundle), db=False)
    assert "lint-gate" in for_people and "classification" in for_people


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("bundle", "{}", "invalid_bundle"),
        ("bundle", "{", "invalid_bundle"),
        ("bundle", '{"a":1,"a":2}', "invalid_bundle"),
        ("thresholds", "{}", "invalid_thresholds"),
        ("previous", "[]", "invalid_previous_report"),
    ],
)
def test_a_wrong_document_is_refused_by_its_code(run: Any, tmp_path: Path, name: str, text: str, code: str) -> None:
    bundle, wrong = tmp_path / "bundle.json", tmp_path / "wrong.json"
    run("observations", "export", "--output", str(bundle))
    wrong.write_text(text, "utf-8")
    arguments = [str(wrong)] if name == "bundle" else [str(bundle), f"--{name}", str(wrong)]
    with pytest.raises(UsageError) as refused:
        run("gates", "analyze", *arguments, db=False)
    assert refused.value.code == code


def test_a_file_that_is_not_there_is_refused(run: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        run("gates", "analyze", str(tmp_path / "none.json"), db=False)
    assert refused.value.code == "unreadable_file"


def test_the_audit_is_listed_and_shown(run: Any) -> None:
    page = json.loads(run("audit", "list", "--limit", "2", "--json"))
    assert len(page["items"]) == 2
    following = json.loads(run("audit", "list", "--limit", "2", "--cursor", str(page["next_cursor"]), "--json"))
    assert following["items"][0]["seq"] < page["items"][-1]["seq"]
    event = json.loads(run("audit", "show", page["items"][0]["event_id"], "--json"))
    assert event["seq"] == page["items"][0]["seq"] and "payload" in event
    assert page["items"][0]["event_type"] in run("audit", "list", "--limit", "1")
    assert "payload: " in run("audit", "show", event["event_id"])


def test_a_dry_run_of_a_pruning_says_what_would_go(run: Any) -> None:
    document = json.loads(run("audit", "prune", "--before", "2020-01-01T00:00:00Z", "--dry-run", "--json"))
    assert (document["dry_run"], document["count"]) == (True, 0)


@pytest.mark.parametrize(("before", "code"), [("2999-01-01T00:00:00Z", "retention_floor"), ("2020", "invalid_time")])
def test_a_wrong_pruning_is_refused(run: Any, before: str, code: str) -> None:
    with pytest.raises(UsageError) as refused:
        run("audit", "prune", "--before", before)
    assert refused.value.code == code


def test_a_search_prints_its_hits(run: Any) -> None:
    found = json.loads(run("search", "checkout", "provider", "--json"))
    assert all("checkout" in item["snippet"] for item in found["items"])
    assert found["items"]
    assert "checkout" in run("search", "checkout")
    assert "Nothing holds" in run("search", "xyzzyplugh")
