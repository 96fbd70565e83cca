# SPDX-License-Identifier: BSD-2-Clause
"""A reverse banyan network: it moves the words of a beat to the lanes where the beat before it ended."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Const, Mux

from utf8fpga.hdl.fan_out import are_many
from utf8fpga.hdl.packer.route import Number, WordCounts, duplicates, turns, which_exceeds
from utf8fpga.hdl.pipeline import ZERO, Pipeline, Staged, latest

_MANY = 32
"""Upper bound on the lanes of a network whose nets are so short that it may have more registers."""

_CROSSES, _STAYS, _PRESENT, _WORD = (
    "crosses_S_L_C: in cycle C step S of the network exchanges the words of lane L and of that 2^S above it.",
    "stays_S_L_C: it leaves them, the complement in a register of its own.",
    "present_S_L_C: behind step S there is a word in lane L.",
    "word_S_L_C: the word in lane L behind step S.",
)
"""Comments on registers, with step, lane, and cycle in their names."""


class Network:
    """The switches of a packer, with their settings.

    Step k connects lanes that are 2^k apart: it exchanges their words or not, by bit k of the destination. A word's
    destination is the lane in which its beat begins plus the words before it, modulo the lanes of the network. An
    aligned block of 2^(k + 1) lanes holds at most that many words, and their destinations follow each other. So no two
    of them want the same lane: the network never blocks.

    A number of lanes that is no power of two has the network of the next one. Its destinations are not reduced modulo
    the lanes, so one more step folds them: a lane takes the word with its own number, or that with its own number plus
    the lanes.

    Words need no destination with them: a switch is set by where its block starts and by whether its left lane holds
    a word, see `turns`.

    Args:
        words: per lane the word, one cycle before `keep`. They wait for the settings of the first step.
        base: the lane in which the beat begins, a number with a bit for each step.
        is_short: `base` has no registers of its own for the first steps: a cycle less, for few lanes.

    Attributes:
        group: lanes that share pointers: so many words are in one memory. More lanes make the nets from a pointer
            longer, fewer lanes those to the pointers.
        given: per lane the word that waits, with many lanes in a register.
        crossings: per step and left lane whether its words are exchanged with those of the right lane.
        wraps: per lane whether it is before the lane in which the beat begins.
        present: before each step and after the last one, per lane of the network whether it holds a word.
        words: the same for the words; after the fold per lane.
        cycle: the cycle in which the last words are valid.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        lanes: int,
        keep: Sequence[Staged],
        words: Sequence[Staged],
        base: Number,
        counts: WordCounts,
        *,
        is_short: bool,
    ) -> None:
        self._pipeline, self._lanes = pipeline, lanes
        steps = len(base)
        size = 1 << steps
        self._has_many = lanes > _MANY
        self.group = 4 if self._has_many else 2
        # The first two steps have the most blocks: registers of their own keep the nets of the feedback short.
        near = duplicates(pipeline, "near_base", base, lanes) if not is_short else [base]
        padding = size - lanes
        nothing = Staged(Const(0, len(words[0].value)), 0)
        self.present: list[list[Staged]] = [[*keep, *[ZERO] * padding]]
        self.words: list[list[Staged]] = []
        if are_many(lanes):
            # Memories in front and memories in which words wait: the nets between them are long.
            words = [pipeline.register(f"given_{lane}", word.value, word.stage) for lane, word in enumerate(words)]
        self.given = words
        self._given = [*words, *[nothing] * padding]
        self.crossings: list[dict[int, Staged]] = []
        for step in range(steps):
            self._step(step, near, counts)
        # They are needed late, so that the base is delayed rather than as many bits as lanes.
        self.cycle = latest(self.words[-1])
        self.wraps = which_exceeds(pipeline, "wraps", base, lanes, earliest=self.cycle - (not padding))
        if padding:
            words = self.words[-1]
            self.words.append(
                [
                    pipeline.apply(f"word_fold_{lane}", Mux, wraps, words[(lane + lanes) % size], words[lane])
                    for lane, wraps in enumerate(self.wraps)
                ]
            )
            self.cycle = latest(self.words[-1])

    def _step(self, step: int, near: Sequence[Number], counts: WordCounts) -> None:
        pipeline, far = self._pipeline, 1 << step
        present = self.present[-1]
        known = latest(present)
        places = len(counts.before[step])
        blocks = [
            turns(pipeline, step, block, near[block * len(near) // places], before, known)
            for block, before in enumerate(counts.before[step])
        ]
        cycle = latest([*present, *(turn for block in blocks for turn in block)])
        if step == 0:
            self.words.append(self._wait(cycle + 1))
        words = self.words[-1]
        crossings: dict[int, Staged] = {}
        moved, switched = list(present), list(words)
        for block, block_turns in enumerate(blocks):
            for place, turn in enumerate(block_turns):
                left = 2 * far * block + place
                right = left + far
                here, there = (pipeline.at(present[lane], cycle) for lane in (left, right))
                crosses = ~(pipeline.at(turn, cycle) ^ here)
                crossings[left] = pipeline.register(f"crosses_{step}_{left}", crosses, cycle, comment=_CROSSES)
                for lane, value in (left, Mux(crosses, there, here)), (right, Mux(crosses, here, there)):
                    moved[lane] = pipeline.register(f"present_{step}_{lane}", value, cycle, comment=_PRESENT)
                # Whether a lane holds a word is known one cycle before the word.
                stays = Staged(~crossings[left].value, crossings[left].stage)
                if not self._has_many:
                    # Each lane has its own register, one of them the complement, so that synthesis does not merge them.
                    stays = pipeline.register(f"stays_{step}_{left}", ~crosses, cycle, comment=_STAYS)
                pair = words[right], words[left]
                for lane, takes_right in (left, crossings[left]), (right, stays):
                    switched[lane] = pipeline.apply(f"word_{step}_{lane}", Mux, takes_right, *pair, comment=_WORD)
        self.present.append(moved)
        self.words.append(switched)
        self.crossings.append(crossings)

    def _wait(self, until: int) -> list[Staged]:
        """The words when the first step needs them."""
        found: list[Staged] = []
        for start in range(0, self._lanes, self.group):
            group = range(start, min(self._lanes, start + self.group))
            names = [f"word_{lane}" for lane in group]
            found += self._pipeline.wait(names, [self._given[lane] for lane in group], until)
        return [*found, *self._given[self._lanes :]]
