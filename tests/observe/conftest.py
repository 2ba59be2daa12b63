"""A small rich demo for the whole session, and Datasette on it, with and without the plugin."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from datasette.app import Datasette  # type: ignore[import-untyped]  # Datasette has no types
from datasette.plugins import pm  # type: ignore[import-untyped]

from slipway_lite.observe import explorer
from slipway_lite.observe.explorer import allowed, launch
from slipway_lite.observe.rich_demo import write_rich_demo

# Printing every refusal with all local variables takes longer than the tests.
launch.keep_locals_out_of_logs()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rich demo with 40 Runs and 30 tasks. Not to be written to."""
    path = tmp_path_factory.mktemp("demo") / "slipway.db"
    write_rich_demo(str(path), runs=40, tasks=30)
    return path


@pytest.fixture
def copy(demo: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Makes a copy of the demo under a name of its own."""

    def make(name: str) -> Path:
        target = tmp_path / name
        shutil.copy(demo, target)
        return target

    return make


@pytest.fixture
def plugin() -> Iterator[None]:
    """The plugin, registered as the entry point does it."""
    was_there = pm.is_registered(explorer)
    if not was_there:
        pm.register(explorer, allowed.PLUGIN)
    yield
    if not was_there:
        pm.unregister(explorer)


@pytest.fixture
def no_plugin() -> Iterator[None]:
    """Datasette as it is where slipway-lite is not installed."""
    was_there = pm.is_registered(explorer)
    if was_there:
        pm.unregister(explorer)
    yield
    if was_there:
        pm.register(explorer, allowed.PLUGIN)


class Browser:
    """Asks a Datasette in this process."""

    def __init__(self, datasette: Any) -> None:
        self.datasette = datasette

    def get(self, path: str, method: str = "GET", **options: Any) -> Any:
        async def ask() -> Any:
            await self.datasette.invoke_startup()
            return await self.datasette.client.request(method, path, **options)

        return asyncio.run(ask())

    def status(self, path: str) -> int:
        return int(self.get(path).status_code)

    def close(self) -> None:
        launch.close(self.datasette)


@pytest.fixture
def browse() -> Iterator[Callable[..., Browser]]:
    """Opens a Browser on files, with the packaged metadata unless told otherwise."""
    opened: list[Browser] = []

    def make(*paths: Path, metadata: dict[str, Any] | None = None, **options: Any) -> Browser:
        told = allowed.metadata() if metadata is None else metadata
        settings = {"suggest_facets": False}
        browser = Browser(Datasette([str(path) for path in paths], metadata=told, settings=settings, **options))
        opened.append(browser)
        return browser

    yield make
    for browser in opened:
        browser.close()
