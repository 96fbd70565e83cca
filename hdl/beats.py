# SPDX-License-Identifier: BSD-2-Clause
"""The beats of every core's streams."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import ShapeLike, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


def beat_layout(symbol: ShapeLike, lanes: int) -> data.StructLayout:
    """One beat of the input or of the output of a core.

    Args:
        symbol: the shape of a symbol: a number of bits for code units, a structure for items.
        lanes: symbols per beat.

    Fields:
        symbols: a symbol for each lane, the first in lane 0. Where `keep` is 0 it is undefined, except for the flag
            `error` at an output.
        keep: one bit per lane, 1 where a symbol is present.
        last: the packet ends with this beat; no further symbol of it follows.

    At an input, the lanes with a symbol are contiguous from lane 0, and all lanes have one unless `last` is set or the
    beat has no symbol at all. A beat with neither a symbol nor `last` is a null beat: it is transferred and has no
    effect. No output has null beats.
    """
    return data.StructLayout({"symbols": data.ArrayLayout(symbol, lanes), "keep": lanes, "last": 1})


def beat_stream(symbol: ShapeLike, lanes: int) -> stream.Signature:
    """The signature of a stream of `beat_layout`."""
    return stream.Signature(beat_layout(symbol, lanes))


def stage_ports(
    given: ShapeLike, made: ShapeLike, lanes: int, made_lanes: int | None = None
) -> dict[str, wiring.Member]:
    """The streams `input` and `output` of a circuit: the shapes of their symbols, and their lanes, equal by default."""
    return {"input": In(beat_stream(given, lanes)), "output": Out(beat_stream(made, made_lanes or lanes))}


def symbol_shape(beats: Any) -> ShapeLike:
    """The shape of the symbols of a stream of `beat_layout`."""
    shape: ShapeLike = beats.payload.shape()["symbols"].shape.elem_shape
    return shape


def lanes_of(beats: Any) -> int:
    """The lanes of a stream of `beat_layout`."""
    return len(beats.payload.keep)


def is_effective(source: Any) -> Value:
    """Whether `valid` is asserted for a beat other than a null beat.

    Args:
        source: a stream of `beat_layout` at an input.
    """
    # In this form, with `valid` in both terms, synthesis finds the smallest decoders.
    return (source.valid & source.payload.keep[0]) | (source.valid & source.payload.last)


def connected(target: Any, source: Any, *names: str) -> list[Any]:
    """The assignments of some ports of a component to those of the same names of another one."""
    return [getattr(target, name).eq(getattr(source, name)) for name in names]


def fed(pipeline: Any, units: Value, beat: Any, valid: Value, prefix: str = "") -> list[Any]:
    """The assignments of a beat to the ports `units`, `keep`, `last` and `valid` of a pipeline.

    Args:
        units: the code units of the beat.
        prefix: of the names of these ports.
    """
    values = {"units": units, "keep": beat.keep, "last": beat.last, "valid": valid}
    return [getattr(pipeline, prefix + name).eq(value) for name, value in values.items()]
