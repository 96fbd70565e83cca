# SPDX-License-Identifier: BSD-2-Clause
"""The reverse banyan network of the packer never blocks, for up to 64 lanes.

By induction over the steps: before step k the words of each half of a block of 2^(k + 1) lanes are in the lanes that
equal their destinations modulo 2^k; the destinations of the words of a block follow each other. Then the words of the
block are, after the step, in the lanes that equal their destinations modulo 2^(k + 1). That is enumerated here, for
each start of the destinations and each number of words in both halves. The settings of the switches are those of the
circuit.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest
from support.pipelines import outcomes_of

from utf8fpga.hdl.packer.route import turns
from utf8fpga.hdl.pipeline import Pipeline, Staged

STEPS = range(6)
"""Those of a network of 64 lanes."""


@cache
def turns_of_circuit(step: int) -> dict[tuple[int, int], int]:
    """By the lane in which the beat begins and the words before a block, both modulo its lanes: a bit per switch."""
    size = step + 1
    words = range(1 << 2 * size)

    def build(pipeline: Pipeline, bits: list[Staged]) -> list[Staged]:
        return turns(pipeline, step, 0, bits[:size], bits[size:], 0)

    found = outcomes_of(build, words, 2 * size)
    return {
        (word & (1 << size) - 1, word >> size): sum(bit << place for place, bit in enumerate(bits))
        for word, bits in zip(words, found, strict=True)
    }


@pytest.mark.parametrize("step", STEPS)
def test_the_turns_of_a_block_depend_only_on_where_its_destinations_start(step: int) -> None:
    lanes = 2 << step
    found = turns_of_circuit(step)
    assert len(found) == lanes * lanes
    assert all(value == found[(base + before) % lanes, 0] for (base, before), value in found.items())


@pytest.mark.parametrize("step", STEPS)
def test_each_step_moves_the_words_of_a_block_to_their_destinations(step: int) -> None:
    half, lanes = 1 << step, 2 << step
    settings = turns_of_circuit(step)
    for start, left, right in product(range(lanes), range(half + 1), range(half + 1)):
        turned = settings[start, 0]
        # By lane the destination of its word.
        before = {(start + n) % half: (start + n) % lanes for n in range(left)}
        before |= {half + (start + n) % half: (start + n) % lanes for n in range(left, left + right)}
        assert len(before) == left + right
        for lane, destination in before.items():
            place = lane % half
            # A switch with a word on the left exchanges its lanes if that word turns, and otherwise if it would not.
            crosses = bool(turned >> place & 1) == (place in before)
            assert (lane ^ half if crosses else lane) == destination
