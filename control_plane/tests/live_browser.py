# SPDX-License-Identifier: Apache-2.0
"""A live page's process, and a headless browser that looks at it."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
SECONDS = 180.0
"""How long a busy machine may take for anything that a test waits for."""

needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="chromium and chromium-driver are not installed; make setup installs them",
)


class Page:
    """A page in a browser."""

    def __init__(self, driver: Any) -> None:
        """Args: Selenium's."""
        self.driver = driver

    def js(self, expression: str) -> Any:
        """The value of an expression."""
        return self.driver.execute_script(f"return {expression}")

    def do(self, statement: str) -> None:
        """Runs a statement."""
        self.driver.execute_script(statement)

    def click(self, selector: str) -> None:
        """Clicks what it selects, wherever that is on the page."""
        self.do(f"document.querySelector({json.dumps(selector)}).click()")

    def text(self, selector: str) -> str:
        """The element's text."""
        text: str = self.js(f"document.querySelector({json.dumps(selector)}).textContent")
        return text

    def until(self, expression: str, seconds: float = SECONDS) -> Any:
        """The expression's value as soon as there is one."""
        deadline = time.monotonic() + seconds
        while not (value := self.js(expression)):
            if time.monotonic() > deadline:
                log = self.driver.get_log("browser")
                known = self.js(
                    "globalThis.live === undefined ? null : JSON.stringify([live.store.trouble, "
                    "live.store.connected, live.store.rows.at(-1), live.store.health])"
                )
                raise AssertionError(f"never: {expression}; it knows {known}, and says {log}")
            time.sleep(0.02)
        return value

    def look(self, address: str) -> None:
        """Opens the page, and waits for its first row."""
        self.driver.get("about:blank")
        self.driver.get(address)
        self.until("globalThis.live !== undefined && live.store.rows.length > 0")

    def values(self, sfid: int) -> dict[str, Any]:
        """A service flow's values in the last row, by column."""
        values: dict[str, Any] = self.js(
            "Object.fromEntries(Object.entries(live.store.columns).map(([name, place]) => "
            f"[name, live.store.rows.at(-1).f[{sfid}][place]]))"
        )
        return values

    def curve(self, column: str) -> list[float]:
        """The values of which a curve is drawn."""
        values: list[float] = self.js(f"Array.from(live.shown()[{json.dumps(column)}])")
        return values

    def failures(self) -> list[str]:
        """The browser's errors."""
        return [
            one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"
        ]


@contextmanager
def browser(folder: Path, size: str = "1400,1400") -> Iterator[Page]:
    """A browser that fetches nothing by itself; its profile is in the folder."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.remote.remote_connection import RemoteConnection

    assert CHROMIUM is not None
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in (
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *("--disable-dev-shm-usage", f"--window-size={size}"),
        f"--user-data-dir={folder / 'profile'}",
    ):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        # Selenium's own would be two minutes.
        executor = driver.command_executor
        assert isinstance(executor, RemoteConnection)
        executor.client_config.timeout = 2 * SECONDS
        driver.set_page_load_timeout(SECONDS)
        driver.set_script_timeout(SECONDS)
        yield Page(driver)
    finally:
        driver.quit()


class LivePage:
    """The page's process.

    Attributes:
        address: The page's address, with the token.
    """

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        """Args: the process, and what it printed."""
        self.process = process
        self.address = address

    @property
    def port(self) -> int:
        """Its port."""
        port = urlsplit(self.address).port
        assert port is not None
        return port

    @property
    def token(self) -> str:
        """The token: whoever has it may act."""
        return self.address.partition("#token=")[2]


@contextmanager
def live_page(*words: str) -> Iterator[LivePage]:
    """A page that is gone at the end of the block; it is an error that it complains."""
    process = subprocess.Popen(
        [sys.executable, "-m", "docsis_live", "--port", "0", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error::ResourceWarning"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("ready: "), line + process.stderr.read()
        yield LivePage(process, line.removeprefix("ready: ").strip())
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=2 * SECONDS)
    assert process.returncode == 0, errors
    assert errors == ""


def wait_for(condition: Callable[[], object], seconds: float = SECONDS) -> None:
    """Until it holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
