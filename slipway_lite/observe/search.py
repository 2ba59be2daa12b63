"""Full-text search for the owner: goals, summaries, briefs, questions, answers, findings, task titles and objectives.

The index is made in memory for the search and thrown away: a read command writes nothing, no write pays for an index,
and no copy of the texts lies in the file. Terms of three characters and more go through FTS5's trigram tokenizer, which
knows no shorter ones; those are matched with LIKE, and all terms have to match. So one- and two-character Japanese
words are found as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.errors import UsageError

if TYPE_CHECKING:
    from slipway_lite.store.connection import Store

TRIGRAM = 3
DEFAULT_LIMIT = 20
MAX_LIMIT = 500
TERM_LIMIT = 20
BEFORE, AFTER = 30, 90
"""How many characters of a hit are shown before and after its first matching term."""

TEXTS = """
select 'run' as kind, run_id as id, run_id, 'goal' as field, created_at as at, goal as text from runs
union all
select 'run', run_id, run_id, 'summary', updated_at, summary from runs where summary is not null
union all
select 'action', action_id, run_id, 'brief', issued_at, host_brief from run_actions where host_brief is not null
union all
select 'action', action_id, run_id, 'summary', outcome_at, summary from run_actions where summary is not null
union all
select 'action', action_id, run_id, 'question', outcome_at, question from run_actions where question is not null
union all
select 'activity', action_id, run_id, 'summary', at, command || ' ' || summary from run_activities
union all
select 'finding', action_id, run_id, 'finding', at, location || ' ' || summary || ' ' || detail from run_findings
union all
select 'answer', action_id, run_id, 'answer', at, text from run_answers where text <> ''
union all
select 'task', task_id, null, 'title', created_at, title from tasks
union all
select 'task', task_id, null, 'objective', created_at, objective from tasks
"""
"""Every text that is searched: (kind, id, run_id, field, at, text)."""


def search(store: Store, words: str, limit: int = DEFAULT_LIMIT) -> dict[str, Any]:
    """``{"items", "is_complete"}``: the texts that hold every word of ``words``, newest first.

    An item has ``kind``, ``id``, ``run_id`` (where there is one), ``field``, ``at`` and ``snippet``. Words are told
    apart by white space and match anywhere in a text, whatever their case. Raises ``invalid_search`` (no word, more
    than 20, or a NUL in one) and ``invalid_limit`` (1 to 500).
    """
    terms = words.split()
    if not 1 <= len(terms) <= TERM_LIMIT:
        raise UsageError("invalid_search", f"Give 1 to {TERM_LIMIT} words.")
    if "\0" in words:
        raise UsageError("invalid_search", "A word cannot hold the character NUL: SQLite ends every pattern there.")
    if not 1 <= limit <= MAX_LIMIT:
        raise UsageError("invalid_limit", f"limit is 1 to {MAX_LIMIT}.")
    long = [term for term in terms if len(term) >= TRIGRAM]
    short = [term for term in terms if len(term) < TRIGRAM]
    rows = _indexed(store, long, short, limit + 1) if long else _scanned(store, short, limit + 1)
    items = []
    for kind, identifier, run_id, field, at, text in rows[:limit]:
        item = {"kind": kind, "id": identifier, "field": field, "at": at, "snippet": snippet(text, terms)}
        items.append(item if run_id is None else {"kind": kind, "id": identifier, "run_id": run_id, **item})
    return {"items": items, "is_complete": len(rows) <= limit}


def _indexed(store: Store, long: list[str], short: list[str], limit: int) -> list[Any]:
    connection = store.connection
    if not connection.in_transaction:
        # Inside one it cannot be changed any more; SQLite then uses a temporary file that has no name.
        connection.execute("pragma temp_store = memory")
    connection.execute(
        "create virtual table temp.searched using fts5"
        " (text, kind unindexed, id unindexed, run_id unindexed, field unindexed, at unindexed, tokenize = 'trigram')"
    )
    try:
        # What the short terms leave out needs no index.
        connection.execute(
            "insert into temp.searched (kind, id, run_id, field, at, text)"
            f" select kind, id, run_id, field, at, text from ({TEXTS}) where {_likes(short)}",
            _patterns(short),
        )
        return store.rows(
            "select kind, id, run_id, field, at, text from temp.searched where searched match ?"
            " order by at desc, id, field limit ?",
            (" AND ".join(f'"{_quoted(term)}"' for term in long), limit),
        )
    finally:
        connection.execute("drop table temp.searched")


def _scanned(store: Store, short: list[str], limit: int) -> list[Any]:
    return store.rows(
        f"select kind, id, run_id, field, at, text from ({TEXTS}) where {_likes(short)}"
        " order by at desc, id, field limit ?",
        (*_patterns(short), limit),
    )


def _likes(terms: list[str]) -> str:
    return " and ".join(["text like ? escape '\\'"] * len(terms)) or "true"


def _patterns(terms: list[str]) -> tuple[str, ...]:
    escaped = (term.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for term in terms)
    return tuple(f"%{term}%" for term in escaped)


def _quoted(term: str) -> str:
    return term.replace('"', '""')


def snippet(text: str, terms: list[str]) -> str:
    """The part of ``text`` around the first place where one of ``terms`` stands, on one line."""
    line = " ".join(text.split())
    folded = line.casefold()
    places = [place for place in (folded.find(term.casefold()) for term in terms) if place >= 0]
    start = max(0, min(places, default=0) - BEFORE)
    end = start + BEFORE + AFTER
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
