"""Every code of the usage class (machine-protocol §1.6.1): exit 2, one JSON line on standard error, the right next."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.protocol.workspace import discover
from tests.machine_host import Reply, database, invoke

RUN, ACTION = "no-such-run", "no-such-action"
NAMED = ["--run", RUN, "--action", ACTION]
SUBMIT, ANSWER = ["protocol", "submit", *NAMED], ["protocol", "answer", *NAMED]
RESUME, MATERIAL = ["protocol", "resume", RUN], ["protocol", "material", *NAMED]
DIGEST = "sha256:" + "a" * 64
CHOICE = ["--source-choice", "adopt", "--candidate", "c"]
CONFIRM = "--confirm-destructive"
BIG = 262_145

NONE = "none"
INSPECT_RUN = ("inspect-run", ["slipway", "status", RUN])
INSPECT_RUNS = ("inspect-runs", ["slipway", "status"])
LIST_RUNS = ("list-runs", ["slipway", "status"])

CASES: list[tuple[str, list[str], bytes, Any]] = [
    ("invalid_usage", ["run", "--nope"], b"", NONE),
    ("invalid_usage", ["run", "a", "b"], b"", NONE),
    ("invalid_usage", ["run", "a", "--budget", "many"], b"", NONE),
    ("invalid_usage", ["status", "a", "b"], b"", NONE),
    ("invalid_usage", ["stop", "a", "b"], b"", NONE),
    ("invalid_usage", ["protocol", "nope"], b"", NONE),
    ("invalid_usage", ["protocol", "submit", "word", *NAMED], b"", NONE),
    ("invalid_usage", ["protocol", "resume"], b"", NONE),
    ("invalid_usage", [*SUBMIT, "--json"], b"", NONE),
    ("invalid_usage", ["nope"], b"", NONE),
    ("invalid_usage", ["help"], b"", NONE),
    ("invalid_usage", ["completion", "bash"], b"", NONE),
    ("invalid_usage", ["--nope"], b"", NONE),
    ("protocol_operation_required", ["protocol"], b"", NONE),
    ("goal_required", ["run"], b"", NONE),
    ("goal_required", ["run", ""], b"", NONE),
    ("goal_required", ["run", " \t\n"], b"", NONE),
    ("goal_required", ["run", "--goal-stdin"], b"", NONE),
    ("goal_required", ["run", "--goal-stdin=false"], b"", NONE),
    ("goal_mode_conflict", ["run", "goal", "--goal-stdin"], b"goal", NONE),
    ("goal_mode_conflict", ["run", "goal", "--goal-file", ""], b"", NONE),
    ("goal_mode_conflict", ["run", "--goal-stdin", "--goal-file", "{text}"], b"goal", NONE),
    ("goal_file_required", ["run", "--goal-file", ""], b"", NONE),
    ("goal_file_required", ["run", "--goal-file", "  "], b"", NONE),
    ("goal_unavailable", ["run", "--goal-file", "{missing}"], b"", NONE),
    ("goal_unavailable", ["run", "--goal-file", "{directory}"], b"", NONE),
    ("goal_unavailable", ["run", "--goal-file", "{link}"], b"", NONE),
    ("goal_unavailable", ["run", "--goal-file", "{fifo}"], b"", NONE),
    ("goal_unavailable", ["run", "--goal-file", "/dev/null"], b"", NONE),
    ("invalid_goal", ["run", "--goal-stdin"], b"\xff", NONE),
    ("invalid_goal", ["run", "--goal-stdin"], b"a\x1bb", NONE),
    ("invalid_goal", ["run", "a\x7fb"], b"", NONE),
    ("invalid_goal", ["run", "a\udcffb"], b"", NONE),
    ("action_too_large", ["run", "--goal-stdin"], b"a" * BIG, NONE),
    ("action_too_large", ["run", "--goal-stdin"], b'"' * (BIG // 2), NONE),
    ("action_too_large", ["run", "--goal-file", "{big}"], b"", NONE),
    ("invalid_budget", ["run", "goal", "--budget", "0"], b"", NONE),
    ("invalid_budget", ["run", "goal", "--budget", "1001"], b"", NONE),
    ("invalid_budget", ["run", "goal", "--budget=-1"], b"", NONE),
    ("invalid_budget", [*RESUME, "--budget", "0"], b"", INSPECT_RUN),
    ("invalid_budget", [*RESUME, "--budget", "1001"], b"", INSPECT_RUN),
    ("source_file_required", ["run", "goal", "--source-file", ""], b"", NONE),
    ("source_file_required", [*RESUME, "--source-file", ""], b"", INSPECT_RUN),
    ("run_id_required", ["protocol", "submit", "--action", ACTION], b"", NONE),
    ("run_id_required", ["protocol", "answer", "--run", "", "--action", ACTION], b"", NONE),
    ("run_id_required", ["protocol", "skip"], b"", NONE),
    ("run_id_required", ["protocol", "resume", ""], b"", NONE),
    ("run_id_required", ["protocol", "material"], b"", INSPECT_RUNS),
    ("run_id_required", ["status", "--section", "goal"], b"", INSPECT_RUNS),
    ("run_id_required", ["stop"], b"", LIST_RUNS),
    ("invalid_run_id", ["protocol", "submit", "--run", "a b"], b"", INSPECT_RUNS),
    ("invalid_run_id", ["protocol", "answer", "--run", "../x"], b"", INSPECT_RUNS),
    ("invalid_run_id", ["protocol", "skip", "--run", "é"], b"", INSPECT_RUNS),
    ("invalid_run_id", ["protocol", "resume", "a" * 129], b"", INSPECT_RUNS),
    ("invalid_run_id", ["protocol", "material", "--run", "a\n"], b"", INSPECT_RUNS),
    ("invalid_run_id", ["status", "a/b"], b"", INSPECT_RUNS),
    ("invalid_run_id", ["status", ""], b"", INSPECT_RUNS),
    ("invalid_run_id", ["stop", "."], b"", INSPECT_RUNS),
    ("action_id_required", ["protocol", "submit", "--run", RUN], b"", INSPECT_RUN),
    ("action_id_required", ["protocol", "answer", "--run", RUN, "--action", ""], b"", INSPECT_RUN),
    ("action_id_required", ["protocol", "skip", "--run", RUN], b"", INSPECT_RUN),
    ("action_id_required", ["protocol", "material", "--run", RUN], b"", INSPECT_RUN),
    ("outcome_mode_required", SUBMIT, b"", INSPECT_RUN),
    ("outcome_mode_required", [*SUBMIT, "--outcome-stdin=false"], b"", INSPECT_RUN),
    ("outcome_mode_required", [*SUBMIT, "--outcome-stdin", "--outcome-file", "{text}"], b"{}", INSPECT_RUN),
    ("outcome_file_required", [*SUBMIT, "--outcome-file", " "], b"", INSPECT_RUN),
    ("outcome_unavailable", [*SUBMIT, "--outcome-file", "{missing}"], b"", "submit-outcome-file"),
    ("outcome_unavailable", [*SUBMIT, "--outcome-file", "{link}"], b"", "submit-outcome-file"),
    ("outcome_unavailable", [*SUBMIT, "--outcome-file", "{fifo}"], b"", "submit-outcome-file"),
    ("invalid_outcome", [*SUBMIT, "--outcome-file", "{text}"], b"", "submit-outcome-file"),
    ("invalid_outcome", [*SUBMIT, "--outcome-stdin"], b"", "submit-outcome-stdin"),
    ("invalid_outcome", [*SUBMIT, "--outcome-stdin"], b'{"contract_version":2}', "submit-outcome-stdin"),
    ("invalid_outcome", [*SUBMIT, "--outcome-stdin"], b" " * 1_048_577, "submit-outcome-stdin"),
    ("answer_mode_conflict", [*ANSWER, "--text", "", "--text-stdin"], b"", INSPECT_RUN),
    ("answer_mode_conflict", [*ANSWER, "--text", "a", "--text-file", "{text}"], b"", INSPECT_RUN),
    ("answer_file_required", [*ANSWER, "--text-file", ""], b"", INSPECT_RUN),
    ("answer_unavailable", [*ANSWER, "--text-file", "{missing}"], b"", INSPECT_RUN),
    ("answer_unavailable", [*ANSWER, "--text-file", "{link}"], b"", INSPECT_RUN),
    ("invalid_answer", [*ANSWER, "--text-stdin"], b"\xff", INSPECT_RUN),
    ("answer_too_large", [*ANSWER, "--text-stdin"], b"a" * BIG, INSPECT_RUN),
    ("answer_too_large", [*ANSWER, "--text-file", "{big}"], b"", INSPECT_RUN),
    ("answer_too_large", [*ANSWER, "--text-stdin"], b"\n" * (BIG // 2), INSPECT_RUN),
    ("destructive_confirmation_pair_required", [*ANSWER, CONFIRM], b"", INSPECT_RUN),
    ("destructive_confirmation_pair_required", [*ANSWER, "--scope-sha256", DIGEST], b"", INSPECT_RUN),
    ("destructive_confirmation_pair_required", [*ANSWER, CONFIRM, "--scope-sha256= "], b"", INSPECT_RUN),
    ("source_choice_requires_candidate", [*RESUME, "--source-choice", "adopt"], b"", INSPECT_RUN),
    ("source_choice_requires_candidate", [*RESUME, "--candidate", "c"], b"", INSPECT_RUN),
    ("source_choice_requires_candidate", [*RESUME, "--source-choice", "adopt", "--candidate", ""], b"", INSPECT_RUN),
    ("invalid_source_choice", [*RESUME, "--source-choice", "both", "--candidate", "c"], b"", INSPECT_RUN),
    ("invalid_source_choice", [*RESUME, "--source-choice", "", "--candidate", "c"], b"", INSPECT_RUN),
    ("source_mode_conflict", [*RESUME, "--use-pinned-source", "--source-file", "{text}"], b"", INSPECT_RUN),
    ("source_mode_conflict", [*RESUME, *CHOICE, "--use-pinned-source"], b"", INSPECT_RUN),
    ("source_mode_conflict", [*RESUME, *CHOICE, "--source-file", "{text}"], b"", INSPECT_RUN),
    ("material_section_required", MATERIAL, b"", INSPECT_RUN),
    ("material_section_required", ["status", RUN, "--section", ""], b"", INSPECT_RUN),
]  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Paths of every kind, by the name that the cases use."""
    directory = tmp_path_factory.mktemp("inputs")
    (directory / "text").write_text("Not JSON.")
    (directory / "big").write_bytes(b"a" * BIG)
    (directory / "link").symlink_to(directory / "text")
    os.mkfifo(directory / "fifo")
    return {name: str(directory / name) for name in ("text", "big", "link", "fifo", "missing")} | {
        "directory": str(directory)
    }


