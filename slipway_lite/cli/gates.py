"""``slipway gates``: which gates and which evidence ever change anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slipway_lite.cli.files import json_document
from slipway_lite.cli.noun import noun
from slipway_lite.cli.output import emit, table
from slipway_lite.cli.place import JsonOption
from slipway_lite.observe.analysis import analyze_gates
from slipway_lite.observe.gates import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterator

app = noun("Which gates and which evidence ever change anything.")


@app.callback()
def gates() -> None:
    """Which gates and which evidence ever change anything."""


@app.command()
def analyze(
    bundle: Annotated[str, typer.Argument(help="A bundle of `slipway observations export --all`, - for stdin.")],
    previous: Annotated[str, typer.Option("--previous", help="The report of the period before.")] = "",
    thresholds: Annotated[str, typer.Option("--thresholds", help="A self-improvement-thresholds/v1 document.")] = "",
    generated_at: Annotated[str, typer.Option("--generated-at", help="The time of the report (default: now).")] = "",
    json: JsonOption = False,
) -> None:
    """Report on the gates and the evidence of a bundle.

    Proposes what to look at, and changes nothing.

    Example: slipway observations export --all --output bundle.json && slipway gates analyze bundle.json
    """
    report = analyze_gates(
        json_document(bundle, "invalid_bundle"),
        json_document(thresholds, "invalid_thresholds") if thresholds else DEFAULT,
        json_document(previous, "invalid_previous_report") if previous else None,
        generated_at or None,
    )
    emit(report, json, _lines(report))


def _lines(report: dict[str, Any]) -> Iterator[str]:
    period = report["observation_period"]
    yield f"{period['since']} to {period['until']} ({period['days']:.1f} days)"
    for title, name in (("gate", "gate_reports"), ("evidence", "evidence_reports")):
        rows = [
            (item["target_ref"], item["classification"], item["action"], "; ".join(item["reasons"]))
            for item in report[name]
        ]
        if rows:
            yield ""
            yield from table((title, "classification", "action", "why"), rows)
