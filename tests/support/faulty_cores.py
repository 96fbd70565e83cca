# SPDX-License-Identifier: BSD-2-Clause
"""Correct cores with a fault at their ports, and the faults that violate the stream contract."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value

from utf8fpga.formal.catalogue import Configuration
from utf8fpga.hdl import CoreParameters, DecoderParameters, build
from utf8fpga.model import TABLE_3_7

PortFault = Callable[[Module, Any, Any], None]
"""Adds a fault to a module, given the faulty core and the correct one in it."""


def faulty_core(parameters: CoreParameters, fault: PortFault) -> Any:
    """A correct core with a fault at its ports: a later assignment to one of their signals, which takes precedence."""
    core, inner = build(parameters), build(parameters)

    def elaborate(platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner
        m.d.comb += [
            inner.input.payload.eq(core.input.payload),
            inner.input.valid.eq(core.input.valid),
            core.input.ready.eq(inner.input.ready),
            core.output.payload.eq(inner.output.payload),
            core.output.valid.eq(inner.output.valid),
            inner.output.ready.eq(core.output.ready),
        ]
        fault(m, core, inner)
        return m

    core.elaborate = elaborate
    if fault is words_have_gaps:
        core.packed = True
    return core


def broken_decoder(fault: PortFault, *, kind: bool = False) -> Configuration:
    """What is proved of a serial decoder with a fault."""
    parameters = DecoderParameters(kind=kind, optimize="area")
    return Configuration("broken", TABLE_3_7, partial(faulty_core, parameters, fault), "decoder_core(TABLE_3_7)")


def payload_changes_while_waiting(m: Module, outer: Any, inner: Any) -> None:
    """Only where there is no word, so that nothing else is wrong."""
    count, given, made = Signal(4), inner.output.payload, outer.output.payload
    m.d.sync += count.eq(count + 1)
    m.d.comb += made.symbols[0].code_point.eq(given.symbols[0].code_point ^ Mux(given.keep[0], 0, count))


def valid_is_deasserted_while_waiting(m: Module, outer: Any, inner: Any) -> None:
    waited = Signal()
    m.d.sync += waited.eq(inner.output.valid & ~outer.output.ready)
    m.d.comb += outer.output.valid.eq(inner.output.valid & ~waited)


def valid_is_never_asserted(m: Module, outer: Any, inner: Any) -> None:
    m.d.comb += [outer.output.valid.eq(0), inner.output.ready.eq(0)]


def last_comes_once_too_often(m: Module, outer: Any, inner: Any) -> None:
    is_first = Signal(init=1)
    m.d.sync += is_first.eq(is_first & ~(inner.output.valid & outer.output.ready))
    m.d.comb += outer.output.payload.last.eq(inner.output.payload.last | is_first)


def output_is_endless(m: Module, outer: Any, inner: Any) -> None:
    payload = outer.output.payload
    m.d.comb += [Value.cast(payload).eq(0), payload.keep.eq(1), outer.output.valid.eq(1), inner.output.ready.eq(0)]


def null_beats_are_asserted(m: Module, outer: Any, inner: Any) -> None:
    m.d.comb += outer.output.payload.keep.eq(0)
    m.d.comb += [each.error.eq(0) for each in outer.output.payload.symbols]


def error_flag_stays(m: Module, outer: Any, inner: Any) -> None:
    m.d.comb += [outer.output.payload.symbols[0].error.eq(1), outer.output.payload.keep[0].eq(0)]


def words_have_gaps(m: Module, outer: Any, inner: Any) -> None:
    """The core is correct, but not packed as it states."""


CHANGED = r"cycle \d+: the payload changed before its transfer"
DEASSERTED = r"cycle \d+: valid was deasserted before the transfer of a beat"
VIOLATIONS: dict[str, tuple[PortFault, str]] = {
    "payload changes": (payload_changes_while_waiting, CHANGED),
    "gap": (words_have_gaps, r"cycle \d+: a gap before word 1 of packed words"),
    "valid deasserted": (valid_is_deasserted_while_waiting, DEASSERTED),
    "stuck": (valid_is_never_asserted, r"cycle \d+: no beat was transferred for 64 cycles"),
    "endless": (output_is_endless, r"cycle \d+: output beats for 128 cycles without a transfer of an input beat"),
    "last too often": (last_comes_once_too_often, r"cycle \d+: last is set at the output before a text has ended"),
    "null beats": (null_beats_are_asserted, r"cycle \d+: a beat with neither a word nor last"),
    "flag without word": (error_flag_stays, r"cycle \d+: the error flag of word 0 is set, but there is no word"),
}
"""Faults that violate the contract of a core with two lanes, and the messages."""
