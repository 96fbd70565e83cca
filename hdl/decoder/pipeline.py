# SPDX-License-Identifier: BSD-2-Clause
"""The register stages of a parallel decoder, and the latency that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.lib import data

from utf8fpga.hdl.beats import stage_ports
from utf8fpga.hdl.memory_buffer import MemoryBuffer
from utf8fpga.hdl.parameters import DecoderParameters
from utf8fpga.hdl.payloads import item_layout, slots_layout
from utf8fpga.hdl.register_buffer import RegisterBuffer
from utf8fpga.hdl.sliced_buffer import SlicedBuffer
from utf8fpga.model import EncodingTable

_SLICED = 32
"""Lanes from which on the control of a memory is divided into slices."""

_SHARED = 8
"""Lanes up to which, and twice as many with which, a packed decoder has no buffer of its own."""

_STEPS = {
    "area": "",
    "speed": "pairs ends",
    "fastest": "features pairs thirds ends words",
}
"""The steps of the window that are followed by registers: as few as possible, enough for the clock network of an ECP5
of speed grade 6 to be the limit of few lanes, and as many as help from 2 lanes on, where wires are the limit."""

_SPARSE_AT_LIMIT, _PACKED_AT_LIMIT = 16, 8
"""Upper bounds on the lanes of sparse and of packed decoders that reach the limit with the steps of ``speed``."""


def is_fastest(lanes: int, *, packed: bool) -> bool:
    """Whether a decoder for speed has the most register stages, by the recorded figures."""
    return lanes > (_PACKED_AT_LIMIT if packed else _SPARSE_AT_LIMIT)


def packer_is_buffer(table: EncodingTable, lanes: int) -> bool:
    """Whether all beats of a packed decoder without a buffer of its own fit memories of 16 rows in its packer.

    A packer of a number of lanes that is no power of two has the pipeline of the next one, with longer sums.
    """
    return lanes >= table.longest and (lanes <= _SHARED or lanes == 2 * _SHARED)


_DECISION = 2
"""Stages for the comparison of the last unit of a beat with the next beat: the held beat, and its items."""


@dataclass(frozen=True)
class PipelineStages:
    """The stages of a parallel decoder.

    A beat passes the stages of the window and is held until the next beat is known; its items then pass the buffer. In
    front of a memory only the last lane waits: the items of the other lanes do not depend on the next beat, and are
    output as a row at once.

    Attributes:
        cuts: the steps that are followed by registers, and ``words``: the code points of a beat are in registers before
            the beat is held.
        buffer: the buffer behind the window: ``registers``, ``memory``, or ``slices``, a memory with separate control
            for each slice of lanes.
    """

    cuts: frozenset[str]
    buffer: str

    @staticmethod
    def of(table: EncodingTable, lanes: int, setting: str) -> PipelineStages:
        """The stages of a decoder of `table`, with the steps of a setting.

        A beat of fewer lanes than the longest sequence has units may have no item, and a buffer in memory cannot drop
        beats.
        """
        in_memory = "slices" if lanes >= _SLICED else "memory"
        return PipelineStages(frozenset(_STEPS[setting].split()), in_memory if lanes >= table.longest else "registers")

    @property
    def steps(self) -> frozenset[str]:
        """The steps of `Window` that end in registers."""
        return self.cuts - {"words"}

    @property
    def words(self) -> bool:
        """Whether the code points of a beat are in registers before the beat is held."""
        return "words" in self.cuts

    @property
    def window_cycles(self) -> int:
        """Cycles from a beat at the input to the stage in which its first unit is compared with the beat before."""
        # In front of a memory the last lane has no stage for its code point.
        return len(self.steps) + (self.words and self.buffer == "registers")

    @property
    def row_cycles(self) -> int:
        """In front of a memory: cycles from a beat at the input to the items of all lanes but the last."""
        return len(self.steps) + self.words

    @property
    def item_cycles(self) -> int:
        """Cycles from the beat that determines an item to the items of its beat at the output of the window."""
        return self.window_cycles + _DECISION

    @property
    def latency(self) -> int:
        """Cycles from the beat that determines an item to the item at the output, while no beat waits."""
        buffers = {"registers": RegisterBuffer.latency, "memory": MemoryBuffer.latency, "slices": SlicedBuffer.latency}
        return self.item_cycles + buffers[self.buffer]

    @property
    def pauses(self) -> int:
        """With a buffer in registers: the number of stages that pause together, each with its own enable bit.

        These are the input, the stages of the window with that in front of them, the beat that is held and its items.
        """
        return len(self.steps) + 4


def stages_of(parameters: DecoderParameters) -> PipelineStages:
    """The register stages of a parallel decoder."""
    is_wide = is_fastest(parameters.lanes, packed=parameters.packed)
    setting = "fastest" if is_wide and parameters.optimize == "speed" else parameters.optimize
    return PipelineStages.of(parameters.table, parameters.lanes, setting)


def item_of(parameters: DecoderParameters) -> data.StructLayout:
    """An item at the output of a decoder."""
    return item_layout(parameters.table, kind=parameters.kind)


def slots_of(parameters: DecoderParameters) -> data.StructLayout:
    """A beat of items inside a parallel decoder."""
    return slots_layout(item_of(parameters), parameters.lanes)


def ports_of(parameters: DecoderParameters) -> dict[str, Any]:
    """The streams of a decoder."""
    return stage_ports(parameters.table.unit_width, item_of(parameters), parameters.lanes)
