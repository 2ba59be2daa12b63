from __future__ import annotations

import os
from pathlib import Path

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.store.connection import open_store
from slipway_lite.store.location import locate, refuse_redirection
from slipway_lite.store.reading import read_store

COMMON = "/home/ann/repo/.git"


def test_option_beats_everything() -> None:
    assert locate({"SLIPWAY_DB": "/env.db"}, COMMON, "/option.db") == ("/option.db", "option")


def test_environment_beats_the_repository() -> None:
    assert locate({"SLIPWAY_DB": "/env.db"}, COMMON) == ("/env.db", "environment")


def test_repository_keeps_its_own_file() -> None:
    assert locate({}, COMMON) == ("/home/ann/repo/.git/slipway-lite/slipway.db", "repository")


def test_outside_a_repository_the_file_is_the_users() -> None:
    path, rule = locate({}, None)
    assert rule == "user" and os.path.isabs(path) and path.endswith("slipway-lite/slipway.db")


@pytest.mark.parametrize(("environ", "option"), [({"SLIPWAY_DB": ""}, None), ({}, ""), ({"SLIPWAY_DB": ""}, "")])
def test_an_empty_place_is_no_place(environ: dict[str, str], option: str | None) -> None:
    assert locate(environ, COMMON, option)[1] == "repository"


def test_relative_places_become_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert locate({}, None, "a/../b.db") == (str(tmp_path / "b.db"), "option")
    assert locate({"SLIPWAY_DB": "c.db"}, None) == (str(tmp_path / "c.db"), "environment")


def test_the_directory_is_not_that_of_the_public_tool() -> None:
    assert "/slipway/" not in locate({}, COMMON)[0]


def test_a_symlinked_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "slipway-lite").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SlipwayError) as refused:
        refuse_redirection(str(tmp_path / "slipway-lite" / "slipway.db"))
    assert refused.value.code == "database_unavailable"


@pytest.mark.parametrize("target", ["real.db", "nowhere.db"])
def test_a_symlinked_file_is_refused_wherever_it_leads(tmp_path: Path, target: str) -> None:
    (tmp_path / "real.db").touch()
    (tmp_path / "slipway.db").symlink_to(tmp_path / target)
    with pytest.raises(SlipwayError) as refused:
        refuse_redirection(str(tmp_path / "slipway.db"))
    assert refused.value.code == "database_unavailable"


def test_a_plain_place_is_taken(tmp_path: Path) -> None:
    refuse_redirection(str(tmp_path / "slipway-lite" / "slipway.db"))
    (tmp_path / "slipway.db").touch()
    refuse_redirection(str(tmp_path / "slipway.db"))


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_what_can_be_no_path_is_refused(path: str) -> None:
    for attempt in (
        lambda: locate({}, None, path),
        lambda: open_store(path),
        lambda: read_store(path, lambda store: None),
    ):
        with pytest.raises(SlipwayError) as refused:
            attempt()
        assert refused.value.code == "database_unavailable"
