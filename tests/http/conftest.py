from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.http.served import Client, Served


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One open server on loopback for every test that needs nothing special."""
    with Served(tmp_path_factory.mktemp("served") / "slipway.db") as server:
        yield server


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    connection = served.client()
    yield connection
    connection.close()
