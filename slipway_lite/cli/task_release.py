"""The commands of ``slipway task`` that bring an accepted task out: integrate, approval, publish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slipway_lite.cli import plane
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption
from slipway_lite.cli.plane import ANY_VERSION, FileOption, TaskArgument, VersionOption

if TYPE_CHECKING:
    from collections.abc import Callable

TokenFileOption = Annotated[str, typer.Option("--token-file", help="File with the approval token; - is stdin.")]
TOKEN_LIMIT = 1024


def add_to(app: typer.Typer) -> None:
    """Add every command of this module to ``app``."""
    commands: dict[str, Callable[..., None]] = {
        "integrate": integrate,
        "integrate-complete": integrate_complete,
        "approval": approval,
        "approve": approve,
        "publish": publish,
        "publish-complete": publish_complete,
    }
    for name, command in commands.items():
        app.command(name)(command)


def integrate(
    task_id: TaskArgument,
    base_sha: Annotated[str, typer.Option(help="The commit that the change is based on.")] = "",
    branch: Annotated[str, typer.Option(help="The branch with the change.")] = "",
    patch: Annotated[str, typer.Option(help="The artifact with the change as a patch.")] = "",
    file: FileOption = "",
    expected_version: VersionOption = ANY_VERSION,
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Integrate an accepted task.

    On a repository that `slipway repo add` configured the integration runs to its end here, and its outcome is
    printed; else the task waits for integrate-complete.

    Example: slipway task integrate task_0123 --base-sha 0a1b2c3 --branch feature
    """
    body = plane.body(file, base_sha=base_sha, branch_ref=branch, patch_ref=patch)
    body.setdefault("expected_state", "accepted")
    with plane.open_plane(db, root) as control:
        answer = control.integrate(task_id, body, expected_version=plane.expected(expected_version))
        answer = control.run_integration(task_id) or answer
    plane.show(answer, json, plane.facts(answer))


def integrate_complete(
    task_id: TaskArgument,
    passed: Annotated[bool, typer.Option("--passed/--failed", help="How the checks went.")] = True,
    head_sha: Annotated[str, typer.Option(help="The head of the integration branch.")] = "",
    main_sha: Annotated[str, typer.Option(help="The head of the main line now.")] = "",
    file: FileOption = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Say how the checks of an integration went.

    Example: slipway task integrate-complete task_0123 --passed --main-sha 0a1b2c3
    """
    body = {"checks_passed": passed} | plane.body(file, integration_head_sha=head_sha, main_updated_sha=main_sha)
    with plane.open_plane(db, root) as control:
        answer = control.complete_integrate(task_id, body)
    plane.show(answer, json, plane.facts(answer))


def approval(
    action: Annotated[str, typer.Argument(metavar="issue")],
    task_id: TaskArgument,
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Issue an approval token for one publish. It is printed this once; only its hash is kept.

    Example: slipway task approval issue task_0123 --json
    """
    from slipway_lite.errors import UsageError

    if action != "issue":
        raise UsageError("invalid_usage", "An approval can be issued: slipway task approval issue TASK.")
    with plane.open_plane(db, root) as control:
        answer = control.issue_approval(task_id)
    plane.show(answer, json, plane.facts(answer))


def approve(
    task_id: TaskArgument,
    token_file: TokenFileOption = "-",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Approve a publish that waits for it. It takes the token that was issued.

    Example: slipway task approve task_0123 --token-file token.txt
    """
    with plane.open_plane(db, root) as control:
        answer = control.approve_publish(task_id, _token(token_file))
    plane.show(answer, json, plane.facts(answer))


def publish(
    task_id: TaskArgument,
    mode: Annotated[str, typer.Option(help="no_op, dry_run or apply.")] = "",
    key: Annotated[str, typer.Option(help="Idempotency key: the same key is the same request.")] = "",
    token_file: TokenFileOption = "",
    file: FileOption = "",
    expected_version: VersionOption = ANY_VERSION,
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Start to publish an integrated task.

    Example: slipway task publish task_0123 --mode apply --key release-1
    """
    body = plane.body(file, mode=mode, idempotency_key=key) | (_token(token_file) if token_file else {})
    with plane.open_plane(db, root) as control:
        answer = control.publish(task_id, body, expected_version=plane.expected(expected_version))
    plane.show(answer, json, plane.facts(answer))


def publish_complete(
    task_id: TaskArgument,
    ref: Annotated[list[str] | None, typer.Option(help="KIND:VALUE of what was made; may be given again.")] = None,
    rollback_notes: Annotated[str, typer.Option(help="How to take it back.")] = "",
    file: FileOption = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Say that publishing is done, and what it made outside.

    Example: slipway task publish-complete task_0123 --ref tag:v1.2.0
    """
    refs = [dict(zip(("kind", "value"), item.split(":", 1), strict=False)) for item in ref or ()]
    body = plane.body(file, external_refs=refs, rollback_notes=rollback_notes)
    with plane.open_plane(db, root) as control:
        answer = control.complete_publish(task_id, body)
    plane.show(answer, json, plane.facts(answer))


def _token(token_file: str) -> dict[str, Any]:
    """The member of a body that carries the token of a file; a token never stands on a command line."""
    from slipway_lite.cli.files import read_descriptor, read_regular
    from slipway_lite.errors import UsageError

    try:
        raw = read_descriptor(0, TOKEN_LIMIT) if token_file == "-" else read_regular(token_file, TOKEN_LIMIT)
        return {"approval_token": raw.decode().strip()}
    except (OSError, UnicodeDecodeError):
        raise UsageError("unreadable_file", "The token file cannot be read.") from None
