from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.hosts.adapters import install, uninstall
from slipway_lite.hosts.listing import list_report
from slipway_lite.protocol import next as following

IDENTITY = "sha256:" + "0" * 64


command_next = functools.partial(following.command, IDENTITY)


class Repository:
    """A worktree as the host adapters see it: a root, and the Git directory that belongs to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git_dir = root / ".git"
        self.git_dir.mkdir(parents=True)

    def install(self, *tools: str, surface: str | None = None, refresh: bool = False) -> dict[str, Any]:
        return install(
            str(self.root),
            str(self.git_dir),
            tools=tools or None,
            surface=surface,
            refresh=refresh,
            command_next=command_next,
        )

    def uninstall(self, *tools: str) -> dict[str, Any]:
        return uninstall(str(self.root), str(self.git_dir), tools=tools or None, command_next=command_next)

    def host(self, host_id: str) -> dict[str, Any]:
        hosts = list_report(str(self.root), command_next=command_next)["hosts"]
        return next(host for host in hosts if host["id"] == host_id)

    def path(self, name: str) -> Path:
        return self.root / name

    def write(self, name: str, text: str) -> Path:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def snapshot(self) -> dict[str, bytes | None]:
        """Everything below the root with its content; ``None`` for a directory."""
        return snapshot(self.root)


def snapshot(root: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(root)): None if path.is_dir() and not path.is_symlink() else _content(path)
        for path in root.rglob("*")
    }


def _content(path: Path) -> bytes:
    return b"-> " + os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


Action = Callable[[], None]
_waiting: list[tuple[str, str, Action]] = []
_hooked = False


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if _waiting and event == _waiting[0][0] and any(_waiting[0][1] == item for item in arguments):
        _, _, action = _waiting.pop(0)
        action()


@pytest.fixture
def just_before() -> Iterator[Callable[[str, str, Action], None]]:
    """``just_before(event, name, action)``: do ``action`` when the interpreter is about to do ``event`` to
    ``name``.

    This is how another program that edits at the worst moment is played. Events are the audit events of
    Python (``os.rename``, ``os.link``, ...), names are file names as they are handed to the system. Several
    are waited for one after the other.
    """
    global _hooked
    if not _hooked:
        sys.addaudithook(_on_event)  # there is no way to remove one, so it stays and waits for nothing
        _hooked = True

    def wait_for(event: str, name: str, action: Action) -> None:
        _waiting.append((event, name, action))

    yield wait_for
    left = [event for event, _, _ in _waiting]
    _waiting.clear()
    assert not left, f"never happened: {left}"
