# SPDX-License-Identifier: BSD-2-Clause
"""Simulates the design in a bitstream, and compares what its UART sends with the model."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from importlib import resources
from itertools import chain, zip_longest
from pathlib import Path

from utf8fpga.boards.protocol import BYTES_PER_WORD, WordFlag, escaped
from utf8fpga.boards.uart_decoder import UartDecoder
from utf8fpga.hdl import DecoderParameters
from utf8fpga.hdl.toolchain import ToolError, tool_error
from utf8fpga.sim.engines.netlist import LineCircuit, run_line

__all__ = ["CHECKED_FAMILIES", "check_design", "read_back"]

CHECKED_FAMILIES = ("ice40",)
"""The families of which routed designs are simulated."""

_START_CYCLES = 4096
"""Cycles before the first start bit, in which the board's reset ends."""

_FRAME_BITS = 10
_BREAK_BITS = 11


def read_back(bitstream: Path, pins: Path) -> str | None:
    """The netlist in a bitstream as Verilog, read with Debian's ``iceunpack`` and ``icebox_vlog``.

    Args:
        bitstream: the file of the bitstream.
        pins: its file of pin constraints (``.pcf``), which has the names of the ports.

    Returns:
        The Verilog; None if one of the programs is not installed.

    Raises:
        ToolError: a program failed.
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


def check_design(circuit: LineCircuit, decoder: UartDecoder, what: str) -> int:
    """Send texts to a design by its UART and compare the words that it sends with the model's.

    Args:
        circuit: the design.
        decoder: the circuit that it was made from.
        what: the name of the design in messages.

    Returns:
        The number of words compared.

    Raises:
        ToolError: the words differ, or the design cannot be simulated, for which a C compiler is required.
    """
    torture = resources.files("utf8fpga").joinpath("texts/torture.txt").read_bytes()
    texts = [torture, b"\xf0\x9f", b"", b"\xc3\xa9Z"]
    expected = [*chain.from_iterable([*_words(text, decoder.core), int(WordFlag.END)] for text in texts)]
    divisor = decoder.divisor
    levels = bytearray(b"\1" * (_START_CYCLES + 2 * _FRAME_BITS * divisor))
    for text in texts:
        for byte in escaped(text):
            bits = (0, *(byte >> n & 1 for n in range(8)), 1)
            levels += b"".join(bytes([bit]) * divisor for bit in bits)
        levels += bytes(_BREAK_BITS * divisor) + b"\1" * (2 * divisor)
    levels += b"\1" * ((len(expected) + 2) * BYTES_PER_WORD * _FRAME_BITS * divisor)
    found = _received(run_line(circuit, bytes(levels)), divisor, decoder.core, what)
    for number, (wanted, sent) in enumerate(zip_longest(expected, found)):
        if wanted != sent:
            raise ToolError(
                f"{what} differs from the model at word {number}: {_shown(sent)} in place of {_shown(wanted)}"
            )
    return len(expected)


def _shown(word: int | None) -> str:
    return "none" if word is None else f"{word:08X}"


def _words(text: bytes, core: DecoderParameters) -> Iterable[int]:
    for symbol in core.golden().process(text, final=True):
        item = core.comparable(symbol)
        yield _defined(item.code_point | (WordFlag.ERROR if item.error else 0), core)


def _defined(word: int, core: DecoderParameters) -> int:
    """A word with U+FFFD in place of a code point that is undefined."""
    return WordFlag.ERROR | 0xFFFD if word & WordFlag.ERROR and not core.replacement else int(word)


def _received(levels: bytes, divisor: int, core: DecoderParameters, what: str) -> Sequence[int]:
    """The words that a line transfers after the reset."""
    data = bytearray()
    place = levels.find(1)
    while place >= 0 and (place := levels.find(0, place)) >= 0:
        middles = levels[place + divisor // 2 : place + _FRAME_BITS * divisor : divisor]
        if len(middles) < _FRAME_BITS or middles[0] or not middles[-1]:
            raise ToolError(f"{what} differs from the model: byte {len(data)} at its TX pin is not a frame")
        data.append(sum(bit << n for n, bit in enumerate(middles[1:-1])))
        place = levels.find(1, place + (_FRAME_BITS - 1) * divisor)
    if len(data) % BYTES_PER_WORD:
        raise ToolError(f"{what} differs from the model: it sent {len(data)} bytes, which are not whole words")
    words = (int.from_bytes(data[n : n + BYTES_PER_WORD], "little") for n in range(0, len(data), BYTES_PER_WORD))
    return [_defined(word, core) for word in words]
