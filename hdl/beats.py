# SPDX-License-Identifier: BSD-2-Clause
"""The beats of every core's streams."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import ShapeLike, Value
from amaranth.lib import data

__all__ = ["beat_layout", "is_effective"]


def beat_layout(symbol: ShapeLike, lanes: int) -> data.StructLayout:
    """One beat of the input or of the output of a core.

    Args:
        symbol: the shape of a symbol: a number of bits for code units, a structure for items.
        lanes: symbols per beat.

    Fields:
        symbols: per lane a symbol, the first in lane 0; undefined where `keep` is 0, but for a flag `error`.
        keep: one bit per lane, 1 where a symbol is present.
        last: the packet ends with this beat; no further symbol of it follows.

    At an input, lanes without a symbol come last, and only in a beat with `last` set or in one without any symbol. A
    beat with neither a symbol nor `last` is a null beat: it is transferred, and has no effect. No output has one.
    """
    return data.StructLayout({"symbols": data.ArrayLayout(symbol, lanes), "keep": lanes, "last": 1})


def is_effective(source: Any) -> Value:
    """Whether a beat is valid that is no null beat.

    Args:
        source: a stream of `beat_layout` at an input.
    """
    # So multiplied out, synthesis finds the smallest decoders.
    return (source.valid & source.payload.keep[0]) | (source.valid & source.payload.last)
