from __future__ import annotations

from slipway_lite.canon import sha256
from slipway_lite.hosts.ownership import SENTINEL, UNSAFE, FileState, HostState, encode_manifest
from slipway_lite.hosts.plan import Change, plan_install, plan_uninstall
from slipway_lite.hosts.registry import HOSTS, generated_files
from slipway_lite.hosts.tree import File

BY_ID = {host.id: host for host in HOSTS}
OTHER = sha256(b"somebody else's")
PRISTINE = sha256(SENTINEL)


def host_state(host_id="claude", *, surface="", sentinel=PRISTINE, manifest=True, **states) -> HostState:
    """An installed host, except for the files named in ``states``: role or capability to (claim, actual).

    ``...`` stands for the digest that this version generates.
    """
    host = BY_ID[host_id]
    files = []
    for file in generated_files(host, surface):
        raw = file.path.encode()
        role = "entry" if file.is_entry else file.path.rpartition("/")[2].partition(".")[0].replace("-", "_")
        name = f"{file.capability.removeprefix('slipway-')}_{role}"
        claim, actual = states.pop(name, (..., ...) if manifest else (None, None))
        expected = sha256(raw)
        files.append(
            FileState(
                file,
                raw,
                expected,
                expected if claim is ... else claim,
                expected if actual is ... else actual,
            )
        )
    assert not states
    claims = {item.file.path: item.claim for item in files if item.claim is not None}
    raw = encode_manifest(host, surface, claims)
    return HostState(host, True, surface, File(raw, sha256(raw)) if manifest else None, sentinel, tuple(files))


def written(plan) -> set[str]:
    return {change.path for change in plan.changes if change.after is not None}


def removed(plan) -> set[str]:
    return {change.path for change in plan.changes if change.after is None}


def claimed(plan, host_id="claude") -> str:
    [manifest] = [change.after for change in plan.changes if change.path == BY_ID[host_id].manifest]
    return manifest.decode()


RUN = ".claude/skills/slipway-run/SKILL.md"
CLARIFY = ".claude/skills/slipway-clarify/SKILL.md"
REFERENCE = ".claude/skills/slipway-clarify/references/decision-interview.md"


def test_a_first_install_writes_everything_and_the_manifest_last() -> None:
    plan = plan_install(host_state(manifest=False, sentinel=None), refresh=False)
    assert len(plan.changes) == 10 and all(change.before is None for change in plan.changes)
    assert plan.changes[-1].path == BY_ID["claude"].manifest
    assert [change.mode for change in plan.changes] == [0o644] * 8 + [0o600] * 2
    assert plan.preserved == plan.warnings == ()


def test_install_on_an_installed_host_changes_nothing_and_warns() -> None:
    plan = plan_install(host_state(run_entry=(..., None)), refresh=False)
    assert plan.changes == plan.preserved == () and len(plan.warnings) == 1


def test_a_sentinel_without_manifest_blocks_install_with_a_warning() -> None:
    plan = plan_install(host_state(manifest=False), refresh=False)
    assert plan.changes == plan.preserved == () and len(plan.warnings) == 1
    assert plan_install(host_state(manifest=False), refresh=True) == plan


def test_an_existing_unclaimed_file_is_preserved_and_never_adopted() -> None:
    for actual in (OTHER, UNSAFE, ...):
        plan = plan_install(host_state(manifest=False, sentinel=None, run_entry=(None, actual)), refresh=False)
        assert RUN not in written(plan) | removed(plan)
        assert plan.preserved == (RUN,) and RUN not in claimed(plan) and plan.warnings == ()


def test_refresh_vouches_for_pristine_files_and_brings_missing_ones_back() -> None:
    plan = plan_install(host_state(run_entry=(..., None)), refresh=True)
    assert len(written(plan)) == 10 and removed(plan) == set()
    changed = [change for change in plan.changes if change.before != change.after_sha256]
    assert changed == [Change(RUN, None, RUN.encode())]


def test_refresh_preserves_an_edited_file_and_withdraws_its_claim() -> None:
    plan = plan_install(host_state(run_entry=(..., OTHER)), refresh=True)
    assert plan.preserved == (RUN,) and plan.warnings == () and RUN not in claimed(plan)


