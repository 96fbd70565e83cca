# SPDX-License-Identifier: BSD-2-Clause
"""Values that more than one proof speaks of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import Cat, Const, Mux, Value

__all__ = ["how_many", "keep_of"]


def how_many(bits: Iterable[Value]) -> Value:
    """How many bits are set, as wide as need be."""
    total: Value = Const(0, 1)
    for bit in bits:
        total = total + bit
    return total


def keep_of(payload: Any) -> Value:
    """The `keep` of a beat that a producer may offer, made from any.

    The units of a beat are contiguous from the first lane, and only a beat that ends its text has fewer than all,
    but a null beat, which has none.

    Args:
        payload: a view of `beat_layout`.
    """
    keep = Value.cast(payload.keep)
    contiguous = Cat(keep[: lane + 1].all() for lane in range(len(keep)))
    return Mux(payload.last, contiguous, keep[0].replicate(len(keep)))
