"""The explorer in a real browser: no error on the console, nothing from elsewhere, keyboard, a phone-sized window."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.observe.explorer import allowed
from slipway_lite.store.reading import read_store
from tests.observe.test_explorer import EXPLORE, _wait_for

websocket = pytest.importorskip("websocket", reason="the browser is talked to over a websocket")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]
SIZES = {"desk": (1280, 900), "phone": (390, 844)}
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--no-first-run", "--remote-debugging-port=0", "--remote-allow-origins=*",
)  # fmt: skip


class Tab:
    """One page of Chromium, driven over its debugging protocol."""

    def __init__(self, address: str) -> None:
        self._socket = websocket.create_connection(address, timeout=20)
        self._number = 0
        self.events: list[dict[str, Any]] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._number:
                return message.get("result", {})
            self.events.append(message)

    def close(self) -> None:
        self._socket.close()

    def open(self, url: str, size: tuple[int, int]) -> None:
        width, height = size
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.events.clear()
        self.ask("Page.navigate", url=url)
        for _ in range(100):
            time.sleep(0.05)
            if self.value("document.readyState") == "complete" and self.value(_SETTLED):
                return
        raise AssertionError(f"{url} does not settle")

    def value(self, expression: str) -> Any:
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def press_tab(self) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)

    def troubles(self) -> list[str]:
        """What the console complains about."""
        found = [event for event in self.events if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
        found += [
            event
            for event in self.events
            if event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning")
        ]
        return [json.dumps(event["params"])[:500] for event in found if "favicon" not in json.dumps(event)]

    def requested(self) -> set[str]:
        requests = (event for event in self.events if event["method"] == "Network.requestWillBeSent")
        return {event["params"]["request"]["url"] for event in requests}


_SETTLED = """(() => {
  const chart = document.getElementById("slipway-chart");
  return !chart || chart.hidden || !!chart.querySelector("svg[role=img]");
})()"""


@pytest.fixture(scope="module")
def address(demo: Path) -> Iterator[str]:
    command = [sys.executable, "-c", EXPLORE.format(options=""), str(demo)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        where = served.stdout.readline().strip()
        _wait_for(f"{where}.json")
        yield where
        served.terminate()


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    home = tmp_path_factory.mktemp("chromium")
    assert CHROMIUM is not None
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={home}", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        port_file = home / "DevToolsActivePort"
        for _ in range(200):
            if port_file.exists() and port_file.read_text("ascii").strip():
                break
            time.sleep(0.1)
        port = port_file.read_text("ascii").splitlines()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            (found,) = [item for item in json.load(answer) if item["type"] == "page"]
        tab = Tab(found["webSocketDebuggerUrl"])
        yield tab
        tab.close()
        browser.terminate()


def pages(demo: Path, address: str) -> list[str]:
    root = address.rpartition("/")[0]
    run_id = read_store(str(demo), lambda store: store.rows("select run_id from run_findings limit 1")[0][0])
    return [
        f"{root}/", address, f"{root}/-/slipway/run/slipway/{run_id}",
        *(f"{address}/{name}" for name in (*sorted(allowed.listed("queries")), "shown_runs", "gate_observations")),
    ]  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
def test_no_page_complains_or_fetches_from_elsewhere(demo: Path, address: str, tab: Tab, size: str) -> None:
    root = address.rpartition("/")[0]
    for url in pages(demo, address):
        tab.open(url, SIZES[size])
        assert tab.troubles() == [], url
        assert all(request.startswith((f"{root}/", "data:")) for request in tab.requested()), url
        charted = "chart" in allowed.query(url.rpartition("/")[2])
        assert tab.value("!!document.querySelector('#slipway-chart svg[role=img][aria-label]')") is charted, url


def test_a_phone_does_not_have_to_scroll_sideways(demo: Path, address: str, tab: Tab) -> None:
    for url in pages(demo, address):
        tab.open(url, SIZES["phone"])
        assert tab.value("document.documentElement.scrollWidth <= window.innerWidth + 1"), url


def test_every_link_of_a_page_is_reached_with_the_keyboard(demo: Path, address: str, tab: Tab) -> None:
    for url in pages(demo, address)[:4]:
        tab.open(url, SIZES["desk"])
        wanted = tab.value("[...document.querySelectorAll('a[href]')].filter(a => a.offsetParent).length")
        reached = set()
        for _ in range(wanted + 20):
            tab.press_tab()
            reached.add(tab.value("[...document.links].indexOf(document.activeElement)"))
        assert len(reached - {-1}) >= wanted, url
        assert tab.value("getComputedStyle(document.activeElement).outlineStyle") != "none", url
