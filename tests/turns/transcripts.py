"""A long final reply as a coding agent really writes one, to be spoiled by tests.

Two hundred lines of report: headings, lists, diffs, tool output in fences, a table, a quoted JSON file.
"""

from __future__ import annotations

import json
from typing import Any

from tests.turns.documents import outcome

RESULT: dict[str, Any] = outcome(
    "execute-phase",
    "review-change",
    summary="P2 is done: the writer quotes fields and round-trips.",
    next={"intent": "review-change", "targets": ["12-csv"]},
    blockers=[],
    questions=[],
    evidence_refs=["workflow-snapshot", "current-candidate"],
)
EARLIER: dict[str, Any] = {
    **RESULT,
    "status": "continue",
    "summary": "P2 is half done.",
    "next": {"intent": "none", "targets": []},
}

_DIFF = """```diff
--- a/src/csv/writer.py
+++ b/src/csv/writer.py
@@ -{n},4 +{n},9 @@ def write_row(out, row):
-    out.write(",".join(row))
+    for index, field in enumerate(row):
+        if index:
+            out.write(",")
+        out.write(quoted(field) if needs_quotes(field) else field)
+    out.write("\\r\\n")
```"""

_RUN = """```console
$ python -m pytest tests/test_writer_{n}.py -q
......................                                                   [100%]
{n} passed in 0.{n}s
```"""


def report(language: str = "en") -> list[str]:
    """At least 200 lines of report without a machine result."""
    words = {
        "en": ("# Phase P2: writer", "I changed how row {n} is written, because `None` came out as text.", "Checked:"),
        "ja": (
            "# フェーズP2：書き込み",
            "{n}行目の書き込みを変更しました。`None`が文字列になっていたためです。",
            "確認：",
        ),
    }[language]
    lines = [words[0], ""]
    for number in range(1, 12):
        lines += [f"## {number}. {words[1].format(n=number)}", ""]
        lines += _DIFF.format(n=number).split("\n")
        lines += ["", f"- {words[2]} `tests/test_writer_{number}.py`", f'  1. {{"row": {number}}} stays one line', ""]
        lines += [*_RUN.format(n=number).split("\n"), ""]
    lines += ["| case | before | after |", "|---|---|---|"]
    lines += [f'| {number} | `a,b` | `"a,b"` |' for number in range(8)]
    lines += ["", "The fixture `expected.json` now reads:", "", "```", '{"skill": "not a result"}', "```", ""]
    assert len(lines) > 190
    return lines


def block(document: dict[str, Any]) -> list[str]:
    return ["```json", *json.dumps(document, indent=2, ensure_ascii=False).split("\n"), "```"]


def reply(*parts: list[str], language: str = "en", newline: str = "\n") -> str:
    """The report followed by ``parts``, each a list of lines."""
    lines = [*report(language), *(line for part in parts for line in [*part, ""])]
    assert len(lines) >= 200
    return newline.join(lines)
