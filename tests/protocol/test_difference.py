"""Whether two observations differ: the truth table of machine-protocol §7.6."""

from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.protocol.difference import changed_from
from tests.protocol.model import digest, git

REGULAR = {
    "path": "a",
    "category": "ordinary",
    "state": ".M",
    "observation": "regular",
    "size": 3,
    "modified_unix_nano": 5,
    "content_sha256": digest("one"),
    "content_fingerprint_kind": "full_sha256",
}
UNOBSERVED = {name: REGULAR[name] for name in ("path", "category", "state", "size", "modified_unix_nano")} | {
    "observation": "content_unobserved"
}
BARE = {name: REGULAR[name] for name in ("path", "category", "state")}


def seen(path: dict[str, Any], observation: str) -> dict[str, Any]:
    return path | {"observation": observation}


def partly(*paths: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """An incomplete observation; the salt makes its snapshot unlike any other."""
    document = git(complete=False, paths=paths) | fields
    return document | {"snapshot_hash": digest(repr((paths, sorted(fields.items()))))}


def test_the_same_snapshot_is_no_change_whatever_else() -> None:
    one = partly(REGULAR)
    assert not changed_from(one, one | {"head": "1" * 40})


def test_two_complete_observations_differ_when_their_snapshots_do() -> None:
    assert changed_from(git("one"), git("two"))
    assert not changed_from(git("one"), git("one"))


@pytest.mark.parametrize("complete", [(True, False), (False, True), (False, False)])
@pytest.mark.parametrize("name", ["head", "index_fingerprint", "status_fingerprint"])
def test_without_content_what_git_said_still_counts(name: str, complete: tuple[bool, bool]) -> None:
    current = partly(content_observation_complete=complete[0], snapshot_hash=digest("1"))
    initial = partly(content_observation_complete=complete[1], snapshot_hash=digest("2"))
    assert not changed_from(current, initial)
    assert changed_from(current | {name: digest("other")}, initial)


@pytest.mark.parametrize(
    ("current", "initial", "expected"),
    [
        # category and state
        (BARE | {"observation": "missing"}, BARE | {"observation": "missing"}, False),
        (REGULAR | {"category": "untracked"}, REGULAR, True),
        (REGULAR | {"state": "M."}, REGULAR, True),
        # both digests: they decide alone
        (REGULAR | {"modified_unix_nano": 6}, REGULAR, False),
        (REGULAR | {"content_sha256": digest("two")}, REGULAR, True),
        (REGULAR | {"content_fingerprint_kind": "oversize_samples_v1"}, REGULAR, True),
        (REGULAR | {"size": 4}, REGULAR, False),
        (REGULAR | {"observation": "symlink"}, REGULAR, False),
        # one digest or none: sizes, then the observations that say something
        (UNOBSERVED, REGULAR, False),
        (REGULAR, UNOBSERVED, False),
        (UNOBSERVED | {"size": 4}, REGULAR, True),
        (UNOBSERVED | {"modified_unix_nano": 6}, UNOBSERVED, False),
        (seen(BARE, "missing"), REGULAR, True),
        (REGULAR, seen(BARE, "missing"), True),
        (seen(BARE, "non_regular"), seen(BARE, "missing"), True),
        (seen(BARE, "non_regular"), seen(BARE, "symlink"), True),
        (seen(BARE, "oversize_sampled"), seen(BARE, "regular"), True),
        (seen(BARE, "unreadable"), REGULAR, False),
        (seen(BARE, "unreadable"), seen(BARE, "missing"), False),
        (seen(BARE, "missing"), seen(BARE, "content_unobserved"), False),
        (seen(BARE, "unreadable") | {"size": 9}, REGULAR, True),
        (seen(BARE, "unreadable"), UNOBSERVED, False),
    ],
)
def test_a_path_that_both_retained_is_compared_by_what_both_saw(
    current: dict[str, Any], initial: dict[str, Any], expected: bool
) -> None:
    before, now = partly(initial), partly(current, content_bytes_hashed=1)
    assert before["snapshot_hash"] != now["snapshot_hash"]
    now["status_fingerprint"] = before["status_fingerprint"]
    assert changed_from(now, before) is expected


def test_a_path_that_only_one_retained_is_no_difference_by_itself() -> None:
    other = REGULAR | {"path": "b"}
    assert not changed_from(partly(REGULAR, other), partly(REGULAR))
    assert not changed_from(partly(), partly(REGULAR))
    assert not changed_from(partly(REGULAR), partly(other))


def test_one_of_several_paths_is_enough() -> None:
    other = REGULAR | {"path": "b"}
    assert changed_from(partly(REGULAR, other | {"content_sha256": digest("x")}), partly(REGULAR, other))