def usage_error(reply: Reply, code: str) -> Any:
    document = reply.document
    assert (document["code"], reply.status, "details" in document) == (code, 2, False)
    return document["next"]


@pytest.mark.parametrize(("code", "argv", "stdin", "step"), CASES, ids=lambda value: None)
def test_usage_code(
    bare_root: Path, files: dict[str, str], code: str, argv: list[str], stdin: bytes, step: Any
) -> None:
    root = str(bare_root)
    argv = [word.format(**files) if word.startswith("{") else word for word in argv]
    machine = argv[0] in ("run", "status", "stop", "protocol")
    found = usage_error(invoke(*argv, *(["--root", root] if machine else []), stdin=stdin), code)
    if machine:
        assert found["workspace_identity"] == discover(root).id
    if step == NONE:
        assert (found["operation"], found["variants"]) == ("none", [])
    elif isinstance(step, tuple):
        identifier, base = step
        assert found["operation"] == "command"
        assert found["variants"] == [{"id": identifier, "base_argv": [*base, "--root", root], "inputs": []}]
    else:
        assert found["operation"] == "action"
        (variant,) = found["variants"]
        base = ["slipway", "protocol", "submit", *NAMED, "--root", root]
        by_file = {"name": "outcome_file", "type": "path", "flag": "--outcome-file", "required": True}
        assert variant == (
            {"id": step, "base_argv": base, "inputs": [by_file]}
            if step == "submit-outcome-file"
            else {"id": step, "base_argv": [*base, "--outcome-stdin"], "inputs": []}
        )
    assert not database(bare_root).parent.exists()


