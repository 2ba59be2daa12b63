"""``slipway task``: tasks of the control plane, from creation to publish."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from slipway_lite.cli import plane, task_release
from slipway_lite.cli.noun import noun
from slipway_lite.cli.output import table
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption
from slipway_lite.cli.plane import ANY_VERSION, FileOption, TaskArgument, VersionOption

app = noun("Tasks: create, dispatch, judge, integrate, publish.")
task_release.add_to(app)

RefOption = Annotated[str, typer.Option("--typed-ref", help="<domain>:<entity_type>:<provider>:<entity_id>")]


def _task_lines(task: dict[str, Any]) -> list[str]:
    lines = plane.facts(task, "task_id", "title", "state", "version", "risk_level", "active_job_id", "updated_at")
    if "blocked_context" in task:
        context = task["blocked_context"]
        lines.append(f"blocked: {context['reason']} (resumes at {context['resume_state']})")
    return lines


@app.command()
def create(
    title: Annotated[str, typer.Option(help="What it is called.")] = "",
    objective: Annotated[str, typer.Option(help="What has to be true in the end.")] = "",
    typed_ref: RefOption = "",
    repo: Annotated[str, typer.Option(help="OWNER/NAME on GitHub.")] = "",
    branch: Annotated[str, typer.Option(help="The branch to integrate into.")] = "main",
    description: Annotated[str, typer.Option(help="More about it.")] = "",
    risk: Annotated[str, typer.Option(help="low, medium or high.")] = "",
    label: Annotated[list[str] | None, typer.Option(help="A label; may be given again.")] = None,
    file: FileOption = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Register a task. It starts queued.

    Example: slipway task create --title "Add login" --objective "Users can log in" --repo octo/hub
    --typed-ref agent-taskstate:task:local:1
    """
    owner, _, name = repo.partition("/")
    repo_ref = {"provider": "github", "owner": owner, "name": name, "default_branch": branch} if repo else None
    body = plane.body(
        file,
        title=title,
        objective=objective,
        typed_ref=typed_ref,
        repo_ref=repo_ref,
        description=description,
        risk_level=risk,
        labels=label,
    )
    with plane.open_plane(db, root, make=True) as control:
        task = control.create_task(body)
    plane.show(task, json, _task_lines(task))


@app.command()
def get(task_id: TaskArgument, db: DatabaseOption = "", root: RootOption = "", json: JsonOption = False) -> None:
    """Print one task.

    Example: slipway task get task_0123 --json
    """
    from slipway_lite.control import queries

    task = plane.read(db, root, queries.task, task_id)
    plane.show(task, json, _task_lines(task))


