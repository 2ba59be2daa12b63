"""The source envelope: what a trusted host observed on GitHub, decoded strictly (§8.1, §8.2).

A violation here is a *hard error*: the whole envelope is refused and nothing of it is kept. Whether the Issue
in it is a valid Change is a later question (:mod:`~slipway_lite.protocol.source.classify`).
"""

from __future__ import annotations

import re

from slipway_lite import canon
from slipway_lite.errors import InvalidDocument, UsageError
from slipway_lite.protocol.source.shape import (
    COMMENT_ID,
    FLAG,
    NODE_ID,
    PLAIN,
    POSITIVE,
    conform,
    exactly,
    is_plain_text,
    require_unique,
)
from slipway_lite.text import is_md, normalize_newlines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.protocol.source.shape import Rule

ENVELOPE_LIMIT = 16_777_216  # bytes
LABEL_LIMIT = 100
COMMENT_LIMIT = 64

_ISSUES = "https://github.com/"
_DIGITS = "0123456789"
_OWNER = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
_REPOSITORY = _OWNER + "_."
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,][0-9]+)?"
    r"(?:Z|[+-]([0-9]{2}):([0-9]{2}))"
)
_MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def issue_number_of(url: str) -> str:
    """The decimal issue number of an exact GitHub issue URL (§8.1), or ``""`` for any other text."""
    owner, repository, issues, number = (*url.removeprefix(_ISSUES).split("/", 3), "", "", "")[:4]
    exact = (
        url.startswith(_ISSUES)
        and owner != ""
        and not owner.strip(_OWNER)
        and repository not in ("", ".", "..")
        and not repository.strip(_REPOSITORY)
        and issues == "issues"
        and not number.strip(_DIGITS)
        and not number.startswith("0")
    )
    return number if exact else ""


def is_timestamp(text: str) -> bool:
    """RFC 3339 with upper-case ``T`` and ``Z``, as lenient as the published parser (§8.1).

    A one-digit hour, a comma before the fraction, and the offsets ``+24:00`` and ``+00:60`` pass; second 60
    does not.
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return False
    year, month, day, hour, minute, second, *offset = (int(part or 0) for part in match.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (
        1 <= month <= 12
        and 1 <= day <= _MONTH_DAYS[month - 1]
        and (month != 2 or day < 29 or leap)
        and hour < 24
        and minute < 60
        and second < 60
        and offset[0] <= 24
        and offset[1] <= 60
    )


_ISSUE_URL: Rule = (str, lambda url: issue_number_of(url) != "", "be an exact GitHub issue URL")
_TIME: Rule = (str, is_timestamp, "be an RFC 3339 time")
_MARKDOWN: Rule = (str, is_md, "have no control character other than TAB, LF and CR")

ENVELOPE: dict[str, Rule] = {
    "source_version": exactly(2),
    "provider": exactly("github"),
    "host": exactly("github.com"),
    "repository_id": NODE_ID,
    "issue_id": NODE_ID,
    "issue_number": POSITIVE,
    "canonical_url": _ISSUE_URL,
    "updated_at": _TIME,
    "fetched_at": _TIME,
    "title": PLAIN,
    "body": _MARKDOWN,
    "labels": (list, lambda labels: len(labels) <= LABEL_LIMIT, f"have at most {LABEL_LIMIT} items"),
    "parent": (dict, lambda parent: True, "be an object"),
    "comments": (
        list,
        lambda comments: len(comments) <= COMMENT_LIMIT,
        f"have at most {COMMENT_LIMIT} items",
    ),
}

PARENT: dict[str, Rule] = {
    "repository_id": NODE_ID,
    "issue_id": NODE_ID,
    "canonical_url": _ISSUE_URL,
}

COMMENT: dict[str, Rule] = {
    "node_id": COMMENT_ID,
    "database_id": POSITIVE,
    "url": (str, lambda url: True, "be a string"),  # compared with the issue and the database id below
    "updated_at": _TIME,
    "author_id": COMMENT_ID,
    "is_minimized": FLAG,
    "body": _MARKDOWN,
}


def decode_envelope(raw: bytes, code: str = "invalid_source") -> dict[str, Any]:
    """The source envelope in ``raw``, with every key of :data:`ENVELOPE`; ``parent`` may be ``None``.

    Line endings of bodies are normalised here, once: nothing later depends on what they were (§8.3).

    Raises :class:`UsageError` with ``code`` for anything that machine-protocol §8.2 calls a hard error: more
    than 16 MiB, JSON that is not strict, an unknown key, a wrong type, or a rule of §8.1. ``run`` reports
    ``invalid_source``; ``resume`` passes ``invalid_source_candidate``.
    """
    try:
        return _envelope(canon.decode(raw, ENVELOPE_LIMIT))
    except InvalidDocument as error:
        raise UsageError(code, f"The source envelope is refused at {error.path}. {error.message}") from None


def _envelope(value: object) -> dict[str, Any]:
    envelope = conform(value, ENVELOPE, "$")
    url = envelope["canonical_url"]
    if issue_number_of(url) != str(envelope["issue_number"]):
        raise InvalidDocument("It must end with the issue number.", "$.canonical_url")
    envelope["body"] = normalize_newlines(envelope["body"])
    for index, label in enumerate(envelope["labels"]):
        if type(label) is not str or not is_plain_text(label):
            raise InvalidDocument("It must be text that is not blank.", f"$.labels[{index}]")
    if envelope["parent"] is not None:
        envelope["parent"] = conform(envelope["parent"], PARENT, "$.parent")
    envelope["comments"] = [
        _comment(comment, url, f"$.comments[{index}]") for index, comment in enumerate(envelope["comments"])
    ]
    for name in ("node_id", "database_id"):
        require_unique((comment[name] for comment in envelope["comments"]), "$.comments", name)
    return envelope


def _comment(value: object, issue_url: str, path: str) -> dict[str, Any]:
    comment = conform(value, COMMENT, path)
    if comment["url"] != f"{issue_url}#issuecomment-{comment['database_id']}":
        raise InvalidDocument("It must be the URL of this comment on this issue.", f"{path}.url")
    comment["body"] = normalize_newlines(comment["body"])
    return comment