# -- refusals that lead to a start, or to a refresh


def argv_and_inputs(step: Any) -> tuple[str, list[str], list[str]]:
    (variant,) = step["variants"]
    return variant["id"], variant["base_argv"], [item["name"] for item in variant["inputs"]]


@pytest.mark.parametrize("name", ["missing", "link", "text", "directory"])
def test_invalid_source_leads_to_a_start_with_the_same_options(
    bare_root: Path, files: dict[str, str], name: str
) -> None:
    reply = invoke(
        "run", "goal", "--source-file", files[name], "--budget", "5", "--no-review", "--root", str(bare_root)
    )
    step = usage_error(reply, "invalid_source")
    assert step["operation"] == "start"
    base = ["slipway", "run", "--budget", "5", "--json", "--root", str(bare_root), "--no-review"]
    assert argv_and_inputs(step) == ("start-with-source", base, ["goal_file", "source_file"])


@pytest.mark.parametrize(("budget", "inputs"), [([], ["source_file", "budget"]), (["--budget", "4"], ["source_file"])])
def test_invalid_source_candidate_leads_to_a_refresh(
    bare_root: Path, files: dict[str, str], budget: list[str], inputs: list[str]
) -> None:
    reply = invoke(*RESUME, "--source-file", files["text"], *budget, "--root", str(bare_root))
    step = usage_error(reply, "invalid_source_candidate")
    assert step["operation"] == "resume"
    base = ["slipway", "protocol", "resume", RUN, "--root", str(bare_root), *budget]
    assert argv_and_inputs(step) == ("refresh-source", base, inputs)


