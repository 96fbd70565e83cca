# SPDX-License-Identifier: BSD-2-Clause
"""Values that more than one proof refers to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value


def delayed(m: Module, name: str, value: Any, cycles: int) -> list[Value]:
    """A value, and the registers that hold what it was in each of some cycles before, that of the last one first."""
    found = [Value.cast(value)]
    for cycle in range(cycles):
        register = Signal(len(found[0]), name=f"{name}_{cycle}")
        m.d.sync += register.eq(found[-1])
        found.append(register)
    return found


def how_many(bits: Iterable[Value]) -> Value:
    """The number of bits that are set, in as many bits as it needs."""
    total: Value = Const(0, 1)
    for bit in bits:
        total = total + bit
    return total


def keep_of(payload: Any) -> Value:
    """The `keep` of a beat that a producer may send, made from a payload with any contents.

    The units of a beat are contiguous from the first lane. Only a beat that ends its text, or a null beat, has fewer
    units than lanes.

    Args:
        payload: a view of `beat_layout`.
    """
    keep = Value.cast(payload.keep)
    contiguous = Cat(keep[: lane + 1].all() for lane in range(len(keep)))
    return Mux(payload.last, contiguous, keep[0].replicate(len(keep)))


def lanes_in(payload: Any) -> list[tuple[Any, Value]]:
    """Per lane of a beat the symbol, and whether it is present."""
    return [(payload.symbols[lane], keep) for lane, keep in enumerate(payload.keep)]


def named(m: Module, name: str, value: Any, size: int | None = None) -> Signal:
    """A signal that is driven by a value, so that an expression that is used often is converted once.

    Args:
        size: its width; that of the value unless given.
    """
    value = Value.cast(value)
    signal = Signal(len(value) if size is None else size, name=name)
    m.d.comb += signal.eq(value)
    return signal
