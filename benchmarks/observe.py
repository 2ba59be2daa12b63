"""What reading costs: pages of observations, rebuild, exports, search, on 10,000 and 1,000,000 audit events.

python benchmarks/observe.py [--events 1000000] [--keep DIRECTORY]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from slipway_lite.observe import analyze_gates, messages
from slipway_lite.observe.observations import page
from slipway_lite.observe.projection import ObservationProjector
from slipway_lite.observe.search import search
from slipway_lite.protocol.replay import RunProjector
from slipway_lite.store.audit import append_audits
from slipway_lite.store.connection import open_store
from slipway_lite.store.projections import rebuild
from slipway_lite.store.reading import read_store

SMALL = 10_000
EVENTS_A_TASK = 50
TASKS_A_COMMIT = 200
PAGE = 500
REPETITIONS = 15
GATES = ("run-system", "lint-gate", "ui-review", "hard-safety:secrets")
EVIDENCE = {"evidence_id": "e1", "evidence_type": "log", "reviewed_by": "reviewer"}


def fill(path: Path, events: int) -> float:
    """Write tasks' audit events, of which three in ten are observations; returns events a second."""
    started = time.perf_counter()
    with open_store(str(path)) as store:
        for first in range(0, events // EVENTS_A_TASK, TASKS_A_COMMIT):
            with store.immediate() as tx:
                for task in range(first, min(first + TASKS_A_COMMIT, events // EVENTS_A_TASK)):
                    seconds = 1_700_000_000 + task * 15
                    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{task % 1000:03d}000Z"
                    task_id = f"task_{task:032x}"
                    append_audits(tx, f"task:{task_id}", at, _story(task), task_id=task_id)
    return events / (time.perf_counter() - started)


def _story(task: int) -> list[tuple[str, str, str, dict[str, Any]]]:
    story = []
    for number in range(EVENTS_A_TASK):
        if number % 5 == 0:
            payload = {
                "gate_id": GATES[(task + number) % 4], "gate_owner": "ops", "policy_revision": "1", "decision": "pass",
                "effective_action": "continue", "transition_changed": False, "risk": "low", "override": "none",
            }  # fmt: skip
            story.append(("run.systemGateEvaluated", "control_plane", "control_plane", payload))
        elif number % 10 == 3:
            name = "generated" if number % 20 == 3 else "acknowledged"
            story.append((f"evidence.{name}", "human", "reviewer", EVIDENCE))
        else:
            story.append(("job.heartbeat_received", "worker", "codex", {"stage": "dev", "number": number}))
    return story


def best(work: Any) -> float:
    """The least of some repetitions, in milliseconds."""
    times = []
    for _ in range(REPETITIONS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times) * 1000


def pages(path: Path) -> dict[str, float]:
    """Milliseconds for a page of 500 at the start, in the middle and near the end."""

    def measure(store: Any) -> dict[str, float]:
        ids = store.rows("select observation_id from gate_observations order by occurred_at, observation_id")
        cursors = {"first": None, "middle": ids[len(ids) // 2][0], "last": ids[-PAGE][0]}
        return {name: best(lambda: page(store, cursor=cursor, limit=PAGE)) for name, cursor in cursors.items()}  # noqa: B023  # called at once

    return read_store(str(path), measure)


EXPORT = """
import sys
from slipway_lite.cli.observations import app
app(["export", "--db", sys.argv[1], "--all", "--format", sys.argv[2], "--output", sys.argv[3]], standalone_mode=False)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def peak_of_export(path: Path, form: str) -> tuple[float, float]:
    """(seconds, megabytes of resident memory at most) of a whole export in a process of its own. Linux only."""
    arguments = [sys.executable, "-c", EXPORT, str(path), form, str(path.with_suffix(f".{form}"))]
    started = time.perf_counter()
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    return time.perf_counter() - started, int(done.stdout) / 1024


def validate(path: Path) -> str:
    """Check the whole bundle and its analysis against our models, and against the published schema where it is."""
    bundle = json.loads(path.with_suffix(".json").read_bytes())
    messages.check(messages.ImprovementObservationBundle, bundle, "invalid")
    messages.check(messages.GateEffectivenessReport, analyze_gates(bundle), "invalid")
    shared = Path(os.environ.get("SLIPWAY_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    schema = shared / "oracles" / "workflow-cookbook" / "improvement-observation-bundle.schema.json"
    if not schema.exists():
        return "valid by our models"
    import jsonschema

    jsonschema.Draft202012Validator(json.loads(schema.read_text("utf-8"))).validate(bundle)
    return "valid by our models and by the published schema"


def replay(path: Path, events: int) -> float:
    """Audit events a second of a rebuild of the observations."""
    with open_store(str(path)) as store:
        started = time.perf_counter()
        rebuild(store, [ObservationProjector()])
        return events / (time.perf_counter() - started)


def demo(directory: Path) -> None:
    """Journal events a second of a rebuild of Runs, and a search, on the rich demo."""
    from slipway_lite.observe.rich_demo import write_rich_demo

    path = directory / "rich.db"
    started = time.perf_counter()
    write_rich_demo(str(path))
    print(f"rich demo written in {time.perf_counter() - started:.1f} s, {path.stat().st_size >> 20} MB")
    with open_store(str(path)) as store:
        ((count,),) = store.rows("select count(*) from journal_events where stream glob 'run:*'")
        started = time.perf_counter()
        rebuild(store, [RunProjector()])
        print(f"rebuild of Runs: {count / (time.perf_counter() - started):,.0f} journal events/s")
        for words in ("checkout provider", "再試行", "税"):
            print(f"search {words!r}: {best(lambda: search(store, words)):.1f} ms")  # noqa: B023  # called at once


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keep", default="", help="where to keep the files (default: nowhere)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slipway-observe-") as temporary:
        directory = Path(options.keep or temporary)
        directory.mkdir(parents=True, exist_ok=True)
        demo(directory)
        found = {}
        for events in (SMALL, options.events):
            path = directory / f"{events}.db"
            print(f"{events:,} audit events: written at {fill(path, events):,.0f}/s, {path.stat().st_size >> 20} MB")
            found[events] = pages(path)
            print("   page of 500, ms:", {name: round(value, 2) for name, value in found[events].items()})
            print(f"   rebuild: {replay(path, events):,.0f} audit events/s")
            for form in ("json", "ndjson", "csv", "parquet"):
                seconds, megabytes = peak_of_export(path, form)
                print(f"   export --all {form}: {seconds:.1f} s, at most {megabytes:.0f} MB resident")
            print(f"   bundle: {validate(path)}")
        small, large = found[SMALL], found[options.events]
        print("a page costs at most", f"{max(large[name] / small[name] for name in small):.2f} times as much")
        print(f"this process: at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")


if __name__ == "__main__":
    main()
