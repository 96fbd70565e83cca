# SPDX-License-Identifier: BSD-2-Clause
"""The decoder of a composition of two tables, such as CESU-8: a decoder of each, one behind the other."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.decoder.parameters import DecoderParameters
from utf8fpga.hdl.payloads import item_layout
from utf8fpga.model.table import Composition, EncodingTable

__all__ = ["ComposedDecoder", "flagged_form"]


@lru_cache(maxsize=8)
def flagged_form(composition: Composition) -> EncodingTable:
    """The form of a composition with one more bit in each code unit, which is 1 for what is ill-formed.

    No sequence has such a unit, so it is an ill-formed item by itself, and breaks an open sequence: what the model's
    `decode` states for compositions.
    """
    form = composition.form
    return EncodingTable(f"{form.name} with error flags", form.source, form.unit_width + 1, form.rows)


class ComposedDecoder(wiring.Component):
    """The decoder of the unit table, and behind it one of the form of the composition, whose units are the items.

    Throughput: a beat per cycle. Latency: the sum of both, and of the `Remover` between them if there are several
    lanes: then code units wait until there are as many as lanes, or until the packet ends.

    Args:
        composition: the form.
        parameters: those of the decoder of the unit table, sparse.
        replacement: see `ItemOptions`.

    Attributes:
        first, second: the two decoders.

    Ports:
        input: stream of `beat_layout`, code units of the unit table.
        output: stream of `beat_layout`, items of `item_layout` of `flagged_form`.
    """

    def __init__(self, composition: Composition, parameters: DecoderParameters, *, replacement: bool) -> None:
        form, lanes = flagged_form(composition), parameters.lanes
        # The code point of an ill-formed code unit is not used.
        self.first = replace(parameters, replacement=False).build()
        self.second = DecoderParameters(
            table=form,
            lanes=lanes,
            packed=False,
            pipeline=parameters.pipeline,
            compact_input=lanes > 1,
            replacement=replacement,
        ).build()
        super().__init__(
            {
                "input": In(stream.Signature(beat_layout(composition.unit_width, lanes))),
                "output": Out(stream.Signature(beat_layout(item_layout(form), lanes))),
            }
        )

    @property
    def latency(self) -> int:
        """Upper bound on the cycles from the beat that determines an item, and fills or ends its beats, to the item."""
        return int(self.first.latency + self.second.latency)

    @property
    def reset_cycles(self) -> int:
        """Cycles after a reset in which `input.ready` is deasserted."""
        return int(self.first.reset_cycles)

    @property
    def stall_cycles(self) -> int:
        """Upper bound on the cycles in a row in which `input.ready` is deasserted while no output beat waits."""
        # The second decoder includes its reset: its stall is never shorter.
        return int(self.first.stall_cycles + self.second.stall_cycles)

    @property
    def drain_cycles(self) -> int:
        """Upper bound on the cycles until all determined items have been transferred, while no beat waits."""
        return int(self.first.drain_cycles + self.second.stall_cycles + self.second.drain_cycles)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.first, m.submodules.second = first, second = self.first, self.second
        wiring.connect(m, wiring.flipped(self.input), first.input)
        wiring.connect(m, wiring.flipped(self.output), second.output)
        items, units = first.output, second.input
        m.d.comb += [
            units.valid.eq(items.valid),
            items.ready.eq(units.ready),
            units.payload.keep.eq(items.payload.keep),
            units.payload.last.eq(items.payload.last),
        ]
        for lane in range(len(items.payload.keep)):
            item, unit = items.payload.symbols[lane], Value.cast(units.payload.symbols[lane])
            m.d.comb += unit.eq(Cat(item.code_point[: len(unit) - 1], item.error))
        return m