def test_help_topics_do_not_exist(bare_root: Path) -> None:
    usage_error(invoke("help", "run"), "invalid_usage")


@pytest.mark.parametrize(
    "argv",
    [["run", "goal"], ["status"], ["stop", "x"], ["protocol", "skip", *NAMED], ["protocol", "resume", "x"],
     ["list"], ["doctor"], ["install"], ["uninstall"]],
)  # fmt: skip
def test_no_worktree_at_the_root(tmp_path: Path, argv: list[str]) -> None:
    for root in (tmp_path, tmp_path / "missing"):
        step = usage_error(invoke(*argv, "--root", str(root)), "git_repository_required")
        assert step["operation"] == "none"


# -- the order of checks (§1.4)


@pytest.mark.parametrize(
    ("first", "argv"),
    [
        ("invalid_usage", ["run", "a", "b", "--goal-stdin", "--budget", "0"]),
        ("goal_required", ["run", "--budget", "0", "--source-file", ""]),
        ("goal_mode_conflict", ["run", "a", "--goal-file", "", "--budget", "0"]),
        ("goal_file_required", ["run", "--goal-file", "", "--budget", "0"]),
        ("goal_unavailable", ["run", "--goal-file", "/dev/null", "--budget", "0"]),
        ("goal_required", ["run", " ", "--budget", "0"]),
        ("invalid_goal", ["run", "\x01", "--budget", "0"]),
        ("invalid_budget", ["run", "a", "--budget", "0", "--source-file", ""]),
        ("source_file_required", ["run", "a", "--source-file", "", "--root", "/nowhere"]),
        ("git_repository_required", ["run", "a", "--source-file", "/dev/null", "--root", "/nowhere"]),
        ("run_id_required", ["protocol", "submit"]),
        ("invalid_run_id", ["protocol", "submit", "--run", "a b"]),
        ("action_id_required", ["protocol", "submit", "--run", "r"]),
        ("outcome_mode_required", ["protocol", "submit", "--run", "r", "--action", "a"]),
        ("outcome_file_required", ["protocol", "submit", "--run", "r", "--action", "a", "--outcome-file="]),
        ("action_id_required", ["protocol", "answer", "--run", "r", "--text", "a", "--text-stdin"]),
        ("answer_mode_conflict", [*ANSWER, "--text", "a", "--text-file=", "--confirm-destructive"]),
        ("answer_file_required", [*ANSWER, "--text-file=", "--confirm-destructive"]),
        ("answer_unavailable", [*ANSWER, "--text-file=/dev/null", "--confirm-destructive"]),
        ("invalid_usage", ["protocol", "resume", "--budget", "0"]),
        ("invalid_budget", [*RESUME, "--budget", "0", "--source-file", ""]),
        ("source_file_required", [*RESUME, "--source-file", "", "--source-choice", "adopt"]),
        ("source_choice_requires_candidate", [*RESUME, "--source-choice", "both", "--use-pinned-source"]),
        ("invalid_source_choice", [*RESUME, "--source-choice", "both", "--candidate", "c", "--use-pinned-source"]),
        ("source_mode_conflict", [*RESUME, "--source-file", "/dev/null", "--use-pinned-source"]),
        ("action_id_required", ["protocol", "material", "--run", "r"]),
        ("invalid_run_id", ["status", "a b", "--section", ""]),
    ],
)
def test_the_first_failure_wins(bare_root: Path, first: str, argv: list[str]) -> None:
    where = [] if "--root" in argv else ["--root", str(bare_root)]
    usage_error(invoke(*argv, *where), first)
    assert not database(bare_root).parent.exists()
