"""``slipway job``: the jobs that tasks hand out."""

from __future__ import annotations

from typing import Annotated

import typer

from slipway_lite.cli import plane
from slipway_lite.cli.noun import noun
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption
from slipway_lite.cli.plane import FileOption

app = noun("Jobs: look at one, give a sign of life.")

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The job's id.")]


@app.command()
def get(job_id: JobArgument, db: DatabaseOption = "", root: RootOption = "", json: JsonOption = False) -> None:
    """Print one job, its newest result and its lease.

    Example: slipway job get job_0123 --json
    """
    from slipway_lite.control import queries

    found = plane.read(db, root, queries.job, job_id)
    lines = plane.facts(found["job"], "job_id", "task_id", "stage", "worker_type", "status", "retry_count")
    plane.show(found, json, lines + plane.facts(found, "lease_expires_at", "last_heartbeat_at"))


@app.command()
def prompt(job_id: JobArgument, db: DatabaseOption = "", root: RootOption = "", json: JsonOption = False) -> None:
    """Print what a worker is told: the rendered envelope of the job.

    Example: slipway job prompt job_0123
    """
    from slipway_lite.control import instructions, queries

    text = instructions.prompt_of(plane.read(db, root, queries.job, job_id)["job"])
    plane.show({"job_id": job_id, "prompt": text}, json, text.splitlines())


@app.command()
def heartbeat(
    job_id: JobArgument,
    worker: Annotated[str, typer.Option(help="Who works on it; the first one holds the job.")] = "",
    stage: Annotated[str, typer.Option(help="plan, dev or acceptance.")] = "",
    file: FileOption = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Give a sign of life, so that the job's lease goes on.

    Example: slipway job heartbeat job_0123 --worker w1 --stage dev
    """
    from slipway_lite import clock
    from slipway_lite.control.instants import from_micros

    observed = {"observed_at": from_micros(clock.timestamp())}
    with plane.open_plane(db, root) as control:
        answer = control.heartbeat(job_id, observed | plane.body(file, worker_id=worker, stage=stage))
    plane.show(answer, json, plane.facts(answer))
