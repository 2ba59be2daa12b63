"""Campaigns: so many executions of each target, guided by coverage where atheris is there.

``python -m tests.adversarial.fuzz.campaign --total 1000000`` runs every target and prints a table; it leaves with 1
when something was found, and the input lies in the file that it names. Every target runs in a process of its own,
because libFuzzer ends the process that it runs in.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.adversarial.fuzz import corpus
from tests.adversarial.fuzz.mutation import Mutator

_ROOT = Path(__file__).parents[3]
TIMEOUT_SECONDS = 10
RSS_LIMIT_MB = 2048
_EXECUTED = re.compile(r"stat::number_of_executed_units: *(\d+)")
_POOL = 2000
"""How many inputs the campaign without coverage keeps to mutate further."""


class Report(NamedTuple):
    """How one target did: executions, seconds, and the input of a finding with what was told about it."""

    name: str
    executions: int
    seconds: float
    finding: bytes | None
    told: str

    def line(self) -> str:
        rate = self.executions / self.seconds if self.seconds else 0
        verdict = "ok" if self.finding is None and not self.told else "FINDING"
        return f"{self.name:36} {self.executions:>9,} executions {rate:>9,.0f}/s  {verdict}"


def is_guided() -> bool:
    """Whether atheris can be imported here."""
    return importlib.util.find_spec("atheris") is not None


def load_targets() -> dict[str, Any]:
    """The table; with atheris, our own modules are instrumented as they are imported."""
    if not is_guided():
        return dict(importlib.import_module("tests.adversarial.fuzz.table").TARGETS)
    import atheris

    with atheris.instrument_imports(include=["slipway_lite"]):
        return dict(importlib.import_module("tests.adversarial.fuzz.table").TARGETS)


def shares(weights: dict[str, float], total: int) -> dict[str, int]:
    """How many of ``total`` executions each target gets, by weight; all of them together never less."""
    whole = sum(weights.values())
    return {name: math.ceil(total * weight / whole) for name, weight in weights.items()}


def run(target: Any, executions: int, seed: int, kept: Path | None = None, seconds: int = 0) -> Report:
    """Run ``target`` in a child; new inputs that reach new code are added to the directory ``kept``."""
    with tempfile.TemporaryDirectory(prefix="slipway-fuzz-") as scratch:
        log = Path(scratch) / "log"
        sys.stdout.flush()
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            _in_child(target, executions, seed, kept or Path(scratch) / "corpus", Path(scratch), log, seconds)
        _, status = os.waitpid(child, 0)
        seconds_taken = time.monotonic() - started
        text = log.read_text("utf-8", "replace")
        found = _EXECUTED.search(text)
        artifacts = sorted(Path(scratch).glob("finding-*"))
        finding = artifacts[0].read_bytes() if artifacts else None
        told = "" if status == 0 else text[-4000:]
        return Report(target.name, int(found[1]) if found else 0, seconds_taken, finding, told)


def _in_child(target: Any, executions: int, seed: int, kept: Path, scratch: Path, log: Path, seconds: int) -> None:
    """Never returns."""
    status = 1
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        samples = [*target.starts(), *corpus.load(target.name)]
        kept.mkdir(exist_ok=True)
        for number, raw in enumerate(samples):
            (kept / f"sample-{number:04}").write_bytes(raw)
        mutator = Mutator(samples, target.longest)
        if is_guided():
            _guided(target, executions, seed, kept, scratch, mutator, seconds)
        else:
            status = _unguided(target, executions, seed, samples, scratch, mutator)
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode("utf-8", "backslashreplace"))
    finally:
        os._exit(status)


def _guided(target: Any, executions: int, seed: int, kept: Path, scratch: Path, mutator: Mutator, seconds: int) -> None:
    import atheris

    from tests.adversarial.fuzz.target import execute

    def mutate(raw: bytes, longest: int, number: int) -> bytes:
        def plain(given: bytes) -> bytes:
            return bytes(atheris.Mutate(given, max(longest, len(given), 1)))

        return mutator.mutated(raw, Random(number), plain)[:longest]

    options = {
        "runs": executions, "seed": seed, "max_len": target.longest, "timeout": TIMEOUT_SECONDS,
        "rss_limit_mb": RSS_LIMIT_MB, "print_final_stats": 1, "max_total_time": seconds, "verbosity": 0,
        "artifact_prefix": f"{scratch}/finding-",
    }  # fmt: skip
    arguments = ["fuzz", *(f"-{name}={value}" for name, value in options.items()), str(kept)]
    atheris.Setup(arguments, lambda raw: execute(target, raw) and None, custom_mutator=mutate)
    atheris.Fuzz()


def _unguided(
    target: Any, executions: int, seed: int, samples: Sequence[bytes], scratch: Path, mutator: Mutator
) -> int:
    """Mutations of mutations, at random: what runs where there is no atheris."""
    from tests.adversarial.fuzz.target import Finding, execute

    random = Random(seed)
    pool = list(samples) or [b""]
    status, done = 0, 0
    while done < executions and not status:
        raw = samples[done] if done < len(samples) else mutator.mutated(random.choice(pool), random)
        done += 1
        try:
            execute(target, raw)
        except Finding as finding:
            (scratch / "finding-0").write_bytes(raw)
            os.write(2, f"{finding}\n".encode("utf-8", "backslashreplace"))
            status = 1
        if len(pool) < _POOL:
            pool.append(raw)
        elif random.random() < 0.1:
            pool[random.randrange(len(pool))] = raw
    os.write(2, f"stat::number_of_executed_units: {done}\n".encode())
    return status


def campaign(names: Iterable[str], total: int, seed: int, keep: Path | None = None, seconds: int = 0) -> list[Report]:
    """Every target of ``names`` with its share of ``total`` executions over the whole table."""
    targets = load_targets()
    share = shares({name: target.weight for name, target in targets.items()}, total)
    reports = []
    for name in names or targets:
        kept = keep / name if keep is not None else None
        report = run(targets[name], share[name], seed, kept, seconds)
        print(report.line(), flush=True)
        if report.told:
            print(report.told, flush=True)
        reports.append(report)
    return reports


def in_process_of_its_own(names: Sequence[str], total: int, scratch: Path) -> list[Report]:
    """As :func:`campaign`, in a fresh interpreter: only there are our modules imported under instrumentation."""
    answer = scratch / "reports"
    command = [sys.executable, "-m", __name__, *names, "--total", str(total), "--reports", str(answer)]
    subprocess.run(command, check=False, cwd=_ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return [Report(*row[:3], bytes.fromhex(row[3]) if row[3] is not None else None, row[4]) for row in _rows(answer)]


def _rows(path: Path) -> list[list[Any]]:
    rows: list[list[Any]] = json.loads(path.read_text("utf-8"))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="targets (default: all)")
    parser.add_argument("--total", type=int, default=1_000_000, help="executions over the whole table")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=0, help="at most so many seconds a target")
    parser.add_argument("--keep", type=Path, help="directory for inputs that reach new code")
    parser.add_argument("--reports", type=Path, help="file for the reports, as JSON")
    given = parser.parse_args()
    reports = campaign(given.names, given.total, given.seed, given.keep, given.seconds)
    if given.reports is not None:
        rows = [
            (*report[:3], None if report.finding is None else report.finding.hex(), report.told) for report in reports
        ]
        given.reports.write_text(json.dumps(rows), "utf-8")
    for number, report in enumerate(reports):
        if report.finding is not None:
            path = Path(tempfile.gettempdir()) / f"slipway-finding-{report.name}-{given.seed}-{number}"
            path.write_bytes(report.finding)
            print(f"{report.name}: the input is {path}")
    print(f"{sum(report.executions for report in reports):,} executions")
    return int(any(report.told or report.finding is not None for report in reports))


if __name__ == "__main__":
    sys.exit(main())
