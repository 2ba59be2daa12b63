"""What may leave the file although a person or a host wrote it: commands, paths, locations, names.

Exact texts are stored as given and never shown; these few are shown through :func:`redact`, which takes out what
looks like a secret, and cuts. It errs on the side of taking out too much.
"""

from __future__ import annotations

import re
from functools import lru_cache

LIMIT = 300
"""Characters that are shown at most."""
MARK = "[redacted]"
REMEMBERED = 100
"""Longer texts are not worth remembering what they were redacted to."""

# (what looks like a secret, what stands there instead); the first group, where there is one, stays.
_NAMES = (
    r"(?:[\w.-]*(?:token|secret|passwo?r?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|credential)[\w.-]*)"
)
PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), MARK),
    (re.compile(r"(?i)\b((?:proxy-)?authorization\s*[:=]\s*).*"), rf"\g<1>{MARK}"),
    (re.compile(r"(?i)\b((?:bearer|basic)\s+)[\w.~+/=-]{6,}"), rf"\g<1>{MARK}"),
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@]+@"), rf"\g<1>{MARK}@"),
    (re.compile(rf"(?i)({_NAMES}[\"']?\s*[:=]\s*)(?:\"[^\"]*\"|'[^']*'|[^\s&,;]+)"), rf"\g<1>{MARK}"),
    (re.compile(rf"(?i)(--?{_NAMES}\s+)(?:\"[^\"]*\"|'[^']*'|[^\s]+)"), rf"\g<1>{MARK}"),
    (re.compile(r"(?i)(\s-u\s+[^\s:]+:)\S+"), rf"\g<1>{MARK}"),
    (re.compile(r"\b(?:gh[opsur]_|github_pat_|glpat-|sk-|pk-|rk_live_|sk_live_|xox[abeoprs]-|npm_|pypi-|hf_|ya29\.)"
                r"[\w.-]{8,}"), MARK),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\bAIza[\w-]{20,}"), MARK),
    (re.compile(r"\beyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?"), MARK),
    # A long run of mixed characters is a key until proven otherwise; digests and commits are plain hexadecimal.
    (re.compile(r"(?<![\w+=-])(?=[\w+=-]*[a-z])(?=[\w+=-]*[A-Z])(?=[\w+=-]*\d)[A-Za-z0-9+=_-]{24,}"), MARK),
)  # fmt: skip


def redact(text: str | None) -> str | None:
    """``text`` on one line, without what looks like a secret, at most :data:`LIMIT` characters; ``None`` stays."""
    if text is None:
        return None
    return _remembered(text) if len(text) <= REMEMBERED else _redacted(text)


@lru_cache(4096)
def _remembered(text: str) -> str:
    """Names of gates, types and reviewers come again and again: this makes a rebuild several times faster."""
    return _redacted(text)


def _redacted(text: str) -> str:
    for pattern, instead in PATTERNS:
        text = pattern.sub(instead, text)
    text = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))
    return text if len(text) <= LIMIT else text[: LIMIT - 1] + "…"
