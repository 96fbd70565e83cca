# SPDX-License-Identifier: BSD-2-Clause
"""The check of a core as an assertion, for tests."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from utf8fpga.model import Practice
from utf8fpga.model.render import counted
from utf8fpga.sim.causes import check_foreign_core
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.foreign_ports import OWN_PORTS, CheckedPorts, read_checked_ports
from utf8fpga.sim.report import Failure, Report, Row

Name = str | os.PathLike[str]

_WIDEST = 72
"""Characters of an input or an output in a message."""


def assert_utf8_core(
    core: Name | Sequence[Name],
    *,
    top: str | None = None,
    ports: CheckedPorts | Name | None = None,
    practice: Practice | str = Practice.MAXIMAL_SUBPARTS,
) -> Report:
    """Check a core, as the command `check` does. It requires the extra ``fast``.

    Args:
        core: its file or files in Verilog, SystemVerilog or RTLIL.
        top: the top module; default: the one that no other module instantiates.
        ports: a description of the ports, or its file; default: the names of this project's decoder.
        practice: the replacement practice, or its name.

    Returns:
        The report.

    Raises:
        AssertionError: the core differs from the model; the message has the shortest input for each cause.
        CoreError: a file cannot be read, the description does not match the ports, or the core cannot be checked.
        InvalidArgumentError: the practice is unknown.
        ToolError: Yosys or Numba is missing.
    """
    __tracebackhide__ = True
    chosen = Practice(practice)
    files = [core] if isinstance(core, str | os.PathLike) else core
    if ports is None:
        ports = OWN_PORTS
    described = ports if isinstance(ports, CheckedPorts) else read_checked_ports(Path(ports))
    found = ForeignCore([Path(file) for file in files], top, described, chosen)
    report = check_foreign_core(found, chosen)
    if report.failed:
        texts = "\n".join(difference(report, row) for row in report.failed)
        raise AssertionError(f"{report.name} differs from the model\n{texts}")
    return report


def difference(report: Report, row: Row) -> str:
    """The lines on a row of a report with a difference."""
    return "\n".join(_lines(report, row))


def _lines(report: Report, row: Row) -> Iterator[str]:
    yield f"{row.cause}: {row.failed} of {counted(row.texts, 'run')} {'differs' if row.failed == 1 else 'differ'}"
    found = row.shortest
    assert found is not None
    yield f"  shortest input: {_abridged(found.input)}"
    yield f"  expected:       {_output(found.expected, found.expected_marks)}"
    yield f"  given:          {_output(found.given, found.given_marks)}"
    if any("!" in word for word in (*found.expected, *found.given)):
        yield "  (! is a word with the error flag)"
    if found.reason:
        yield f"  fault:          {found.reason}"
    for each in report.accepted:
        if each.cause == row.cause:
            yield f"  accepted:       {_accepted(each.first)} ({counted(each.texts, 'ill-formed text')} alike)"


def _accepted(failure: Failure) -> str:
    return f"{_abridged(failure.input)} as {_abridged(' '.join(failure.given))}"


def _output(words: Sequence[str], marks: int | None) -> str:
    text = _abridged(" ".join(words)) or "nothing"
    return text if marks is None else f"{text} ({counted(marks, 'mark')})"


def _abridged(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 4]} ..."
