"""Whole-process latency of the machine commands, as multiples of a bare interpreter start measured in the same run.

    python benchmarks/cli_latency.py [--rounds 15] [--only NAME]

Measures the ``slipway`` next to the interpreter that runs this script. Prints one table per repository: the median in
milliseconds, the multiple of ``python -c pass``, and how many git processes one command starts. Nothing here is a
test: figures depend on the machine, ratios much less.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import slipway_lite

PYTHON = sys.executable
SLIPWAY = str(Path(PYTHON).with_name("slipway"))
GIT = shutil.which("git") or "git"
DEPTH = 260


def outcome(action: dict[str, Any], **branches: Any) -> bytes:
    """A legal Outcome for an Action, always of the same size for the same kind."""
    document = {
        "contract_version": 2,
        "action_id": action["action_id"],
        "action_kind": action["kind"],
        "status": "needs_input" if "pause" in branches else "completed",
        "summary": "Measured, and nothing else happened in this step.",
        "observations": [],
        "known_issues": [],
        "suggested_actions": [],
        "pause": None,
        "implementation": None,
        "review": None,
    }
    if action["kind"] == "implement" and "pause" not in branches:
        document["implementation"] = {
            "result": "not_needed",
            "files_changed": [],
            "activities": [],
            "uncertainties": [],
            "attempts": 1,
        }
    return json.dumps(document | branches).encode()


class Bench:
    """One repository with one database, and the samples taken in it."""

    def __init__(self, home: Path, name: str, files: int, dirty: int) -> None:
        self.name = name
        self.root = home / name
        self.samples: dict[str, list[float]] = {}
        self.git_processes: dict[str, int] = {}
        self._count = home / f"{name}.git-count"
        self._wrapper = home / "bin"
        self._make(files, dirty)

    def _make(self, files: int, dirty: int) -> None:
        self._wrapper.mkdir(exist_ok=True)
        wrapper = self._wrapper / "git"
        wrapper.write_text(f'#!/bin/sh\necho x >> "$GIT_COUNT"\nexec {GIT} "$@"\n', "utf-8")
        wrapper.chmod(0o755)
        for number in range(files):
            path = self.root / f"d{number % 40}" / f"file{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{number}\n", "utf-8")
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
            git = [GIT, "-C", str(self.root), "-c", "user.name=b", "-c", "user.email=b@example.invalid", *arguments]
            subprocess.run(git, check=True, capture_output=True)
        for number in range(dirty):
            (self.root / f"dirty{number}.txt").write_text("x" * 2000, "utf-8")

    def timed(self, label: str, argv: list[str], stdin: bytes = b"") -> dict[str, Any]:
        start = time.perf_counter()
        done = subprocess.run(argv, input=stdin, capture_output=True, check=True)
        self.samples.setdefault(label, []).append(time.perf_counter() - start)
        return json.loads(done.stdout) if done.stdout else {}

    def counted(self, label: str, argv: list[str], stdin: bytes = b"") -> dict[str, Any]:
        """The same command once more with a ``git`` that counts; not a sample."""
        self._count.write_text("", "utf-8")
        path = f"{self._wrapper}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "GIT_COUNT": str(self._count)}
        done = subprocess.run(argv, input=stdin, capture_output=True, check=True, env=environment)
        self.git_processes[label] = len(self._count.read_text("utf-8").splitlines())
        return json.loads(done.stdout)

    def run_argv(self) -> list[str]:
        return [SLIPWAY, "run", "--budget", "1000", "--json", "--root", str(self.root), "--", "Measure the latency"]

    def submit_argv(self, state: dict[str, Any]) -> list[str]:
        return [SLIPWAY, *state["next"]["variants"][1]["base_argv"][1:]]

    def status_argv(self, *run: str) -> list[str]:
        return [SLIPWAY, "status", *run, "--root", str(self.root), "--json"]

    def step(self, call: Any, state: dict[str, Any], label: str, **branches: Any) -> dict[str, Any]:
        answer: dict[str, Any] = call(label, self.submit_argv(state), outcome(state["action"], **branches))
        return answer

    def walk(self, call: Any) -> None:
        """run, status one, submit, a question, its answer, skip."""
        state = call("run", self.run_argv())
        call("status one", self.status_argv(state["run_id"]))
        suggestion = [{"kind": "implement", "brief": "Go on."}]
        state = self.step(call, state, "submit", suggested_actions=suggestion)
        pause = {"reason": "decision_required", "question": "Which?", "destructive_request": None}
        state = self.step(call, state, "submit", pause=pause)
        answer = [SLIPWAY, *state["next"]["variants"][0]["base_argv"][1:], "--text", "This one."]
        state = call("answer", answer)
        call("skip", [SLIPWAY, *state["next"]["variants"][-1]["base_argv"][1:]])

    def bare(self) -> None:
        self.timed("python -c pass", [PYTHON, "-c", "pass"])

    def table(self) -> None:
        base = statistics.median(self.samples["python -c pass"])
        print(f"\n{self.name}\n{'command':28}{'median ms':>10}{'x bare':>8}{'git':>5}")
        for label, samples in self.samples.items():
            median = statistics.median(samples)
            git = self.git_processes.get(label, "")
            print(f"{label:28}{median * 1000:10.1f}{median / base:8.2f}{git:>5}")


def commands(bench: Bench, rounds: int) -> None:
    bench.timed("first run of a file", bench.run_argv())
    for _ in range(rounds):
        bench.bare()
        bench.walk(bench.timed)
    bench.walk(bench.counted)
    bench.table()


def five_hundred(bench: Bench, rounds: int) -> None:
    """500 Runs in one repository: half active after two Actions, half ended after four."""
    slipway = slipway_lite.Slipway.open(str(bench.root))
    for number in range(500):
        state = slipway.run("One of five hundred").document()
        suggestions = ["implement"] if number % 2 else ["clarify", "implement", None, None]
        for suggested in suggestions:
            more = {"suggested_actions": [{"kind": suggested, "brief": "Go on."}]} if suggested else {}
            action = state["action"]
            state = slipway.submit(state["run_id"], action["action_id"], outcome(action, **more)).document()
    for _ in range(rounds):
        bench.bare()
        bench.timed("status list, 500 Runs", bench.status_argv())
    bench.counted("status list, 500 Runs", bench.status_argv())
    bench.table()


def deep(bench: Bench, rounds: int) -> None:
    """A Run 260 Actions deep, against one at its first; and how the file grows."""
    slipway = slipway_lite.Slipway.open(str(bench.root))
    sizes: dict[int, int] = {}
    first = slipway.run("Stay shallow", budget=1000).document()
    state = slipway.run("Go deep", budget=1000).document()
    suggestion = [{"kind": "clarify", "brief": "Go on and look at one more thing."}]
    for number in range(1, DEPTH + 1):
        action = state["action"]
        step = outcome(action, suggested_actions=suggestion)
        state = slipway.submit(state["run_id"], action["action_id"], step).document()
        sizes[number] = os.path.getsize(slipway.path)
    for _ in range(rounds):
        bench.bare()
        first = bench.timed("run", bench.run_argv())
        bench.timed("status, 1 Action", bench.status_argv(first["run_id"]))
        bench.timed(f"status, {DEPTH} Actions", bench.status_argv(state["run_id"]))
        bench.step(bench.timed, first, "submit, 1 Action", suggested_actions=suggestion)
        state = bench.step(bench.timed, state, f"submit, {DEPTH} Actions", suggested_actions=suggestion)
    bench.table()
    for what in ("status", "submit"):
        shallow, far = (
            statistics.median(bench.samples[f"{what}, {depth}"]) for depth in ("1 Action", f"{DEPTH} Actions")
        )
        print(f"{what} at {DEPTH} Actions costs {far / shallow:.2f} times what it costs at 1")
    early, late = (sizes[80] - sizes[20]) / 60, (sizes[260] - sizes[200]) / 60
    print(f"file growth per Action: {early:.0f} bytes at 20-80, {late:.0f} at 200-260, ratio {late / early:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    # An installed program has its byte code; a checkout in an environment that writes none has not.
    compileall.compile_dir(str(Path(slipway_lite.__file__).parent), quiet=1)
    os.environ.pop("SLIPWAY_DB", None)
    home = Path(tempfile.mkdtemp(prefix="slipway-bench-"))
    try:
        for name, files, dirty, measure in (
            ("1 file", 1, 0, commands),
            ("2,000 files", 2000, 0, commands),
            ("300 dirty files", 300, 300, commands),
            ("500 Runs", 1, 0, five_hundred),
            ("deep Run", 2000, 0, deep),
        ):
            if arguments.only in name:
                measure(Bench(home, name, files, dirty), arguments.rounds)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
