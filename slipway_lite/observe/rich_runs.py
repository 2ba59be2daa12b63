"""The Runs of the rich demo: goals, hosts that are mostly honest, reviews, questions, budgets that run out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.canon import encode, sha256
from slipway_lite.protocol import commands, fold
from slipway_lite.protocol.observation import observation
from slipway_lite.protocol.recording import append_event
from slipway_lite.protocol.resume import Mode, resume
from slipway_lite.protocol.rules import scope_sha256
from slipway_lite.protocol.service import looks_at_git
from slipway_lite.protocol.workspace import Workspace

if TYPE_CHECKING:
    from slipway_lite.observe.rich_world import Clock, Draw, Story
    from slipway_lite.protocol.run import Run
    from slipway_lite.store.journal import Transaction

REPOSITORIES = ("shop-api", "design-system", "billing")
GOALS = (
    "Add a licence header to every source file",
    "Make the checkout survive a slow payment provider",
    "ログイン画面の文言を日本語にする",
    "Replace the deprecated date library",
    "Speed up the nightly report",
    "在庫APIのページ送りを直す",
    "Write tests for the tax rounding rules",
    "Remove dead feature flags",
    "エラー画面に問い合わせ番号を出す",
    "Document the retry policy",
)
AREAS = ("api", "core", "web", "jobs", "docs", "billing")
COMMANDS = {
    "test": ("pytest -q", "pytest -q tests/{area}", "npm test"),
    "typecheck": ("mypy --strict", "npx tsc --noEmit"),
    "build": ("npm run build", "python -m build"),
    "lint": ("ruff check .", "npx eslint {area}"),
}
FINDINGS = (
    ("No test covers the new branch", "The retry path is never taken in a test."),
    ("The error is swallowed", "A failed write is logged and then forgotten."),
    ("名前が契約と違う", "応答のキーが仕様書の名前と一致しない。"),
    ("The change is wider than the goal", "Two files were only reformatted."),
)
QUESTIONS = (
    ("Keep the old endpoint for one release?", "Yes, for one release."),
    ("Which rounding applies, half even or half up?", "Half even, as the tax office says."),
    ("古い設定ファイルも移行しますか。", "はい、移行してください。"),
)


class Player:
    """Plays one Run through the real decisions and folds, with simulated time, ids and git."""

    def __init__(self, tx: Transaction, clock: Clock, draw: Draw) -> None:
        self._tx = tx
        self._clock = clock
        self._draw = draw
        name = draw.pick(REPOSITORIES)
        self._workspace = Workspace(f"/demo/{name}", f"/demo/{name}/.git", f"/demo/{name}/.git")
        self._dirty: set[str] = set()
        self._head = draw.digest()[7:47]
        self._honesty = draw.pick((100, 100, 97, 80))
        self._quality = draw.pick((95, 85, 60))
        self._run: Run

    def story(self) -> Story:
        """The Run from its goal to wherever it gets."""
        self._start()
        yield self._seconds()
        for _ in range(40):
            run = self._run
            if run.state in ("ended", "stopped") or not self._step():
                return
            yield self._seconds()

    def _seconds(self) -> int:
        return self._draw.between(20, 900)

    def _step(self) -> bool:
        """One request of a host or a person; False when they leave it at that."""
        run, draw = self._run, self._draw
        if run.state == "paused":
            return self._settle()
        if draw.chance(2):
            self._apply(commands.stop(run))
            return True
        assert run.current is not None
        if run.current.kind != "orient" and draw.chance(3):
            self._apply(commands.skip(run, run.current.action_id))
            return True
        self._submit(getattr(self, f"_{run.current.kind}")())
        return True

    def _settle(self) -> bool:
        run, draw = self._run, self._draw
        if draw.chance(12):
            return False
        if run.pause_reason == "decision_required" and run.current is not None:
            question = (run.current.outcome or {})["pause"]["question"]
            text = next(answer for asked, answer in QUESTIONS if asked == question)
            self._apply(commands.answer(run, run.current.action_id, text, False, ""))
        elif run.pause_reason == "destructive_confirmation_required":
            assert run.current is not None
            assert run.pending_request is not None
            if draw.chance(75):
                scope = run.pending_request["scope_sha256"]
                self._apply(commands.answer(run, run.current.action_id, None, True, scope))
            else:
                self._apply(commands.answer(run, run.current.action_id, "Leave it alone.", False, ""))
        else:
            budget = draw.pick((0, 3, 5))
            self._apply(resume(run, budget, Mode(False, None, "", ""), draw.uuid(), self._clock.timestamp()))
        return True

    # -- what a host reports, by the kind of the Action

    def _orient(self) -> dict[str, Any]:
        draw = self._draw
        if draw.chance(8):
            return self._question()
        kind = "clarify" if draw.chance(15) else "implement"
        return {
            "summary": f"The goal touches {draw.pick(AREAS)} and {draw.pick(AREAS)}.",
            "observations": [f"{draw.between(2, 40)} files mention it."],
            "suggested_actions": [{"kind": kind, "brief": f"Go on with {draw.pick(AREAS)}."}],
        }

    def _clarify(self) -> dict[str, Any]:
        if self._draw.chance(25):
            return self._question()
        return {
            "summary": "The open point is settled by the specification.",
            "suggested_actions": [{"kind": "implement", "brief": "Do as the specification says."}],
        }

    def _question(self) -> dict[str, Any]:
        question, _ = self._draw.pick(QUESTIONS)
        pause = {"reason": "decision_required", "question": question, "destructive_request": None}
        return {"summary": "A person has to decide.", "status": "needs_input", "pause": pause}

    def _implement(self) -> dict[str, Any]:
        draw = self._draw
        if draw.chance(5) and self._run.grant is None:
            return self._destructive()
        if draw.chance(4):
            report = {"result": "unable", "files_changed": [], "activities": [], "uncertainties": [], "attempts": 3}
            return {"summary": "It could not be done.", "status": "error", "implementation": report}
        claimed = sorted({f"src/{draw.pick(AREAS)}/{draw.pick(('a', 'b', 'c', 'd'))}.py" for _ in range(3)})
        self._dirty |= {path for path in claimed if draw.chance(self._honesty)}
        is_partial = draw.chance(12)
        report = {
            "result": "partial" if is_partial else "applied",
            "files_changed": claimed,
            "activities": [self._activity() for _ in range(draw.pick((0, 1, 1, 2, 2, 3)))],
            "uncertainties": [],
            "attempts": draw.between(1, 3),
        }
        status = "partial" if is_partial else "completed"
        return {"summary": f"Changed {len(claimed)} files.", "status": status, "implementation": report}

    def _activity(self) -> dict[str, Any]:
        draw = self._draw
        kind = draw.pick(("test", "test", "test", "lint", "typecheck", "build"))
        passed = draw.chance(self._quality)
        return {
            "kind": kind,
            "command": draw.pick(COMMANDS[kind]).format(area=draw.pick(AREAS)),
            "exit_code": 0 if passed else draw.pick((1, 1, 2)),
            "summary": "Passed." if passed else f"{draw.between(1, 9)} failed.",
        }

    def _destructive(self) -> dict[str, Any]:
        draw = self._draw
        request: dict[str, Any] = {
            "request_id": draw.uuid(),
            "targets": [{"kind": "path", "value": f"build/{draw.pick(AREAS)}"}],
            "impact": "Deletes generated files for good.",
        }
        request["scope_sha256"] = scope_sha256(request)
        pause = {
            "reason": "destructive_confirmation_required",
            "question": "Delete the generated files?",
            "destructive_request": request,
        }
        return {"summary": "Deleting needs a confirmation.", "status": "needs_input", "pause": pause}

    def _review(self) -> dict[str, Any]:
        draw = self._draw
        findings = [
            {"location": f"src/{draw.pick(AREAS)}/a.py:{draw.between(1, 300)}", "summary": summary, "detail": detail}
            for summary, detail in (draw.pick(FINDINGS) for _ in range(draw.pick((0, 0, 1, 1, 2, 3))))
        ]
        result = "findings_reported" if findings else "no_findings_reported"
        return {
            "summary": f"{len(findings)} findings.",
            "review": {"result": result, "findings": findings, "uncertainties": []},
        }

    def _summarize(self) -> dict[str, Any]:
        return {"summary": f"The work on {self._draw.pick(AREAS)} is done as far as it goes."}

    # -- the same steps as the service, on simulated facts

    def _git(self) -> dict[str, Any]:
        status = b"".join(
            b"1 .M N... 100644 100644 100644 %s %s %s\0" % (b"0" * 40, b"0" * 40, path.encode())
            for path in sorted(self._dirty)
        )
        return observation(self._workspace.worktree_root, self._head, b"", status)

    def _start(self) -> None:
        draw = self._draw
        run_id, at = draw.uuid(), self._clock.timestamp()
        data = {
            "event_version": 1,
            "run_id": run_id,
            "goal": draw.pick(GOALS),
            "workspace_identity": self._workspace.document(),
            "review_enabled": draw.chance(85),
            "initial_budget": draw.pick((3, 5, 8, 8, 8, 12)),
            "initial_git": self._git(),
            "next_action_id": draw.uuid(),
        }
        self._run = fold.start(run_id, at, data)
        self._append("run_started", at, data)

    def _submit(self, changes: dict[str, Any]) -> None:
        run = self._run
        assert run.current is not None
        document = {
            "contract_version": 2,
            "action_id": run.current.action_id,
            "action_kind": run.current.kind,
            "status": "completed",
            "summary": "",
            "observations": [],
            "known_issues": [],
            "suggested_actions": [],
            "pause": None,
            "implementation": None,
            "review": None,
        } | changes
        self._apply(commands.submit(run, run.current.action_id, document, sha256(encode(document).encode())))

    def _apply(self, event: commands.Event | None) -> None:
        assert event is not None
        run, (kind, data), at = self._run, event, self._clock.timestamp()
        if looks_at_git(run, kind):
            git = self._git()
            data = data | {"git": {"unchanged": True} if git == run.current_git else {"observation": git}}
        data = data | {"next_action_id": self._draw.uuid()}
        fold.apply(run, kind, at, data)
        if run.current is None or run.current.action_id != data["next_action_id"]:
            del data["next_action_id"]
        self._append(kind, at, data)

    def _append(self, kind: str, at: str, data: dict[str, Any]) -> None:
        append_event(self._tx, self._run, kind, at, data, encode(data), self._draw.uuid)
