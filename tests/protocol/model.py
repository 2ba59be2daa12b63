"""A Run without a store: commands decide, the fold follows, and every event is kept as the journal would.

What git shows is what a test says it shows.
"""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

from slipway_lite.canon import encode
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import commands, fold, replay
from slipway_lite.protocol import next as following
from slipway_lite.protocol.action import check_issued
from slipway_lite.protocol.documents import run_status
from slipway_lite.protocol.observation import snapshot_hash
from slipway_lite.protocol.resume import Mode, resume
from slipway_lite.protocol.run import Record, Run
from slipway_lite.protocol.workspace import Workspace
from tests.protocol.outcomes import destructive, outcome

ROOT = "/home/dev/repo"
WORKSPACE = Workspace(ROOT, f"{ROOT}/.git", f"{ROOT}/.git").document()
RUN_ID = "run-1"


def digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def git(state: str = "clean", *, complete: bool = True, paths: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """An observation; two of them are equal exactly when what is given is."""
    document: dict[str, Any] = {
        "version": 1,
        "head": "0" * 40,
        "index_fingerprint": digest(""),
        "status_fingerprint": digest(state),
        "snapshot_hash": "",
        "path_count": len(paths),
        "path_fingerprint": digest(encode(paths)),
        "details_truncated": False,
        "content_observation_complete": complete,
        "content_bytes_hashed": 0,
        "content_byte_limit": 67_108_864,
        "content_byte_limit_exceeded": False,
        "content_deadline_exceeded": False,
        "dirty_files": [path["path"] for path in paths],
        "path_observations": list(paths),
    }
    return document | {"snapshot_hash": snapshot_hash(document)}


CLEAN, DIRTY = git(), git("dirty")
FAILED = "git ls-files failed with status 128"


class Model:
    """One Run, driven the way the service drives it. ``git`` is what the worktree shows; text is a failure."""

    def __init__(
        self,
        budget: int = 8,
        review: bool = True,
        *,
        goal: str = "Ship it",
        initial: dict[str, Any] = CLEAN,
        source: dict[str, Any] | None = None,
    ) -> None:
        self.git: dict[str, Any] | str = initial
        self.clock = self.drawn = 0
        self.events: list[tuple[int, int, str, str, str, str, str, str]] = []
        data: dict[str, Any] = {
            "event_version": 1,
            "run_id": RUN_ID,
            "goal": goal,
            "workspace_identity": WORKSPACE,
            "review_enabled": review,
            "initial_budget": budget,
            "initial_git": initial,
            "next_action_id": self.draw(),
        }
        if source is not None:
            data["pinned_source"] = source
        self.run = fold.start(RUN_ID, self.now(), copy.deepcopy(data))
        check_issued(self.run, self.run.records[0])
        self._keep("run_started", data)

    def now(self) -> str:
        self.clock += 1
        return f"2026-07-12T09:00:00.{self.clock:06d}Z"

    def draw(self) -> str:
        self.drawn += 1
        return f"act-{self.drawn}"

    def _keep(self, kind: str, data: dict[str, Any]) -> None:
        number = len(self.events) + 1
        at = f"2026-07-12T09:00:00.{self.clock:06d}Z"
        self.events.append((number, number, at, kind, encode(data), "", "", ""))
        self.run.event_count = self.run.head_seq = number

    def replayed(self) -> Run:
        """The Run as its events alone tell it."""
        return replay.replay(RUN_ID, self.events)

    def status(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(encode(run_status(self.run)))
        return document

    def apply(self, event: commands.Event | None) -> bool:
        """Fold an event; False for a replay. A refusal of the next Action leaves the Run as it was."""
        if event is None:
            return False
        kind, data = copy.deepcopy(event)
        if kind in ("outcome_submitted", "action_skipped"):
            same = self.git == self.run.current_git
            seen = {"unchanged": True} if same else {"observation": copy.deepcopy(self.git)}
            data["git"] = {"failure": self.git} if isinstance(self.git, str) else seen
        data["next_action_id"] = self.draw()
        fold.apply(self.run, kind, self.now(), copy.deepcopy(data))
        if self.run.current is None or self.run.current.action_id != data["next_action_id"]:
            del data["next_action_id"]
            self.drawn -= 1
        else:
            try:
                check_issued(self.run, self.run.current)
            except SlipwayError as error:
                self.run = self.replayed()
                error.next = following.derive(self.run)
                raise
        self._keep(kind, data)
        return True

    # -- what a host does

    @property
    def current(self) -> Record:
        assert self.run.current is not None
        return self.run.current

    def submit_document(self, document: dict[str, Any], digest_of: str | None = None) -> bool:
        """Submit ``document`` for the Action that it names; its bytes are those of its compact JSON."""
        payload = digest_of or digest(encode(document))
        return self.apply(commands.submit(self.run, document["action_id"], document, payload))

    def submit(self, status: str = "completed", **fields: Any) -> dict[str, Any]:
        """Submit a legal Outcome for the current Action; returns it for a replay."""
        document = outcome(self.current.kind, status, action_id=self.current.action_id, **fields)
        self.submit_document(document)
        return document

    def answer(self, text: str | None, confirm: bool = False, scope: str = "", *, action_id: str | None = None) -> bool:
        waiting = action_id or self.current.action_id
        return self.apply(commands.answer(self.run, waiting, text, confirm, scope))

    def skip(self, action_id: str | None = None) -> bool:
        return self.apply(commands.skip(self.run, action_id or self.current.action_id))

    def stop(self) -> bool:
        return self.apply(commands.stop(self.run))

    def resume(self, budget: int = 0, mode: Mode | None = None, candidate_id: str = "cand-1") -> bool:
        return self.apply(resume(self.run, budget, mode or Mode(), candidate_id, self.now()))

    # -- ways to get somewhere

    def to_implement(self) -> Model:
        self.submit(suggested_actions=[{"kind": "implement", "brief": "do it"}])
        assert self.current.kind == "implement"
        return self

    def to_destructive(self, **scope: Any) -> str:
        """On to a destructive pause; returns the digest of its scope."""
        self.to_implement().submit("needs_input", pause=destructive(**scope))
        assert self.run.pending_request is not None
        sha256: str = self.run.pending_request["scope_sha256"]
        return sha256

    def to_end(self) -> Model:
        while self.run.state == "active":
            self.submit()
        assert self.run.state == "ended"
        return self


# -- what a Run looks like from outside


def kinds(model: Model) -> list[str]:
    return [record.kind for record in model.run.records]


def standing(model: Model) -> tuple[str, str | None, str | None, int]:
    run = model.run
    return run.state, run.pause_reason, run.current.kind if run.current else None, run.remaining_budget


def has(token: str, texts: list[str]) -> int:
    return sum(text.startswith(token) for text in texts)
