"""What importing a source costs, in multiples of hashing its bytes once.

usage: python benchmarks/source.py

The bar is 12 times for decoding and classifying a source of 4 MiB in 64 sections. Times are the best of
several rounds, so that the ratio says something about the code and little about the machine.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable

from slipway_lite.canon import decode
from slipway_lite.protocol.source import digests
from slipway_lite.protocol.source.classify import BUNDLE_LIMIT, classify
from slipway_lite.protocol.source.envelope import ENVELOPE_LIMIT, decode_envelope

BAR = 12
ROLES = ("outcome", "requirements", "acceptance_examples", "constraints", "non_goals")
TEXTS = {
    "prose": '# Heading\n\nSome *Markdown* that is "quoted" and long enough for prose.\n\n- an item\n',
    "one long line": "x",
    "Japanese": "日本語の本文　を「引用」します。改行もあります。\n",
    "CRLF": "A line that ends the way Windows ends it.\r\n",
}


def source(text: str) -> bytes:
    """An envelope of 64 sections whose payloads fill the bundle limit with ``text``."""
    room = BUNDLE_LIMIT // 64
    sections, comments = [], []
    for number in range(64):
        key, comment_id = f"section-{number}", 1000 + number
        lines = text * (room // len(text.encode()))
        body = f"<!-- slipway-section:v1 key={key} -->\n{lines}"
        sections.append(
            {
                "key": key,
                "role": ROLES[number % 5],
                "title": f"Section {number}",
                "comment_node_id": f"IC_{number}",
                "comment_database_id": comment_id,
                "body_sha256": digests.comment_body(body.replace("\r\n", "\n")),
            }
        )
        comments.append(
            {
                "node_id": f"IC_{number}",
                "database_id": comment_id,
                "url": f"https://github.com/example/ship/issues/7#issuecomment-{comment_id}",
                "updated_at": "2026-07-12T09:00:00Z",
                "author_id": "U_1",
                "is_minimized": False,
                "body": body,
            }
        )
    manifest = json.dumps({"manifest_version": 2, "profile": "change/v2", "sections": sections})
    envelope = {
        "source_version": 2,
        "provider": "github",
        "host": "github.com",
        "repository_id": "R_1",
        "issue_id": "I_1",
        "issue_number": 7,
        "canonical_url": "https://github.com/example/ship/issues/7",
        "updated_at": "2026-07-12T09:00:00Z",
        "fetched_at": "2026-07-12T09:00:00Z",
        "title": "[Change] Ship",
        "body": f"<!-- slipway-level: change/v2 -->\n\n```slipway-manifest\n{manifest}\n```\n",
        "labels": [],
        "comments": comments,
    }
    return json.dumps(envelope, ensure_ascii=False).encode()


def best(work: Callable[[], object], rounds: int = 15) -> float:
    """Seconds of the fastest of ``rounds``."""
    fastest = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - began)
    return fastest


def main() -> None:
    print(f"import of 4 MiB in 64 sections, in hashes of its bytes; the bar is {BAR}")
    print(f"{'text':14} {'MiB':>5} {'hash ms':>9} {'JSON':>6} {'decode':>7} {'classify':>9} {'import':>7}")
    for name, text in TEXTS.items():
        raw = source(text)
        envelope = decode_envelope(raw)
        assert classify(envelope)[0]["valid"]
        once = best(lambda raw=raw: hashlib.sha256(raw).digest())
        parts = (
            best(lambda raw=raw: decode(raw, ENVELOPE_LIMIT)),
            best(lambda raw=raw: decode_envelope(raw)),
            best(lambda envelope=envelope: classify(envelope)),
            best(lambda raw=raw: classify(decode_envelope(raw))),
        )
        ratios = [f"{part / once:.1f}" for part in parts]
        print(
            f"{name:14} {len(raw) / 2**20:5.1f} {once * 1000:9.2f}"
            f" {ratios[0]:>6} {ratios[1]:>7} {ratios[2]:>9} {ratios[3]:>7}"
        )


if __name__ == "__main__":
    main()
