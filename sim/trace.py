# SPDX-License-Identifier: BSD-2-Clause
"""A trace of the harness in terms of text, which is replayed and shortened in Amaranth's simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from utf8fpga.sim.beats import PLAIN, StreamOptions, beat_of, is_null
from utf8fpga.sim.check import DEPENDS_ON_EARLIER, Mismatch, described, first_difference, shortest
from utf8fpga.sim.simulation import Simulation


class Trace(NamedTuple):
    """The texts and the pauses of a trace since its last reset.

    Attributes:
        texts: the symbols of each text; the last one may be incomplete.
        options: the pauses, null beats and ends.
        payloads: the output beats that were transferred.
    """

    texts: list[tuple[int, ...]]
    options: StreamOptions
    payloads: list[int]

    @staticmethod
    def of(core: Any, cycles: Sequence[dict[str, int]]) -> Trace:
        """Read the values of `Environment.seen` in each cycle; a beat that waits at the end is taken as transferred."""
        start = max((number + 1 for number, cycle in enumerate(cycles) if cycle["see_reset"]), default=0)
        since = cycles[start:]
        accepted = [cycle for cycle in since[:-1] if cycle["see_in_valid"] and cycle["see_in_ready"]]
        accepted += [cycle for cycle in since[-1:] if cycle["see_in_valid"]]
        beats = [beat_of(core, cycle["see_in_payload"]) for cycle in accepted]
        texts: list[tuple[int, ...]] = [()]
        ends: list[bool] = []
        for slots, last in (beat for beat in beats if not is_null(beat)):
            units = tuple(slot for slot in slots if slot is not None)
            texts[-1] += units
            if last:
                texts.append(())
                ends.append(not units)
        if not texts[-1]:
            texts.pop()
        # The end of the last text follows the trace if it is not in it.
        ends.append(True)
        # The patterns repeat, so each has a cycle without a pause.
        options = StreamOptions(
            input_pauses=[*(not cycle["see_in_valid"] for cycle in since), False],
            output_pauses=[*(not cycle["see_out_ready"] for cycle in since), False],
            null_beats=[*map(is_null, beats), False],
            separate_ends=ends,
        )
        payloads = [cycle["see_out_payload"] for cycle in since if cycle["see_out_valid"] and cycle["see_out_ready"]]
        return Trace(texts, options, payloads)


def mismatch_of(simulation: Simulation, cycles: Sequence[dict[str, int]], reason: str) -> Mismatch:
    """The difference in a trace, of the text alone that shows it in Amaranth's simulator, shortened there.

    Args:
        cycles: the trace up to the cycle of the difference.
        reason: the property that does not hold, if no text alone shows it.
    """
    trace, python = Trace.of(simulation.core, cycles), simulation.on("python")
    pauses = replace(trace.options, null_beats=(False,), separate_ends=(False,))
    for text in reversed(trace.texts):
        for options in (PLAIN, pauses):
            if found := first_difference(python, text, options):
                return shortest(python, found, options)
    last_text = trace.texts[-1] if trace.texts else ()
    found = described(simulation, last_text, PLAIN, 0, None, None, reason)
    return replace(found, replay=(), no_replay=DEPENDS_ON_EARLIER)
