# SPDX-License-Identifier: BSD-2-Clause
"""Progress bars: on a terminal only, and as wide as it is."""

from __future__ import annotations

import io

import pytest

from utf8fpga.cli.output import job_progress, progress


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
