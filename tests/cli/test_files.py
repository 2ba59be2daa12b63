from __future__ import annotations

import os
from pathlib import Path

import pytest

from slipway_lite.cli.files import read_descriptor, read_regular


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 5000])
def test_at_most_one_byte_more_than_the_limit_is_read(tmp_path: Path, size: int) -> None:
    (tmp_path / "file").write_bytes(b"a" * size)
    assert read_regular(str(tmp_path / "file"), 10) == b"a" * min(size, 11)


def test_parents_may_be_symlinks(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert read_regular(str(tmp_path / "link" / "file"), 10) == b"text"


@pytest.mark.parametrize("kind", ["missing", "directory", "symlink", "dangling", "fifo", "device"])
def test_anything_but_a_regular_file_is_refused_without_waiting(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "it"
    if kind == "directory":
        path.mkdir()
    elif kind == "symlink":
        (tmp_path / "real").touch()
        path.symlink_to(tmp_path / "real")
    elif kind == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/null")
    with pytest.raises(OSError):
        read_regular(str(path), 10)


def test_a_path_with_a_nul_is_refused() -> None:
    with pytest.raises(ValueError):
        read_regular("a\0b", 10)


def test_a_pipe_is_read_to_its_end() -> None:
    reader, writer = os.pipe()
    for part in (b"one ", b"two"):
        os.write(writer, part)
    os.close(writer)
    assert read_descriptor(reader, 100) == b"one two"
    os.close(reader)
