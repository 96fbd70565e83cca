# SPDX-License-Identifier: BSD-2-Clause
"""The invariant of the control of an encoder with a narrower: which of its registers exclude each other."""

from __future__ import annotations

from amaranth.hdl import Cat, Value

from utf8fpga.formal.invariants.buffer import loads_follow
from utf8fpga.hdl.encoder.parallel_encoder import ParallelEncoder
from utf8fpga.hdl.shift_queue import ShiftQueue


def is_consistent(encoder: ParallelEncoder) -> Value:
    """Whether the control of the queue, of the narrower and of its buffer is in a state that can occur.

    Args:
        encoder: an encoder with one lane, whose output is that of a narrower.
    """
    queue, narrower = encoder.buffer, encoder.narrower
    assert isinstance(queue, ShiftQueue)
    assert narrower is not None
    buffer = narrower.buffer
    (run,) = buffer.runs
    return Cat(
        # Beats are in the first places, and duplicates are equal.
        (~queue.valid[1:] | queue.valid[:-1]).all(),
        *(each == ~queue.valid[-1] for each in queue.runs),
        narrower.valid | ~narrower.more,
        narrower.whole == ~narrower.more,
        narrower.takes == (run & ~narrower.more),
        buffer.valid | ~buffer.full,
        loads_follow(buffer),
        # Only after a reset neither is asserted.
        (run ^ buffer.full) | ~(run | buffer.full | buffer.valid | narrower.valid),
    ).all()
