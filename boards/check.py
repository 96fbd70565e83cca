# SPDX-License-Identifier: BSD-2-Clause
"""Simulates the design in a bitstream, and compares what its UART sends with the model."""

from __future__ import annotations

import shutil
import subprocess
from importlib import resources
from itertools import zip_longest
from pathlib import Path

from utf8fpga.boards.events import Event, GarbledError, line_of
from utf8fpga.boards.forms import Expected
from utf8fpga.boards.protocol import Mark, escaped
from utf8fpga.boards.uart_core import UartCore
from utf8fpga.boards.virtual import HostLine
from utf8fpga.hdl.toolchain import ToolError, tool_error
from utf8fpga.sim.engines.netlist import Line, LineCircuit

CHECKED_FAMILIES = ("ice40",)
"""The families of which routed designs are simulated."""

_START_CYCLES = 4096
"""Cycles before the first start bit, in which the board's reset ends."""


def read_back(bitstream: Path, pins: Path) -> str | None:
    """The netlist in a bitstream as Verilog, read with Debian's ``iceunpack`` and ``icebox_vlog``; None without these.

    Args:
        pins: its file of pin constraints (``.pcf``), which has the names of the ports.
    """
    unpack, convert = shutil.which("iceunpack"), shutil.which("icebox_vlog")
    if not unpack or not convert:
        return None
    ascii_file = bitstream.with_suffix(".unpacked.asc")
    _run(unpack, bitstream, ascii_file)
    return _run(convert, "-s", "-n", "top", "-p", pins, ascii_file)


def _run(program: str, *arguments: str | Path) -> str:
    done = subprocess.run(
        [program, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        raise tool_error(Path(program).name, done.returncode, done.stderr)
    return done.stdout


def check_design(circuit: LineCircuit, core: UartCore, what: str) -> int:
    """Send texts to a design by its UART and compare what it sends with the model.

    The design, which messages name as `what`, was made from `core`. Returned is the number of items and markers
    compared.
    """
    torture = resources.files("utf8fpga").joinpath("texts/torture.txt").read_bytes()
    texts = [torture, b"\xf0\x9f", b"", b"\xc3\xa9Z"]
    model = Expected(core.core)
    expected: list[Event] = []
    for text in texts:
        expected += [*model.feed(text, final=True), Mark.END]
    # The speed in cycles: a bit is `divisor` of them.
    host = HostLine(Line(circuit), core.divisor, 1)
    while host.cycles < _START_CYCLES:
        host.exchange(b"")
    received = b"".join(host.exchange(escaped(text)) + host.send_break() for text in texts)
    for _ in range((len(expected) + 2) * _LONGEST_EVENT // 4):
        if host.is_idle:
            break
        received += host.exchange(b"")
    try:
        found = core.form.parser().feed(received)
    except GarbledError as error:
        raise ToolError(f"{what} differs from the model: it sends {error}") from None
    for number, (event, sent) in enumerate(zip_longest(expected, found)):
        if event != sent:
            raise ToolError(
                f"{what} differs from the model at item {number}: {_shown(sent)} in place of {_shown(event)}"
            )
    return len(expected)


_LONGEST_EVENT = 64
"""Upper bound on the mean of the bytes that a symbol and its marker need."""


def _shown(event: Event | None) -> str:
    return "none" if event is None else line_of(event)
