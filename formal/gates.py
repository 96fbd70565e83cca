# SPDX-License-Identifier: BSD-2-Clause
"""Designs as and-inverter graphs, and gates that are added to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from utf8fpga.hdl.toolchain import run_yosys
from utf8fpga.sim.aiger import Aig, read_aig
from utf8fpga.sim.harness import Top

_MERGE = "opt_expr -keepdc; opt_merge -keepdc t:* t:$dff %d t:$_DFF_P_ %d; opt_clean; "
"""Only gates are simplified, and equal cells merged; this leaves an eighth of the gates, in half the time. Registers
are not merged: those with the same next value may have different contents before a reset."""

_SCRIPT = (
    "read_rtlil top.il; hierarchy -auto-top; proc -noopt; flatten; opt_clean; "
    f"{_MERGE}memory_collect; memory_map; {_MERGE}techmap; dffunmap; {_MERGE}flatten; "
    "opt_clean; dffunmap; aigmap; opt_clean; write_aiger -zinit -symbols -map top.map top.aig"
)


def aig_of(rtlil: str) -> Aig:
    """A design, whose clock is a port, as an and-inverter graph."""
    graph, numbers = run_yosys(_SCRIPT, {"top.il": rtlil}, "top.aig", "top.map")
    aig = read_aig(graph)
    inner = re.findall(r"^(?:inv)?latch (\d+) \d+ \\?dut\.", numbers.decode(), re.MULTILINE)
    aig.core = {int(number) for number in inner}
    return aig


@lru_cache(maxsize=8)
def graph_of(top: Top) -> Aig:
    """A top module as an and-inverter graph."""
    return aig_of(top.rtlil())


def aiger_file(aig: Aig, where: int | None = None) -> bytes:
    """The AIGER file of a graph, with all its outputs or with one of them alone."""
    latches, gates = len(aig.latches), len(aig.gates)
    outputs = aig.outputs if where is None else [aig.outputs[where]]
    header = f"aig {aig.inputs + latches + gates} {aig.inputs} {latches} {len(outputs)} {gates}\n"
    return (header + "".join(f"{number}\n" for number in [*aig.latches, *outputs])).encode() + aig.packed


class GateList:
    """The gates of a graph, to which others are added.

    Args:
        aig: the graph, which is not changed.

    Attributes:
        first: the number of the variables that are no gates, without the constant.
        gates, packed: as in `Aig`.
    """

    def __init__(self, aig: Aig) -> None:
        self.first = aig.inputs + len(aig.latches)
        self.gates, self.packed = list(aig.gates), bytearray(aig.packed)
        self._known = {pair: 2 * (self.first + n) for n, pair in enumerate(self.gates, 1)}

    @staticmethod
    def blank(inputs: int, latches: int = 0) -> GateList:
        """No gates yet, for a graph with so many inputs and latches."""
        return GateList(Aig(inputs, [0] * latches, [], [], {}, {}, b""))

    def graph(
        self,
        latches: list[int],
        outputs: list[int],
        input_bits: dict[str, list[int]],
        output_bits: dict[str, list[int]],
    ) -> Aig:
        """The graph with these gates, the next values of its latches, its outputs and its ports."""
        inputs = self.first - len(latches)
        return Aig(inputs, latches, outputs, self.gates, input_bits, output_bits, bytes(self.packed))

    def both(self, one: int, other: int) -> int:
        """The literal that is 1 if both are."""
        left, right = max(one, other), min(one, other)
        if right == 0 or left == right ^ 1:
            return 0
        if right == 1 or left == right:
            return left
        literal = self._known.get((left, right))
        if literal is None:
            self.gates.append((left, right))
            literal = self._known[left, right] = 2 * (self.first + len(self.gates))
            self.packed.extend(_delta(literal - left) + _delta(left - right))
        return literal

    def either(self, one: int, other: int) -> int:
        """The literal that is 1 if one of both is."""
        return self.both(one ^ 1, other ^ 1) ^ 1

    def same(self, one: int, other: int) -> int:
        """The literal that is 1 if both are equal."""
        return self.both(self.both(one, other ^ 1) ^ 1, self.both(one ^ 1, other) ^ 1)


def any_start(aig: Aig) -> Aig:
    """The graph in which the latches of the core have any value in the first cycle: that of a further input each."""
    core = sorted(aig.core)
    gates = GateList.blank(aig.inputs + len(core), len(aig.latches) + 1)
    inputs = [2 * (1 + n) for n in range(aig.inputs)]
    latches = [2 * (1 + aig.inputs + len(core) + n) for n in range(len(aig.latches))]
    started = 2 * gates.first
    for number, latch in enumerate(core):
        first = gates.both(2 * (1 + aig.inputs + number), started ^ 1)
        latches[latch] = gates.either(gates.both(latches[latch], started), first)
    outputs, following = next_cycle(gates, aig, latches, inputs)
    return gates.graph([*following, 1], outputs, aig.input_bits, aig.output_bits)


def next_cycle(gates: GateList, aig: Aig, state: Sequence[int], inputs: Sequence[int]) -> tuple[list[int], list[int]]:
    """The outputs of a circuit and the next values of its latches, as literals of another graph.

    Args:
        gates: the graph, to which gates are added.
    """
    values = [0, *inputs, *state]
    for left, right in aig.gates:
        values.append(gates.both(values[left >> 1] ^ (left & 1), values[right >> 1] ^ (right & 1)))
    outputs, following = (
        [values[literal >> 1] ^ (literal & 1) for literal in literals] for literals in (aig.outputs, aig.latches)
    )
    return outputs, following


def values(aig: Aig, frames: Iterable[Sequence[int]]) -> list[dict[str, int]]:
    """Per cycle the values of the output ports, from the inputs of each cycle."""
    state, found = [0] * len(aig.latches), []
    for inputs in frames:
        # Gates of constants are constants.
        outputs, state = next_cycle(GateList.blank(0), aig, state, inputs)
        ports = aig.output_bits.items()
        found.append({name: sum(outputs[place] << bit for bit, place in enumerate(places)) for name, places in ports})
    return found


def depends(aig: Aig, outputs: Iterable[str], inputs: Iterable[str]) -> bool:
    """Whether output ports depend on input ports within the cycle."""
    todo = [aig.outputs[at] >> 1 for port in outputs for at in aig.output_bits[port]]
    first, used = 1 + aig.inputs + len(aig.latches), set[int]()
    while todo:
        variable = todo.pop()
        if variable not in used:
            used.add(variable)
            todo += [literal >> 1 for literal in aig.gates[variable - first]] if variable >= first else []
    return any(1 + at in used for port in inputs for at in aig.input_bits[port])


def _delta(value: int) -> bytes:
    """A number in the variable-length encoding of AIGER."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
