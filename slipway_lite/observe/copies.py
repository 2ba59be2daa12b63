"""New files out of files that stay as they are, for Python callers: typed, frozen results of backup and merge."""

from __future__ import annotations

import os

from slipway_lite.observe.projection import projectors
from slipway_lite.protocol.messages import Message
from slipway_lite.store import backup, merge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Head(Message):
    """The newest link of a chain, as ``slipway db head`` prints it: ``seq:sha256``."""

    seq: int
    sha256: str


class Backup(Message):
    """What a backup is: its size, the digest of the file, and the head of its chain."""

    bytes: int
    sha256: str
    head: Head


class MergedFile(Message):
    """One of the files that were merged: its name without its place, and the head of its chain."""

    name: str
    head: Head


class Merge(Message):
    """What a merged file is: what it was made of, in the order given, its size, digest and chain."""

    files: tuple[MergedFile, ...]
    ledger_rows: int
    head: Head
    bytes: int
    sha256: str


def back_up(path: str, target: str | os.PathLike[str]) -> Backup:
    """Write a consistent copy of the database at ``path`` to ``target``, also while others write.

    Raises what ``slipway db backup`` refuses: ``output_exists``, ``output_is_source``, ``output_directory_missing``,
    ``disk_full``, ``output_failed``, ``database_unreadable`` …
    """
    return Backup.of(backup.backup(path, os.fspath(target)))


def merge_files(files: Sequence[str | os.PathLike[str]], target: str | os.PathLike[str]) -> Merge:
    """Merge the databases ``files`` into the new file ``target``, each row with where it came from.

    Raises what ``slipway db merge`` refuses: ``merge_conflict`` with every clash in ``details``, ``merge_same_file``,
    ``merge_source_unsound``, ``merge_needs_two``, ``output_exists`` …
    """
    return Merge.of(merge.merge([os.fspath(file) for file in files], os.fspath(target), projectors()))
