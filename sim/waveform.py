# SPDX-License-Identifier: BSD-2-Clause
"""Waveforms of values that are known for each cycle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TextIO

from vcd.writer import VCDWriter


def write_cycles(file: TextIO, top: str, sizes: Mapping[str, int], cycles: Iterable[Mapping[str, int]]) -> None:
    """Write a waveform of signals that have one value in each cycle, and of their clock.

    Args:
        top: the name of the outermost scope.
        sizes: the width of each signal, by its name with the scopes in `top` and dots between them.
        cycles: for each cycle of 10 ns the values by name.
    """
    with VCDWriter(file, timescale="1 ns") as writer:
        clock = writer.register_var(top, "clk", "wire", size=1, init=0)
        signals = {}
        for name, size in sizes.items():
            *scope, last = name.split(".")
            signals[name] = writer.register_var(".".join([top, *scope]), last, "wire", size=size, init=0)
        for number, values in enumerate(cycles):
            for name, value in values.items():
                writer.change(signals[name], 10 * number, value)
            writer.change(clock, 10 * number, 0)
            writer.change(clock, 10 * number + 5, 1)
