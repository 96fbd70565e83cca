# SPDX-License-Identifier: BSD-2-Clause
"""The register stages of a parallel decoder, and the latency that follows from them."""

from __future__ import annotations

from dataclasses import dataclass

from utf8fpga.hdl.memory_buffer import MemoryBuffer
from utf8fpga.hdl.register_buffer import RegisterBuffer
from utf8fpga.hdl.sliced_buffer import SlicedBuffer
from utf8fpga.model import EncodingTable, InvalidArgumentError

BUFFERS = ("registers", "memory", "slices")
"""The kinds of buffer, which holds output beats while the consumer is not ready."""

IN_PACKER = "packer"
"""In place of a buffer: the memories of the packer behind it hold all beats."""

_SLICED = 32
"""Lanes from which on the control of a memory is divided into slices by default."""

_SHARED = 8
"""Lanes up to which, and twice as many with which, a packed decoder has no buffer of its own by default."""

_SHARED_STEPS = 4
"""Upper bound on the stages of its window."""

_STEPS = (
    "",
    "ends",
    "pairs ends",
    "features pairs ends",
    "features pairs thirds ends",
    "features pairs thirds ends words",
    "features leads pairs thirds ends words",
)
"""For each setting of the pipeline the steps of the window that are followed by registers."""

PARALLEL_PIPELINES = tuple(range(len(_STEPS)))
"""The settings of the pipeline parameter of a parallel decoder."""


def default_pipeline(lanes: int, *, packed: bool) -> int:
    """The smallest setting of the pipeline with which the clock network of an ECP5 of speed grade 6 is the limit.

    By the recorded figures. Decoders with more lanes have the fastest setting.
    """
    return 2 if lanes <= (_PACKED_AT_LIMIT if packed else _SPARSE_AT_LIMIT) else FASTEST


FASTEST = 5
"""The setting of the pipeline with the highest clock frequency from 2 lanes on, where wires limit it."""

_SPARSE_AT_LIMIT, _PACKED_AT_LIMIT = 16, 8
"""Upper bounds on the lanes of sparse and of packed decoders that reach the limit with the setting 2."""


_DECISION = 2
"""Stages for the comparison of the last unit of a beat with the next beat: the held beat, and its items."""


@dataclass(frozen=True)
class PipelineStages:
    """The stages of a parallel decoder.

    A beat passes the stages of the window and is held until the next beat is known; its items then pass the buffer. In
    front of a memory only the last lane waits: the items of the other lanes do not depend on the next beat, and are
    output as a row at once.

    Args:
        pipeline: one of `PARALLEL_PIPELINES`: 0 is the smallest, 6 has the fewest look-up tables between registers.
        buffer: one of `BUFFERS`.

    Raises:
        InvalidArgumentError: one of them is invalid.
    """

    pipeline: int
    buffer: str

    def __post_init__(self) -> None:
        if self.pipeline not in PARALLEL_PIPELINES:
            raise InvalidArgumentError(f"pipeline {self.pipeline} is not in 0..{PARALLEL_PIPELINES[-1]}")
        if self.buffer not in BUFFERS:
            raise InvalidArgumentError(f"buffer {self.buffer!r} is not one of {', '.join(BUFFERS)}")

    @staticmethod
    def of(table: EncodingTable, lanes: int, pipeline: int, buffer: str | None = None) -> PipelineStages:
        """The stages of a decoder of `table`.

        Args:
            buffer: default: memory where it is possible, from as many lanes on as the longest sequence has units, and
                slices from 32 lanes on. With fewer lanes a beat may have no item, and a buffer in memory cannot drop
                beats.

        Raises:
            InvalidArgumentError: `pipeline` or `buffer` is invalid, or there are too few lanes for a memory.
        """
        least = table.longest
        default = "slices" if lanes >= _SLICED else "memory" if lanes >= least else "registers"
        stages = PipelineStages(pipeline, buffer or default)
        if stages.buffer != "registers" and lanes < least:
            raise InvalidArgumentError(
                f"a buffer in {stages.buffer} is for {least} lanes or more, not {lanes}: use registers"
            )
        return stages

    def fits_packer(self, lanes: int) -> bool:
        """Whether all beats of a decoder without a buffer fit memories of 16 rows in its packer.

        A packer of a number of lanes that is no power of two has the pipeline of the next one, with longer sums.
        """
        return len(self.steps) <= _SHARED_STEPS and (lanes <= _SHARED or lanes == 2 * _SHARED)

    @property
    def steps(self) -> frozenset[str]:
        """The steps of `Window` that end in registers."""
        return frozenset(_STEPS[self.pipeline].split()) - {"words"}

    @property
    def words(self) -> bool:
        """Whether the code points of a beat are in registers before the beat is held."""
        return "words" in _STEPS[self.pipeline]

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
