# SPDX-License-Identifier: BSD-2-Clause
"""The parallel decoder: several code units per cycle, as a sliding window and a buffer."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import data, wiring

from utf8fpga.hdl.beats import is_effective
from utf8fpga.hdl.decoder.pipeline import PipelineStages, ports_of, slots_of
from utf8fpga.hdl.decoder.window import BeatWindow, RowWindow
from utf8fpga.hdl.memory_buffer import MemoryBuffer, RowBuffer
from utf8fpga.hdl.parameters import DecoderParameters
from utf8fpga.hdl.payloads import beat_of_slots
from utf8fpga.hdl.register_buffer import RegisterBuffer
from utf8fpga.hdl.sliced_buffer import SlicedBuffer


def buffer_of(stages: PipelineStages, layout: data.StructLayout) -> RegisterBuffer | RowBuffer:
    """The buffer behind the window of a decoder with these stages, for beats of `layout`."""
    if stages.buffer == "registers":
        return RegisterBuffer(layout, stages.pauses)
    kind = SlicedBuffer if stages.buffer == "slices" else MemoryBuffer
    return kind(layout, row_cycles=stages.row_cycles)


class ParallelDecoder(wiring.Component):
    """Beats of several code units in, at most as many items out, one U+FFFD per maximal subpart (D93b).

    Each lane is the same window over a unit, those before it and the one after it; there is no feedback. An item is in
    the lane of its last unit, so the words of a beat are in order and may have gaps between them (*sparse*; `Packer`
    closes the gaps).

    Throughput: a beat per cycle on any input; `input.ready` is deasserted only while beats wait for `output.ready`, and
    within the bounds below. Back-to-back packets need no gap and no reset.

    Latency: the items of a beat are valid at most `latency` cycles after the beat was accepted, while no beat waits, if
    it ends its packet or does not end within a sequence. Otherwise whether its last unit is the end of an item depends
    on the next beat, and the cycles count from that one. Beats that hold no item and do not end a packet are dropped,
    unless `keeps_empty`.
    So are null beats, those with neither a unit nor `last`: they are transferred and have no effect.

    Structure: a window, and a buffer behind it. `input.ready` and `output.valid` are registers of the buffer, so there
    is no combinational path through the decoder. With a buffer in *registers* (`BeatWindow`, `RegisterBuffer`) all
    stages pause while two beats wait at the output. With a buffer in *memory* (`RowWindow`, `MemoryBuffer`) no stage
    ever pauses: the output of the window is written to small memories, and beats are accepted while there is room for
    all in-flight beats. For many lanes this is smaller on devices with LUT memory, such as ECP5. In *slices*
    (`SlicedBuffer`) the memories of each slice of lanes have their own control.

    Args:
        parameters: the parameters.
        stages: the register stages.
        keeps_empty: beats that hold no item are output too, empty, so that a packer behind does not take them for a
            pause of the input.

    Ports:
        input: stream of `beat_layout`, code units.
        output: stream of `beat_layout`, items of `item_layout`.

    Raises:
        TableError: the table does not allow a parallel decoder, see `WindowControl.of`.
    """

    packed = False
    holds_beats = True
    """Beats that have waited may be inside: `latency` is for those since none was."""

    def __init__(self, parameters: DecoderParameters, stages: PipelineStages, *, keeps_empty: bool = False) -> None:
        self.parameters, self.lanes, self.stages = parameters, parameters.lanes, stages
        # In front of a memory there are none, since each beat holds an item.
        self.keeps_empty = keeps_empty and stages.buffer == "registers"
        self.window: BeatWindow | RowWindow
        if stages.buffer == "registers":
            self.window = BeatWindow(parameters, stages, keeps_empty=self.keeps_empty)
        else:
            self.window = RowWindow(parameters, stages)
        self.item_buffer = buffer_of(stages, slots_of(parameters))
        self.latency = stages.latency
        self.reset_cycles = self.item_buffer.reset_cycles
        self.stall_cycles = max(self.item_buffer.stall_cycles, self.reset_cycles)
        self.drain_cycles = self.item_buffer.capacity + self.latency + 2
        super().__init__(ports_of(parameters))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.window, m.submodules.buffer = window, buffer = self.window, self.item_buffer
        m.d.comb += [
            window.input.payload.eq(self.input.payload),
            *beat_of_slots(self.output.payload, buffer.output.payload),
            self.output.valid.eq(buffer.output.valid),
            buffer.output.ready.eq(self.output.ready),
        ]
        if isinstance(window, BeatWindow):
            assert isinstance(buffer, RegisterBuffer)
            m.d.comb += [
                window.input.valid.eq(self.input.valid),
                self.input.ready.eq(window.input.ready),
                window.run.eq(buffer.run),
                buffer.entry.eq(window.slots),
                buffer.entry_valid.eq(window.slots_valid),
            ]
        else:
            assert isinstance(buffer, RowBuffer)
            m.d.comb += [
                window.input.valid.eq(self.input.valid & buffer.ready),
                self.input.ready.eq(buffer.ready),
                buffer.accepted.eq(is_effective(window.input)),
                buffer.row.eq(window.row),
                buffer.row_valid.eq(window.row_valid),
                buffer.tail.eq(window.tail),
                buffer.tail_valid.eq(window.tail_valid),
                window.late_reset.eq(buffer.late_reset),
            ]
        return m
