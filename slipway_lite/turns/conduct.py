"""``advance``: the conductor over a real working tree, a real agent and the journal (turn-contract §13).

The published loop hands its decider no last outcome and therefore never invokes anything. This one feeds it the
newest validated outcome of the journal with the revision at which that turn ended; after a re-sense it feeds the
sensor's own outcome with the evidence that the driver proved. It emits no SkillOutcome of its own and never merges.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from slipway_lite import clock
from slipway_lite.canon import encode
from slipway_lite.errors import SlipwayError
from slipway_lite.turns import evidence
from slipway_lite.turns.agent import AGENT_ERRORS, run_sensor
from slipway_lite.turns.conductor import ALLOW_ALL, SensorReading, parse_sensor_output
from slipway_lite.turns.decide import WorkflowDecision, decide_workflow_action, halted_by
from slipway_lite.turns.driver import drive_turn
from slipway_lite.turns.envelope import outcome_from_envelope
from slipway_lite.turns.loop import Advance, AdvanceConfig, Dependencies, Sent, run_conductor_loop
from slipway_lite.turns.observation import PinnedJournal, journal_snapshot, observe_worktree
from slipway_lite.turns.profiles import PROFILES
from slipway_lite.turns.snapshot import snapshot_sha256
from slipway_lite.turns.worktree import observe_git, park
from slipway_lite.turns.writing import append_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slipway_lite.turns.evidence import CheckRun, Evidence
    from slipway_lite.turns.observation import Observation
    from slipway_lite.turns.service import LastOutcome, TurnJournal

CHECK_SECONDS = 1800.0
_STDERR = 2
COMMAND_NAMES = frozenset(PROFILES) - {"workflow-status"}
"""What the conductor may send: the sensor is asked by sensing, and a merge is nobody's command here."""

DISCOVER, RESOLVE = "discover-repository-state", "resolve-repository-state"
INVOKE_DISCOVERY, INVOKE_RESOLUTION = "invoke-discovery", "invoke-resolution"
"""Reason codes of ours for the two steps that the driver takes before planning and outside the decider."""


@dataclass(frozen=True, slots=True)
class AdvanceSetup:
    """What a call of ``advance`` works with.

    ``new_agent`` starts one agent session a turn; ``same_session`` says whether a second message continues it.
    ``sensor`` is a command, the built-in sensor when ``None``; ``check`` is the command that proves ``verification``.
    ``policy`` ``None`` allows every intent. ``go_on`` lifts the limit of one stage a call.
    """

    root: str
    journal: TurnJournal
    new_agent: Callable[[], Callable[[str], str]]
    same_session: bool = True
    sensor: Sequence[str] | None = None
    check: Sequence[str] | None = None
    policy: dict[str, Any] | None = None
    config: AdvanceConfig = field(default_factory=AdvanceConfig)
    attended: bool = True
    go_on: bool = False


def advance(setup: AdvanceSetup) -> Advance:
    """Advance the work in ``setup.root`` by one stage, or until something stops it.

    Raises :class:`SlipwayError` only where there is no tree to work in (``not_a_repository``, ``no_revision``) or git
    or the journal fail; an agent that fails ends in the banner STOPPED with its turn journaled.
    """
    world = _World(setup)
    return run_conductor_loop(
        Dependencies(
            sense=world.sense,
            decide=world.decide,
            send=world.send,
            observe_git=world.observe_git,
            park=world.park,
            log=world.log,
            prepare=world.prepare,
        ),
        command_names=COMMAND_NAMES,
        config=setup.config,
        attended=setup.attended,
        max_invokes=None if setup.go_on else 1,
    )


