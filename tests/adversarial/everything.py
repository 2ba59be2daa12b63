"""A small file with rows in every append-only table and every projection, all of them written by the services."""

from __future__ import annotations

from pathlib import Path

from slipway_lite.control.service import ControlPlane
from slipway_lite.control.settings import Settings
from slipway_lite.observe.projection import projectors
from slipway_lite.store.connection import open_store
from slipway_lite.store.merge import merge
from slipway_lite.turns.driver import drive_turn
from slipway_lite.turns.service import TurnJournal
from tests.control.world import TYPED_REF, World
from tests.machine_host import Host, database, invoke, repository, whole_run
from tests.protocol.source.change import Change
from tests.turns.documents import fenced, outcome, snapshot

APPROVED_BY_HAND = {"publish_plan": {"approval_required": True}}


def everything(directory: Path) -> Path:
    """Make the file in a new repository below ``directory`` and give its path."""
    root = repository(directory / "repo")
    _merged(database(root))
    whole_run(root)
    _bound_run(root)
    _turns(root)
    _tasks(database(root))
    return database(root)


def _merged(path: Path) -> None:
    """Begin with the rows of two other files."""
    path.parent.mkdir(mode=0o700)
    for name in ("one.db", "other.db"):
        with ControlPlane.open(str(path.with_name(name)), Settings()) as plane:
            plane.ingest_doc({"doc_type": "spec", "title": name, "content": f"# {name}\n"})
    merge([str(path.with_name("one.db")), str(path.with_name("other.db"))], str(path), projectors())


def _bound_run(root: Path) -> None:
    """A Run of an issue, with its materials, that was stopped and resumed: it carries a receipt."""
    source = root.parent / "change.json"
    source.write_bytes(Change().raw())
    host = Host(root, "Ship it", "--source-file", str(source))
    host.stop()
    resumed = invoke("protocol", "resume", host.run_id, "--use-pinned-source", "--root", str(root))
    assert resumed.status == 0, resumed.err


def _turns(root: Path) -> None:
    with open_store(str(database(root))) as store:
        journal = TurnJournal(store, str(root))
        journal.append_snapshot({"snapshot": snapshot(), "readings": []})
        drive_turn("execute-phase", lambda message: fenced(outcome()), journal=journal)


def _tasks(path: Path) -> None:
    """One task through its whole life, and one that a worker has."""
    with ControlPlane.open(str(path), Settings()) as plane:
        world = World(plane)
        task_id = world.create(**APPROVED_BY_HAND)
        _documents(plane, task_id)
        plane.link_tracker(task_id, {"typed_ref": TYPED_REF, "connection_ref": "c", "entity_ref": "github_issue:4"})
        world.bring_on(task_id, "integrated")
        token = plane.issue_approval(task_id)["approval_token"]
        world.publish(task_id, "apply", approval_token=token)
        plane.complete_publish(task_id, {"external_refs": [{"kind": "release", "value": "v1"}]})
        plane.acknowledge_evidence(task_id, "evidence-1", {"reviewed_by": "ann"})
        plane.generate_retrospective(task_id)
        world.dispatch(world.create(title="Under way"), "plan")


def _documents(plane: ControlPlane, task_id: str) -> None:
    made = plane.ingest_doc({"doc_type": "spec", "title": "Guide", "content": "# Guide\n\nZwölf Zeilen.\n"})
    plane.resolve_docs(task_id, {"feature": "login"})
    plane.acknowledge_docs(task_id, {"doc_id": made["doc_id"], "version": made["version"], "task_id": task_id})
