# SPDX-License-Identifier: BSD-2-Clause
"""A page of the site in Chromium, which is driven through a pair of pipes, without a driver or a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from support.processes import started

__all__ = ["Tab", "tab"]

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# A test does not update the browser, and root cannot use its sandbox.
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe"),
)

# The browser reads commands from the file descriptor 3 and writes to 4.
_WITH_PIPES = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3]]
for number, end in zip((3, 4), ends):
    os.dup2(end, number)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Tab:
    """A page of the browser.

    Args:
        reading: the file from which the browser's messages are read; each ends with a zero byte.
        writing: the file to which commands are written.
    """

    def __init__(self, reading: Any, writing: Any) -> None:
        self._reading, self._writing = reading, writing
        self._read = b""
        self._number = 0
        self._session: str | None = None
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.command("Page.enable")

    def command(self, method: str, **parameters: Any) -> Any:
        """The result of a command of the DevTools protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._writing.write(json.dumps(message).encode() + b"\0")
        self._writing.flush()
        while (answer := self._message()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            part = self._reading.read1(1 << 16)
            assert part, "the browser has ended"
            self._read += part
        message, _, self._read = self._read.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def open(self, address: str) -> None:
        """Load a page anew, and wait until its scripts have run."""
        self.command("Page.navigate", url="about:blank")
        self.command("Page.navigate", url=address)
        self("new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))")

    def __call__(self, expression: str) -> Any:
        """The value of an expression in the page; of a promise its result."""
        found = self.command("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def resize(self, width: int) -> None:
        """Change the width of the window."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )

    def press(self, key: str) -> None:
        """Press a key."""
        for kind in ("rawKeyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=kind, key=key, code=key)


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """A browser with one page; the test is skipped if there is no browser."""
    if BROWSER is None:
        pytest.skip("Chromium is not installed")
    (command, to_browser), (from_browser, answer) = os.pipe(), os.pipe()
    words = [
        sys.executable,
        "-c",
        _WITH_PIPES,
        str(command),
        str(answer),
        BROWSER,
        *OPTIONS,
        f"--user-data-dir={tmp_path_factory.mktemp('browser')}",
    ]
    with (
        started(words, pass_fds=(command, answer), stderr=subprocess.DEVNULL) as process,
        open(from_browser, "rb") as reading,
        open(to_browser, "wb") as writing,
    ):
        os.close(command)
        os.close(answer)
        yield Tab(reading, writing)
        process.kill()