def test_a_foreign_claim_is_withdrawn_with_a_warning() -> None:
    for actual in (OTHER, ...):
        plan = plan_install(host_state(run_entry=(OTHER, actual)), refresh=True)
        assert plan.preserved == (RUN,) and len(plan.warnings) == 1 and RUN not in claimed(plan)
        assert RUN not in written(plan) | removed(plan)


def test_an_edited_sentinel_is_preserved() -> None:
    plan = plan_install(host_state(sentinel=OTHER), refresh=True)
    assert plan.preserved == (BY_ID["claude"].sentinel,)
    assert plan_uninstall(host_state(sentinel=OTHER)).preserved == (BY_ID["claude"].sentinel,)


def test_an_entry_whose_support_file_is_not_ours_is_removed() -> None:
    plan = plan_install(host_state(clarify_decision_interview=(..., OTHER)), refresh=True)
    assert removed(plan) == {CLARIFY} and plan.preserved == (REFERENCE,) and len(plan.warnings) == 1
    assert CLARIFY not in claimed(plan)


def test_an_entry_whose_support_file_is_not_ours_is_not_created() -> None:
    host = BY_ID["kilo"]
    body = host.body.format(capability="slipway-run")
    plan = plan_install(host_state("kilo", manifest=False, sentinel=None, run_slipway_run=(None, OTHER)), refresh=False)
    assert plan.preserved == (body,) and len(plan.warnings) == 1
    assert ".kilo/commands/slipway-run.md" not in written(plan) | removed(plan)
    assert ".kilo/commands/slipway-clarify.md" in written(plan)


def test_an_edited_entry_stays_when_its_support_file_is_not_ours() -> None:
    state = host_state(clarify_decision_interview=(..., OTHER), clarify_entry=(..., OTHER))
    plan = plan_install(state, refresh=True)
    assert removed(plan) == set() and set(plan.preserved) == {REFERENCE, CLARIFY}
    assert CLARIFY not in claimed(plan)


def test_uninstall_removes_what_is_pristine_and_the_manifest_first() -> None:
    plan = plan_uninstall(host_state())
    assert len(removed(plan)) == 10 and written(plan) == set() and plan.preserved == ()
    assert plan.changes[0].path == BY_ID["claude"].manifest


def test_uninstall_removes_entries_before_the_files_that_they_need() -> None:
    order = [change.path for change in plan_uninstall(host_state("kilo")).changes]
    for file in generated_files(BY_ID["kilo"], ""):
        assert all(order.index(file.path) < order.index(need) for need in file.needs)


def test_uninstall_preserves_edited_and_foreign_files() -> None:
    for claim, actual, warnings in ((..., OTHER, 0), (OTHER, OTHER, 1), (OTHER, ..., 1), (..., UNSAFE, 0)):
        plan = plan_uninstall(host_state(run_entry=(claim, actual)))
        assert plan.preserved == (RUN,) and len(plan.warnings) == warnings
        assert RUN not in removed(plan) and BY_ID["claude"].manifest in removed(plan)


def test_uninstall_says_nothing_about_files_that_are_missing_or_unclaimed() -> None:
    plan = plan_uninstall(host_state(run_entry=(None, OTHER), review_entry=(..., None)))
    assert plan.preserved == plan.warnings == () and len(removed(plan)) == 8


def test_a_codex_policy_stays_while_its_skill_survives() -> None:
    policy = ".codex/skills/slipway-run/agents/openai.yaml"
    for claim in (..., None, OTHER):
        plan = plan_uninstall(host_state("codex", run_entry=(claim, OTHER)))
        assert policy in plan.preserved and policy not in removed(plan)
        assert ".codex/skills/slipway-review/agents/openai.yaml" in removed(plan)
    assert policy in removed(plan_uninstall(host_state("codex", run_entry=(..., None))))


def test_uninstall_without_manifest_touches_nothing() -> None:
    assert plan_uninstall(host_state(manifest=False, sentinel=None)).changes == ()
    plan = plan_uninstall(host_state(manifest=False))
    assert plan.changes == () and plan.preserved == (BY_ID["claude"].sentinel,) and len(plan.warnings) == 1
