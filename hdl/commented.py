# SPDX-License-Identifier: BSD-2-Clause
"""Names and comments that the generated Verilog has, too."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Module, Signal, Value

from utf8fpga.model.ranges import runs
from utf8fpga.model.table import spell


def commented(signal: Signal, comment: str) -> Signal:
    """A signal with a comment, which the Verilog has at its declaration; an empty one is none."""
    if comment:
        signal.attrs["doc"] = comment
    return signal


def register(name: str, comment: str = "", bits: int = 1, *, init: int | None = None) -> Signal:
    """A register with a comment, which a reset sets to `init`; by default a reset has no effect on it."""
    return commented(Signal(bits, name=name, init=init or 0, reset_less=init is None), comment)


def named(m: Module, name: str, value: Value, comment: str = "") -> Signal:
    """A signal with a value: it gives an expression of a module a name and a comment."""
    signal = Signal(len(value), name=name)
    m.d.comb += signal.eq(value)
    return commented(signal, comment)


def spelled_units(units: Iterable[int], width: int) -> str:
    """Code units as ranges in the notation of the standard.

    >>> spelled_units([1, 2, 3, 9], 8)
    '01..03 09'
    """
    return " ".join("..".join(spell([unit], width) for unit in sorted({run.first, run.last})) for run in runs(units))