@app.command("list")
def list_tasks(
    state: Annotated[str, typer.Option(help="Only these states, separated by commas.")] = "",
    limit: Annotated[int, typer.Option(help="At most so many.")] = 50,
    offset: Annotated[int, typer.Option(help="Skip so many.")] = 0,
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """List tasks, newest change first.

    Example: slipway task list --state blocked,accepting
    """
    from slipway_lite.control import queries

    page = plane.read(db, root, queries.tasks, limit, offset, state or None)
    rows = [(task["task_id"], task["state"], task["version"], task["title"][:60]) for task in page["items"]]
    lines = [*table(("task", "state", "version", "title"), rows), f"{len(rows)} of {page['total']}"]
    plane.show(page, json, lines)


@app.command()
def events(task_id: TaskArgument, db: DatabaseOption = "", root: RootOption = "", json: JsonOption = False) -> None:
    """List the transitions of a task, oldest first.

    Example: slipway task events task_0123
    """
    from slipway_lite.control import queries

    found = plane.read(db, root, queries.transition_events, task_id)
    rows = [
        (event["occurred_at"], event["from_state"], event["to_state"], event["actor_id"], event["reason"][:60])
        for event in found["items"]
    ]
    plane.show(found, json, table(("at", "from", "to", "by", "reason"), rows))


@app.command("audit-events")
def audit_events(
    task_id: TaskArgument, db: DatabaseOption = "", root: RootOption = "", json: JsonOption = False
) -> None:
    """List the audit events of a task as recorded.

    Example: slipway task audit-events task_0123
    """
    from slipway_lite.control import queries

    found = plane.read(db, root, queries.audit_events, task_id)
    rows = [(event["occurred_at"], event["event_type"], event["actor_id"]) for event in found["items"]]
    plane.show(found, json, table(("at", "event", "by"), rows))


@app.command()
def dispatch(
    task_id: TaskArgument,
    stage: Annotated[str, typer.Option(help="plan, dev or acceptance.")] = "",
    worker: Annotated[str, typer.Option(help="codex, claude_code or google_antigravity.")] = "",
    risk: Annotated[str, typer.Option(help="Another risk level for this job.")] = "",
    expected_version: VersionOption = ANY_VERSION,
    file: FileOption = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Hand the next stage to a worker and print its job.

    Example: slipway task dispatch task_0123 --stage plan --expected-version 0
    """
    body = plane.body(
        file,
        target_stage=stage,
        worker_selection=worker,
        override_risk_level=risk,
        expected_version=plane.expected(expected_version),
    )
    with plane.open_plane(db, root) as control:
        job = control.dispatch(task_id, body)
    plane.show(job, json, plane.facts(job, "job_id", "stage", "worker_type", "lease_expires_at"))


@app.command()
def result(
    task_id: TaskArgument,
    file: FileOption = "-",
    expected_version: VersionOption = ANY_VERSION,
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Hand in a WorkerResult. It is read from a file or standard input.

    Example: slipway task result task_0123 --file result.json
    """
    body = plane.body(file)
    with plane.open_plane(db, root) as control:
        answer = control.apply_result(task_id, body, expected_version=plane.expected(expected_version))
    plane.show(answer, json, [*_task_lines(answer["task"]), f"next action: {answer['next_action']}"])


@app.command()
def checklist(
    task_id: TaskArgument,
    check: Annotated[list[str] | None, typer.Option(help="An item to tick; may be given again.")] = None,
    by: Annotated[str, typer.Option(help="Who ticks.")] = "",
    file: FileOption = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Tick items of the manual checklist. Acceptance asks for them.

    Example: slipway task checklist task_0123 --check tests-passed --by ann
    """
    with plane.open_plane(db, root) as control:
        answer = control.tick_checklist(task_id, plane.body(file, checked_items=_ticks(check, by)))
    rows = [
        ("x" if item.get("checked") else " ", item["id"], "required" if item["required"] else "optional")
        for item in answer["manual_checklist"]
    ]
    plane.show(answer, json, table(("done", "item", "kind"), rows))


def _ticks(check: list[str] | None, by: str) -> list[dict[str, str]]:
    return [{"id": item, "checked_by": by} if by else {"id": item} for item in check or ()]


@app.command()
def accept(
    task_id: TaskArgument,
    check: Annotated[list[str] | None, typer.Option(help="An item to tick; may be given again.")] = None,
    by: Annotated[str, typer.Option(help="Who ticks.")] = "",
    verdict: Annotated[str, typer.Option(help="Your own verdict instead of the worker's.")] = "",
    reason: Annotated[str, typer.Option(help="Why.")] = "",
    file: FileOption = "",
    expected_version: VersionOption = ANY_VERSION,
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Accept a task by hand. Every gate has to hold, else nothing changes.

    Example: slipway task accept task_0123 --check tests-passed --check no-regressions --by ann
    """
    said = {"outcome": verdict} | ({"reason": reason} if reason else {}) if verdict else None
    body = plane.body(file, checked_items=_ticks(check, by), verdict=said)
    with plane.open_plane(db, root) as control:
        answer = control.complete_acceptance(task_id, body, expected_version=plane.expected(expected_version))
    plane.show(answer, json, plane.facts(answer))


@app.command()
def transition(
    task_id: TaskArgument,
    to: Annotated[str, typer.Option(help="The state to go to.")] = "",
    reason: Annotated[str, typer.Option(help="Why; it is the record.")] = "",
    by: Annotated[str, typer.Option(help="Who says so.")] = "operator",
    file: FileOption = "",
    expected_version: VersionOption = ANY_VERSION,
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Record a transition by hand. Only those that the state machine lists are taken.

    A task that resumes integrating on a configured repository is integrated again.

    Example: slipway task transition task_0123 --to developing --reason "access was granted"
    """
    with plane.open_plane(db, root) as control:
        body = plane.body(file, to_state=to, reason=reason)
        if not file:
            body |= _event_of(control.get_task(task_id), by)
        event = control.record_transition(task_id, body, expected_version=plane.expected(expected_version))
        control.run_integration(task_id)
    plane.show(event, json, plane.facts(event, "event_id", "from_state", "to_state", "actor_id", "reason"))


def _event_of(task: dict[str, Any], by: str) -> dict[str, Any]:
    """What a StateTransitionEvent says beside its target and reason."""
    from slipway_lite import clock, ids
    from slipway_lite.control.instants import from_micros

    return {
        "event_id": f"evt_{ids.uuid4().replace('-', '')}",
        "task_id": task["task_id"],
        "from_state": task["state"],
        "actor_type": "human",
        "actor_id": by,
        "occurred_at": from_micros(clock.timestamp()),
    }


@app.command()
def cancel(
    task_id: TaskArgument,
    reason: Annotated[str, typer.Option(help="Why.")] = "",
    expected_version: VersionOption = ANY_VERSION,
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Cancel a task; its job, lease and locks end with it.

    Example: slipway task cancel task_0123 --reason "not needed any more"
    """
    with plane.open_plane(db, root) as control:
        task = control.cancel(task_id, plane.body("", reason=reason), expected_version=plane.expected(expected_version))
    plane.show(task, json, _task_lines(task))


@app.command()
def bundle(
    task_id: TaskArgument,
    purpose: Annotated[str, typer.Option(help="What the bundle is for.")] = "",
    level: Annotated[str, typer.Option(help="L1, L2 or L3.")] = "",
    file: FileOption = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Build a context bundle from the record and print it.

    Example: slipway task bundle task_0123 --purpose review_prepare --json
    """
    with plane.open_plane(db, root) as control:
        made = control.build_bundle(task_id, plane.body(file, purpose=purpose, rebuild_level=level))
    lines = plane.facts(made, "id", "purpose", "rebuild_level", "raw_included", "generated_at")
    lines += [f"source: {source['typed_ref']}" for source in made["sources"]]
    lines += [f"warning: {warning}" for warning in made["diagnostics"]["warnings"]]
    plane.show(made, json, lines)
