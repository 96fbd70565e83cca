# SPDX-License-Identifier: BSD-2-Clause
"""Circuits as and-inverter graphs: from RTLIL by Yosys, in the AIGER format, and stepped in Python."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from utf8fpga.hdl.toolchain import run_yosys

_MERGE = "opt_expr -keepdc; opt_merge -keepdc t:* t:$dff %d t:$_DFF_P_ %d; opt_clean; "
"""Only gates are simplified, and equal cells merged; this leaves an eighth of the gates, in half the time. Registers
are not merged: those with the same next value may have different contents before a reset."""

_SCRIPT = (
    "read_rtlil top.il; hierarchy -top {top}; proc -noopt; flatten; opt_clean; "
    f"{_MERGE}memory_collect; memory_map; {_MERGE}techmap; dffunmap; {_MERGE}flatten; "
    "opt_clean; dffunmap; aigmap; opt_clean; write_aiger -zinit -symbols -map top.map top.aig"
)


@dataclass
class Aig:
    """An and-inverter graph as AIGER has it; all latches start at 0.

    Literal 2n is variable n, 2n + 1 its inverse, 0 is false. Inputs, then latches, then gates are
    numbered from 1.

    Attributes:
        latches: per latch the literal of its next value.
        input_bits: per port the inputs that are its bits.
        output_bits: per port the outputs that are its bits.
        packed: the gates in the encoding of the file.
        core: the latches of the submodule ``dut``.
    """

    inputs: int
    latches: list[int]
    outputs: list[int]
    gates: list[tuple[int, int]]
    input_bits: dict[str, list[int]]
    output_bits: dict[str, list[int]]
    packed: bytes = field(repr=False)
    core: set[int] = field(default_factory=set, repr=False)

    def stepper(self, wanted: Sequence[int]) -> Callable[[list[int], list[int], int], tuple[list[int], list[int]]]:
        """A function of latches and inputs that returns the next values of the latches, and the outputs `wanted`.

        Values are integers, in which each bit is a run of its own; the last argument has all those bits set.
        Latches on which none of these outputs depends stay 0.
        """
        outputs = [self.outputs[n] for n in wanted]
        used = self._used(outputs)
        base, latch = 1 + self.inputs + len(self.latches), 1 + self.inputs
        names = ["0", *(f"i{n}" for n in range(self.inputs)), *(f"l{n}" for n in range(len(self.latches)))]
        names += [f"g{n}" for n in range(len(self.gates))]
        following = [value if latch + n in used else 0 for n, value in enumerate(self.latches)]

        def literal(value: int) -> str:
            if value < 2:
                return "m" if value else "0"
            return f"(m^{names[value >> 1]})" if value & 1 else names[value >> 1]

        lines = ["def step(l, i, m):"]
        for prefix, count in (("i", self.inputs), ("l", len(self.latches))):
            if count:
                lines.append(f" [{','.join(f'{prefix}{n}' for n in range(count))}] = {prefix}")
        for n, (left, right) in enumerate(self.gates):
            if base + n in used:
                lines.append(f" {names[base + n]}={literal(left)}&{literal(right)}")
        lines.append(f" return [{','.join(map(literal, following))}],[{','.join(map(literal, outputs))}]")
        space: dict[str, Any] = {}
        exec("\n".join(lines), space)
        found: Callable[[list[int], list[int], int], tuple[list[int], list[int]]] = space["step"]
        return found

    def _used(self, literals: Sequence[int], *, earlier: bool = True) -> set[int]:
        """The variables that literals depend on, in any cycle; or within the cycle, unless `earlier`."""
        latch, first = 1 + self.inputs, 1 + self.inputs + len(self.latches)
        todo, used = [literal >> 1 for literal in literals], set[int]()
        while todo:
            variable = todo.pop()
            if variable in used:
                continue
            used.add(variable)
            if variable >= first:
                todo += [literal >> 1 for literal in self.gates[variable - first]]
            elif variable >= latch and earlier:
                todo.append(self.latches[variable - latch] >> 1)
        return used

    def file(self, where: int | None = None) -> bytes:
        """The AIGER file of the graph, with all its outputs or with one of them alone."""
        latches, gates = len(self.latches), len(self.gates)
        outputs = self.outputs if where is None else [self.outputs[where]]
        header = f"aig {self.inputs + latches + gates} {self.inputs} {latches} {len(outputs)} {gates}\n"
        return (header + "".join(f"{number}\n" for number in [*self.latches, *outputs])).encode() + self.packed

    def depends(self, outputs: Iterable[str], inputs: Iterable[str]) -> bool:
        """Whether output ports depend on input ports within the cycle."""
        used = self._used([self.outputs[at] for port in outputs for at in self.output_bits[port]], earlier=False)
        return any(1 + at in used for port in inputs for at in self.input_bits[port])

    def values(self, frames: Sequence[Sequence[int]]) -> list[dict[str, int]]:
        """Per cycle the values of the output ports, from the inputs of each cycle."""
        return self.values_each([frames])[0]

    def values_each(self, runs: Sequence[Sequence[Sequence[int]]]) -> list[list[dict[str, int]]]:
        """`values` of several runs, which are computed together: bit n of a value belongs to run n."""
        step, state = self.stepper(range(len(self.outputs))), [0] * len(self.latches)
        found: list[list[dict[str, int]]] = [[] for _ in runs]
        for cycle in range(max(map(len, runs), default=0)):
            frames = [run[cycle] if cycle < len(run) else [0] * self.inputs for run in runs]
            inputs = [sum(bit << n for n, bit in enumerate(bits)) for bits in zip(*frames, strict=True)]
            state, outputs = step(state, inputs, (1 << len(runs)) - 1)
            for n, values in enumerate(found):
                if cycle < len(runs[n]):
                    values.append(self.of_ports([value >> n & 1 for value in outputs]))
        return found

    def of_ports(self, outputs: Sequence[int]) -> dict[str, int]:
        """The values of the output ports, from those of the outputs."""
        return {
            name: sum(outputs[place] << bit for bit, place in enumerate(places))
            for name, places in self.output_bits.items()
        }


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

    def inputs_of(self, literal: int) -> tuple[int, int] | None:
        """The two literals of a gate, or None if the variable of the literal is not a gate."""
        at = (literal >> 1) - self.first - 1
        return self.gates[at] if at >= 0 else None

    def either(self, one: int, other: int) -> int:
        """The literal that is 1 if one of both is."""
        return self.both(one ^ 1, other ^ 1) ^ 1

    def same(self, one: int, other: int) -> int:
        """The literal that is 1 if both are equal."""
        return self.both(self.both(one, other ^ 1) ^ 1, self.both(one ^ 1, other) ^ 1)


def aig_of(rtlil: str, *, top: str = "top") -> Aig:
    """A design, whose clock is a port, as an and-inverter graph; the last ones are kept."""
    key = hashlib.sha256(f"{top}\n{rtlil}".encode()).digest()
    if key in _graphs:
        return _graphs[key]
    graph, numbers = run_yosys(_SCRIPT.format(top=top), {"top.il": rtlil}, "top.aig", "top.map")
    aig = read_aig(graph)
    inner = re.findall(r"^(?:inv)?latch (\d+) \d+ \\?dut\.", numbers.decode(), re.MULTILINE)
    aig.core = {int(number) for number in inner}
    if len(aig.gates) <= _GRAPH_GATES:
        while len(_graphs) >= _GRAPHS:
            del _graphs[next(iter(_graphs))]
        _graphs[key] = aig
    return aig


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


_graphs: dict[bytes, Aig] = {}
_GRAPHS = 32
"""Upper bound on the graphs that are kept."""
_GRAPH_GATES = 60_000
"""Upper bound on the gates of a graph that is kept."""


def read_aig(data: bytes) -> Aig:
    """The graph in a binary AIGER file that Yosys wrote, with the names of its ports."""
    lines = data.split(b"\n", 1)
    _, inputs, latches, outputs, gates = (int(word) for word in lines[0].split()[1:6])
    place = len(lines[0]) + 1

    def numbers(count: int) -> list[int]:
        nonlocal place
        found = []
        for _ in range(count):
            end = data.index(b"\n", place)
            found.append(int(data[place:end].split()[0]))
            place = end + 1
        return found

    def delta() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    next_values, output_literals = numbers(latches), numbers(outputs)
    pairs, gates_at = [], place
    for n in range(gates):
        left = 2 * (1 + inputs + latches + n) - delta()
        pairs.append((left, left - delta()))
    ports: dict[str, dict[str, dict[int, int]]] = {"i": {}, "o": {}}
    for line in data[place:].split(b"\nc\n")[0].decode().splitlines():
        if found := re.fullmatch(r"([io])(\d+) (.*?)(?:\[(\d+)\])?", line):
            ports[found[1]].setdefault(found[3], {})[int(found[4] or 0)] = int(found[2])
    bits = {
        what: {name: [found[b] for b in sorted(found)] for name, found in names.items()}
        for what, names in ports.items()
    }
    return Aig(inputs, next_values, output_literals, pairs, bits["i"], bits["o"], data[gates_at:place])


def _delta(value: int) -> bytes:
    """A number in the variable-length encoding of AIGER."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
