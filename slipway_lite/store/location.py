"""Where the file is, and why (architecture §1)."""

from __future__ import annotations

import os

from slipway_lite.errors import SlipwayError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ENVIRONMENT_VARIABLE = "SLIPWAY_DB"
DIRECTORY = "slipway-lite"
FILE = "slipway.db"


def locate(environ: Mapping[str, str], git_common_dir: str | None, option: str | None = None) -> tuple[str, str]:
    """The absolute path of the database, with every link to it followed, and the rule that chose it.

    ``option`` (``--db``) beats ``SLIPWAY_DB``, which beats the repository's own file, which beats the file in the
    user's data directory. The rule is ``option``, ``environment``, ``repository`` or ``user``. Raises
    ``database_unavailable`` for what can be no path.
    """
    if option:
        return resolved(option), "option"
    if environ.get(ENVIRONMENT_VARIABLE):
        return resolved(environ[ENVIRONMENT_VARIABLE]), "environment"
    if git_common_dir is not None:
        return os.path.join(git_common_dir, DIRECTORY, FILE), "repository"
    from platformdirs import user_data_dir

    return os.path.join(user_data_dir(DIRECTORY, appauthor=False), FILE), "user"


def resolved(path: str) -> str:
    """``path`` with every link followed. Raises ``database_unavailable`` for one with a NUL or half a character."""
    try:
        return os.path.realpath(path)
    except ValueError as error:
        raise SlipwayError(
            "database_unavailable", "The path of the database is no path: it holds a NUL or half a character."
        ) from error


def refuse_redirection(path: str) -> None:
    """Refuse a file in a repository's own place that leads elsewhere, so that nothing can redirect the record."""
    for part in (os.path.dirname(path), path):
        if os.path.islink(part):
            raise SlipwayError("database_unavailable", "The database or its directory is a symbolic link.")
