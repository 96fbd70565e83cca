# SPDX-License-Identifier: BSD-2-Clause
"""Proofs of cores that hold nothing but what they will output, by what is output when they are drained.

The invariant is not written down. It is: if the core is drained, with a ready consumer and no further beat, then no
monitor raises its bit. So it is a claim about each cycle of the drain, made from the circuit itself, and it says all
about the contents of the core that matters. Three kinds of questions to a SAT solver make the proof:

- after a reset, from arbitrary contents of flip-flops, and after power-up, the invariant holds;
- if it holds, no monitor raises its bit, whatever happens in the cycle;
- if it holds, it holds one cycle later.

It is not inductive for a core whose behaviour depends on what a drain does not show, such as an open sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from utf8fpga.formal.aiger import Aig, GateList
from utf8fpga.formal.cycles import entailed, next_cycle
from utf8fpga.formal.properties import Harness, Property
from utf8fpga.model import EncodingTable


def prove_drained(
    build: Callable[[], Any],
    wanted: Property,
    table: EncodingTable | None = None,
    *,
    gapless: bool = False,
    seconds: int = 600,
) -> tuple[bool | None, str]:
    """Prove `Property.EQUIVALENCE`, `Property.STEADY` and `Property.LATENCY` of a core, also from power-up on.

    Args:
        wanted: one of these; `Property.POWER_UP`: all, from power-up on. They are proved together.
        gapless: the output is valid as long as the core holds anything, which is a part of the invariant.

    Returns:
        True; or False, None if the limit was reached, and what does not follow. False may mean that the invariant is
        not inductive.
    """
    harness = Harness(build, Property.DRAINED, table)
    aig = harness.graph()
    # What waits at the input is accepted meanwhile, and follows what the core holds.
    drain = _Drain(aig, 2 * (int(harness.decoder.drain_cycles) + 1), gapless)
    ways = {"step": drain.contents, "reset": drain.contents}
    if wanted is Property.POWER_UP:
        ways["power-up"] = [0] * len(aig.latches)
    for way, state in ways.items():
        inputs = [*drain.inputs]
        inputs[aig.input_bits["reset"][0]] = int(way == "reset")
        given = drain.claims(state) if way == "step" else {}
        following = next_cycle(drain.gates, aig, state, inputs)[1] if way != "power-up" else state
        claims = {f"{way}: {name}": [literal] for name, literal in drain.claims(following).items()}
        proved, failed = entailed(drain.gates, given.values(), claims, seconds=seconds)
        if not proved:
            return proved, failed
    return True, ""


class _Drain:
    """The invariant in any state, of a `Harness` of `Property.DRAINED`.

    Attributes:
        gates: a graph whose inputs are those of the harness, and its registers.
        inputs, contents: the literals of both.
    """

    def __init__(self, aig: Aig, cycles: int, gapless: bool) -> None:
        self._aig, self._cycles, self._gapless = aig, cycles, gapless
        latches = len(aig.latches)
        self.gates = GateList.blank(aig.inputs + latches)
        literals = [2 * (1 + n) for n in range(aig.inputs + latches)]
        self.inputs, self.contents = literals[: aig.inputs], literals[aig.inputs :]

    def claims(self, state: Sequence[int]) -> dict[str, int]:
        """By name the claims about a state, as literals."""
        aig, gates, found = self._aig, self.gates, dict[str, int]()
        quiet = [0] * aig.inputs
        quiet[aig.input_bits["ready"][0]] = 1
        bits = aig.output_bits
        continues = 1
        for cycle in range(self._cycles):
            outputs, state = next_cycle(gates, aig, state, quiet)
            found |= {f"monitor {n} in cycle {cycle}": outputs[bit] ^ 1 for n, bit in enumerate(bits["bad"])}
            valid, offered, ready = (outputs[bits[f"see_{name}"][0]] for name in ("out_valid", "in_valid", "in_ready"))
            if self._gapless:
                # A valid beat follows a valid beat, or one that is accepted from the waiting producer.
                found[f"no gap in cycle {cycle}"] = gates.both(valid, continues ^ 1) ^ 1
                continues = gates.both(valid ^ 1, gates.both(offered, ready) ^ 1) ^ 1
        found["empty"] = valid ^ 1
        return found
