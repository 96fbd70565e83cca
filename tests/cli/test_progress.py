# SPDX-License-Identifier: BSD-2-Clause
"""Progress bars: on a terminal only, and as wide as it is."""

from __future__ import annotations

import io
import logging

import pytest

from utf8fpga.cli.output import job_progress, progress, spinner
from utf8fpga.cli.process import run


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_jobs_are_shown_on_a_terminal_only(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stderr", stream)
    with job_progress("proving") as show:
        show(1, 3, ["the first job", "another", "a third one"])
    shown = stream.getvalue()
    assert ("proving" in shown and "1/3" in shown and "the first job (+2)" in shown) is terminal
    assert bool(shown) is terminal


@pytest.mark.parametrize("terminal", [True, False])
def test_bytes_are_shown_with_their_rate_on_a_terminal_only(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stderr", stream)
    with progress("decoding", 2000, rate=True) as show:
        show(1000)
    assert ("decoding" in stream.getvalue() and "kB" in stream.getvalue()) is terminal


@pytest.mark.parametrize("terminal", [True, False])
def test_a_first_start_is_a_spinner_on_a_terminal_and_one_line_elsewhere(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stderr", stream)
    shown = []
    said = "yosys compiles itself at its first start, about a minute"

    def starts() -> None:
        logger = logging.getLogger("utf8fpga.hdl.tool_cache")
        logger.info(said, extra={"first_start": "begin"})
        shown.append(stream.getvalue())
        logger.info("yosys has been started", extra={"first_start": "end"})

    assert run(starts) == 0
    if terminal:
        assert said in shown[0]
        assert "0:00:00" in shown[0]
        assert stream.getvalue().endswith("\x1b[2K"), "the spinner is removed"
    else:
        assert (shown, stream.getvalue()) == ([f"utf8fpga: {said}\n"], f"utf8fpga: {said}\n")


def test_a_first_start_is_a_line_above_a_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with job_progress("proving"), spinner("yosys compiles itself") as is_shown:
        assert not is_shown
    assert "yosys" not in stream.getvalue()
    with spinner("yosys compiles itself") as is_shown:
        assert is_shown
    assert "yosys" in stream.getvalue()
