"""The tasks of the rich demo: workers that fail and come back, reviews, integrations, gates of three kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.control import upkeep, use_cases
from slipway_lite.control.events import Moment
from slipway_lite.control.instants import from_micros, milliseconds
from slipway_lite.control.records import Records
from slipway_lite.control.refusals import Refused
from slipway_lite.control.settings import Settings
from slipway_lite.store.audit import append_audits

if TYPE_CHECKING:
    from slipway_lite.observe.rich_world import Clock, Draw, Story
    from slipway_lite.store.journal import Transaction

INSTANCE = "demo-control-plane"
SETTINGS = Settings()
TITLES = (
    ("Add rate limits to the public API", "Requests over the limit get 429 and a Retry-After."),
    ("検索結果の並び順を直す", "新しい順に並べ、同じ日時では番号順にする。"),
    ("Rotate the signing keys", "Keys older than 90 days are replaced without downtime."),
    ("Show prices with tax", "Every price on the page includes tax."),
    ("夜間バッチの再試行", "失敗した行だけを三回まで再試行する。"),
    ("Upgrade the image pipeline", "Thumbnails keep their colour profile."),
)
REPOS = ("shop-api", "design-system", "billing")
KINDS = ("log", "log", "report", "screenshot", "trace", "json")
READ = {"log": 45, "report": 60, "screenshot": 30, "trace": 3, "json": 6}
"""How often, in percent, somebody acknowledges evidence of each kind."""
SHA = "0123456789abcdef"


class SimulatedRecords(Records):
    """:class:`Records` at a simulated moment, with ids that are the same every time."""

    def __init__(self, tx: Transaction, clock: Clock, draw: Draw) -> None:
        self.tx = tx
        self.at = clock.timestamp()
        now = from_micros(self.at)
        self._prefix = f"{milliseconds(now):012x}"
        self._draw = draw
        token = self.new_id()
        self.moment = Moment(now, token, INSTANCE, draw.below(1000) / 1000)

    def new_id(self) -> str:
        return self._prefix + self._draw.uuid().replace("-", "")[12:]


class Player:
    """Plays one task through the real use cases."""

    def __init__(self, tx: Transaction, clock: Clock, draw: Draw) -> None:
        self._tx = tx
        self._clock = clock
        self._draw = draw
        self._task: dict[str, Any] = {}
        self._skill = draw.pick((92, 80, 55))
        self._artifacts: list[tuple[str, str]] = []

    def story(self) -> Story:
        """The task from its creation to wherever it gets."""
        draw = self._draw
        self._create()
        yield self._wait()
        if draw.chance(4):
            self._do(use_cases.cancel_task, {"reason": "Not wanted any more."})
            return
        if not (yield from self._stage("plan", "planned")):
            return
        for _ in range(3):
            if not (yield from self._stage("dev", "dev_completed")):
                return
            if (yield from self._accept()):
                break
        if self._task["state"] != "accepted":
            return
        yield from self._deliver()
        yield from self._read_evidence()

    def _wait(self) -> int:
        return self._draw.between(60, 5400)

    def _do(self, use_case: Any, *args: Any, **options: Any) -> dict[str, Any] | None:
        """Make one request about the task; ``None`` when it was refused."""
        records = SimulatedRecords(self._tx, self._clock, self._draw)
        try:
            with self._tx.savepoint():
                answer: dict[str, Any] = use_case(records, SETTINGS, self._task["task_id"], *args, **options)
        except Refused as refused:
            records.audit(self._task["task_id"], refused.audit)
            return None
        self._task = dict(records.task(self._task["task_id"]).task)
        return answer

    def _create(self) -> None:
        draw = self._draw
        title, objective = draw.pick(TITLES)
        repo = draw.pick(REPOS)
        body = {
            "title": title,
            "objective": objective,
            "typed_ref": f"agent-taskstate:task:local:{draw.uuid()[:8]}",
            "repo_ref": {"provider": "github", "owner": "example", "name": repo, "default_branch": "main"},
            "risk_level": draw.pick(("low", "low", "medium", "medium", "medium", "high")),
            "labels": [draw.pick(("bug", "feature", "chore"))],
        }
        records = SimulatedRecords(self._tx, self._clock, draw)
        self._task = use_cases.create_task(records, SETTINGS, body)

    def _stage(self, stage: str, wanted: str) -> Any:
        """Dispatch ``stage`` until it succeeds, with the failures that a worker has; True when it did."""
        draw = self._draw
        for _ in range(4):
            job = self._do(use_cases.dispatch_task, {"target_stage": stage})
            if job is None:
                yield 3600
                continue
            yield draw.between(30, 240)
            if draw.chance(5):
                # The worker is gone: nobody hears of it again, and the lease runs out.
                yield 7200
                records = SimulatedRecords(self._tx, self._clock, draw)
                upkeep.expire_job(records, SETTINGS, self._task["task_id"], job["job_id"])
                self._task = dict(records.task(self._task["task_id"]).task)
            else:
                self._beat(job)
                yield draw.between(30, 280)
                self._result(job)
                self._gates(job)
            yield self._wait()
            if self._task["state"] == "blocked":
                if draw.chance(40):
                    return False
                self._transition(self._task["blocked_context"]["resume_state"], "The obstacle is gone.")
                yield self._wait()
            if self._task["state"] in (wanted, "accepting") and not self._task.get("active_job_id"):
                return self._task["state"] == wanted
            if self._task["state"] in ("cancelled", "failed"):
                return False
        return self._task["state"] == wanted

    def _beat(self, job: dict[str, Any]) -> None:
        records = SimulatedRecords(self._tx, self._clock, self._draw)
        body = {"worker_id": f"{job['worker_type']}-1", "stage": job["stage"], "observed_at": records.moment.now}
        use_cases.heartbeat(records, SETTINGS, job["job_id"], body)

    def _result(self, job: dict[str, Any]) -> None:
        draw = self._draw
        stage = job["stage"]
        succeeded = draw.chance(self._skill)
        result: dict[str, Any] = {
            "job_id": job["job_id"],
            "typed_ref": job["typed_ref"],
            "status": "succeeded" if succeeded else draw.pick(("failed", "failed", "failed", "blocked")),
            "summary": f"The {stage} stage is {'done' if succeeded else 'not done'}.",
            "artifacts": self._made(stage),
            "test_results": [],
            "requested_escalations": [],
            "usage": {"runtime_ms": draw.between(4_000, 400_000), "exit_code": 0 if succeeded else 1},
        }
        if stage != "plan":
            passed = succeeded or draw.chance(30)
            result["test_results"] = [
                {"suite": suite, "status": "passed" if passed else "failed", "duration_ms": draw.between(500, 60_000)}
                for suite in ("unit", "regression")
            ]
        if stage == "acceptance" and succeeded:
            outcome = draw.pick(("accept", "accept", "accept", "accept", "rework", "needs_manual_review"))
            result["verdict"] = {"outcome": outcome, "reason": "As the tests say."}
        if stage == "dev" and succeeded:
            result["branch_ref"] = {"name": f"work/{draw.uuid()[:8]}"}
        if stage == "dev" and draw.chance(10):
            result["requested_escalations"] = [{"kind": "network_access", "reason": "To fetch a package."}]
        if not succeeded:
            result["failure_class"] = draw.pick(("retryable_transient", "retryable_transient", "non_retryable_logic"))
            result["failure_code"] = draw.pick(("timeout", "tests_failed", "worker_crashed"))
        self._do(use_cases.apply_result, result)

    def _made(self, stage: str) -> list[dict[str, Any]]:
        draw = self._draw
        kinds = ["log", *(draw.pick(KINDS) for _ in range(draw.between(0, 2)))]
        made = [{"artifact_id": f"art_{draw.uuid()[:13]}", "kind": kind, "uri": f"demo:{stage}"} for kind in kinds]
        self._artifacts += [(artifact["artifact_id"], artifact["kind"]) for artifact in made]
        return made

    def _accept(self) -> Any:
        """The acceptance stage and the person behind it; True when the task is accepted."""
        draw = self._draw
        yield from self._stage("acceptance", "never")
        if self._task["state"] != "accepting":
            return False
        ticks = [{"id": item["id"], "checked_by": "reviewer"} for item in self._task.get("manual_checklist", ())]
        for artifact_id, kind in self._artifacts[-2:]:
            if READ[kind] > 10:
                self._acknowledge(artifact_id)
        body: dict[str, Any] = {"checked_items": ticks}
        if draw.chance(80):
            body["verdict"] = {"outcome": "accept", "reason": "Looked at and found good."}
        accepted = self._do(use_cases.complete_acceptance, body)
        yield self._wait()
        if accepted is None and self._task["state"] == "accepting":
            self._transition("rework_required", "The proof is not enough.")
            yield self._wait()
        return accepted is not None

    def _transition(self, to_state: str, reason: str) -> None:
        draw = self._draw
        body = {
            "event_id": f"evt_{draw.uuid()}",
            "task_id": self._task["task_id"],
            "event_type": "state_transition",
            "typed_ref": self._task["typed_ref"],
            "from_state": self._task["state"],
            "to_state": to_state,
            "actor_type": "human",
            "actor_id": "operator",
            "reason": reason,
            "occurred_at": from_micros(self._clock.timestamp()),
        }
        self._do(use_cases.record_transition, body)

    def _deliver(self) -> Story:
        draw = self._draw
        base, head = (draw.digest()[7:47] for _ in range(2))
        body = {"expected_state": "accepted", "base_sha": base, "branch_ref": f"work/{draw.uuid()[:8]}"}
        for _ in range(5):
            if self._do(use_cases.integrate, body) is not None:
                break
            yield 1200
        yield draw.between(60, 500)
        passed = draw.chance(90)
        done = {"checks_passed": passed, "integration_head_sha": head, "current_base_sha": base}
        if passed:
            done |= {"main_updated_sha": head, "is_fast_forward": True}
        self._do(use_cases.complete_integrate, done)
        yield self._wait()
        key = draw.uuid()
        for _ in range(3):
            if self._do(use_cases.publish, {"mode": draw.pick(("no_op", "dry_run")), "idempotency_key": key}):
                break
            yield 1200
        yield draw.between(60, 600)
        self._do(use_cases.complete_publish, {})

    def _read_evidence(self) -> Story:
        for artifact_id, kind in self._artifacts:
            if self._draw.chance(READ[kind]):
                yield self._wait()
                self._acknowledge(artifact_id)

    def _acknowledge(self, artifact_id: str) -> None:
        body = {"reviewed_by": self._draw.pick(("reviewer-a", "reviewer-b")), "purpose": "acceptance"}
        self._do(use_cases.acknowledge_evidence, artifact_id, body)

    def _gates(self, job: dict[str, Any]) -> None:
        """Evaluations of gates that another system ran and handed over."""
        draw = self._draw
        if job["stage"] == "dev":
            self._gate("lint-gate", "pass", "none", job)
            if draw.chance(50):
                decision = draw.pick(("pass", "warn", "hold"))
                self._gate("ui-review", decision, "applied" if draw.chance(85) else "none", job)
        decision = "block" if draw.chance(6) else "pass"
        self._gate("hard-safety:secrets", decision, "none", job)

    def _gate(self, gate_id: str, decision: str, override: str, job: dict[str, Any]) -> None:
        records = SimulatedRecords(self._tx, self._clock, self._draw)
        payload = {
            "gate_id": gate_id,
            "gate_owner": "platform-team",
            "policy_revision": "2.1",
            "decision": decision,
            "effective_action": {"hold": "hold", "block": "block"}.get(decision, "continue"),
            "transition_changed": decision == "block",
            "risk": self._task["risk_level"],
            "override": override,
        }
        append_audits(
            self._tx,
            f"task:{self._task['task_id']}",
            records.at,
            [("run.systemGateEvaluated", "policy_engine", gate_id, payload)],
            task_id=self._task["task_id"],
            job_id=job["job_id"],
            provenance="rich-demo",
            new_id=records.new_id,
        )