class _World:
    """The conductor's dependencies over one working tree."""

    def __init__(self, setup: AdvanceSetup) -> None:
        self._setup = setup
        self._ignore = (setup.config.run_log_path,)
        self._observed = self._observe()
        self._decide_from_sensor = False
        self._prepared: set[tuple[str, tuple[Any, ...]]] = set()
        self._snapshot_sha256: str | None = None
        self._proofs: list[Evidence] = []
        self._check_run: CheckRun | None = None

    def _observe(self) -> Observation:
        return observe_worktree(self._setup.root, self._ignore)

    # before planning

    def prepare(self) -> WorkflowDecision | None:
        """Discovery for a missing or draft repository state, the resolver for a contradicted one."""
        self._observed = self._observe()
        self._proofs = []
        self._snapshot_sha256 = None
        if self._observed.documents.degradations:
            return None
        state = self._observed.repository_state()
        if state is None or state.status == "draft":
            return self._before_planning(DISCOVER, (), INVOKE_DISCOVERY)
        if state.status == "contradicted":
            targets = tuple(row.id for row in state.open_contradictions[:1])
            return self._before_planning(RESOLVE, targets, INVOKE_RESOLUTION)
        return None

    def _before_planning(self, skill: str, targets: tuple[str, ...], reason: str) -> WorkflowDecision:
        last = self._setup.journal.last_outcome()
        if last is not None and last.outcome["skill"] == skill and last.source_revision == self._observed.git.head:
            halted = halted_by(last.outcome)
            if halted is not None:
                return halted
        if (skill, targets) in self._prepared:
            return WorkflowDecision(
                "stop",
                "stop",
                targets,
                "stop-failed",
                (),
                f"{skill} ran and left the repository state as it was.",
            )
        self._prepared.add((skill, targets))
        return WorkflowDecision("invoke", skill, targets, reason, (), "The repository state comes before planning.")

    # the loop's callables

    def sense(self) -> SensorReading:
        if self._setup.sensor is not None:
            return run_sensor(self._setup.sensor, self._observed.git.root)
        return parse_sensor_output(encode(self._observed.envelope()))

    def observe_git(self) -> tuple[str, int]:
        git = self._observed.git
        return git.porcelain, git.ahead

    def park(self) -> None:
        park(self._observed.git, "WIP: parked by slipway advance", self._ignore)

    def log(self, code: str, invocation: str, iteration: int) -> None:
        minute = datetime.fromisoformat(clock.timestamp()).astimezone().strftime("%Y-%m-%d %H:%M")
        line = f"{minute} — {code} — {invocation} — {iteration}/{self._setup.config.iterations_cap}"
        append_line(self._observed.git.root, self._setup.config.run_log_path, line)

    def decide(self, envelope: dict[str, Any]) -> WorkflowDecision:
        snapshot = journal_snapshot(self._setup.journal, self._observed)
        self._snapshot_sha256 = snapshot_sha256(snapshot)
        outcome, revision = self._last_outcome(envelope)
        if outcome is not None and revision == self._observed.git.head:
            self._proofs = self._prove(outcome["next"]["intent"])
            proven = [proof.word for proof in self._proofs if proof.word not in outcome["evidence_refs"]]
            outcome = {**outcome, "evidence_refs": [*outcome["evidence_refs"], *proven]}
        detail = envelope.get("detail")
        decision = decide_workflow_action(
            snapshot=snapshot,
            last_outcome=outcome,
            last_outcome_source_revision=revision,
            policy=ALLOW_ALL if self._setup.policy is None else self._setup.policy,
            review_loop_cycles=detail.get("review_loop_cycles") if type(detail) is dict else None,
        )
        self._decide_from_sensor = decision.kind == "sense"
        return decision

    def _last_outcome(self, envelope: dict[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
        """The sensor's outcome after a re-sense, otherwise the journal's; its skill as the decider's table has it."""
        if self._decide_from_sensor:
            return {**outcome_from_envelope(envelope), "skill": "status"}, self._observed.git.head
        last = self._setup.journal.last_outcome()
        if last is None:
            return None, None
        skill = last.outcome["skill"]
        # A turn that ended where no revision could be read proves nothing about this one.
        named = {**last.outcome, "skill": "status" if skill == "workflow-status" else skill}
        return named, last.source_revision or ""

    def _prove(self, intent: str) -> list[Evidence]:
        git = self._observed.git
        profile = PROFILES.get(intent)
        needed = profile.capabilities.required_evidence if profile else ()
        if "verification" in needed:
            self._run_check()
        by_turn = (
            evidence.prove_by_turn(word, self._newest(skills), git) for word, skills in evidence.PROVEN_BY_TURN.items()
        )
        found = (
            evidence.prove_workflow_snapshot(git.head, str(self._snapshot_sha256)),
            evidence.prove_current_candidate(git),
            evidence.prove_verification(self._check_run, git),
            *by_turn,
        )
        return [proof for proof in found if proof is not None]

    def _newest(self, skills: tuple[str, ...]) -> LastOutcome | None:
        turns = (self._setup.journal.last_outcome(skill) for skill in skills)
        return next((turn for turn in turns if turn and turn.source_revision == self._observed.git.head), None)

    def _run_check(self) -> None:
        """Run the configured check once a head; a check that cannot be run proves nothing."""
        git = self._observed.git
        if self._setup.check is None or git.dirty or (self._check_run and self._check_run.head == git.head):
            return
        command = tuple(self._setup.check)
        started = clock.monotonic()
        try:
            done = subprocess.run(
                command,
                cwd=git.root,
                stdin=subprocess.DEVNULL,
                stdout=_STDERR,
                timeout=CHECK_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return
        after = observe_git(git.root, self._ignore)
        if after.head == git.head and not after.dirty:
            self._check_run = evidence.CheckRun(command, git.head, done.returncode, clock.monotonic() - started)

    def send(self, decision: WorkflowDecision, text: str) -> Sent:
        facts = {
            "snapshot_sha256": self._snapshot_sha256,
            "decision": decision.as_document(),
            "evidence": [proof.as_document() for proof in self._proofs],
        }
        target = next(iter(decision.targets or ()), None)
        self._decide_from_sensor = False
        try:
            turn = drive_turn(
                decision.intent,
                self._setup.new_agent(),
                context={"unitId": target} if isinstance(target, str) else None,
                journal=PinnedJournal(
                    self._setup.journal, self._observed.git.root, self._observed.pinned_document(), facts
                ),
                prompt=text,
                same_session=self._setup.same_session,
            )
        except SlipwayError as error:
            if error.code not in AGENT_ERRORS:
                raise
            return Sent(ok=False, detail=error.message)
        return Sent(ok=turn.ok, detail="The turn gave no valid result, not even when asked again.")
