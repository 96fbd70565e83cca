# SPDX-License-Identifier: BSD-2-Clause
"""Circuits as graphs: and-inverter graphs with memories, of which one compiled loop steps 64 runs at once.

Yosys reduces a circuit to two-input gates, flip-flops and memories. The loop is compiled once, by Numba, for all
circuits, so a circuit is simulated as soon as Yosys has read it. Bit n of every word belongs to run n.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from utf8fpga.hdl.toolchain import ToolError, after_synthesis, run_yosys
from utf8fpga.sim.aiger import CELLS, Aig, read_aig
from utf8fpga.sim.kernel import step

RUNS = 64
"""The runs of a word."""

Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]

_SCRIPT = (
    "; hierarchy -top top; proc -noopt -norom; flatten; delete t:$scopeinfo; opt_expr; opt_merge; opt_clean; "
    "memory_collect; memory_nordff; memory_narrow; setundef -zero -init; "
    "rename -enumerate -pattern memory_% t:$mem_v2; json -o memories.json t:$mem_v2; expose -evert t:$mem_v2; "
    "opt -fast; techmap; opt -fast; dffunmap; setundef -zero; opt_expr; opt_merge; opt_clean; "
    "abc -g AND; aigmap; opt_clean; setundef -zero -undriven; write_aiger -zinit -symbols top.aig"
)
"""The commands for Yosys that write a circuit as AIGER. Its memories become ports; `memories.json` has their sizes and
contents. Registers without an initial value start at 0, which must wait until the memories are collected. Undriven nets
are 0, which must wait until the end, since they may have initial values, too."""

# The block RAM of ECP5 has no model.
_SYNTHESIS = {"ice40": "synth_ice40 -top top", "ecp5": "synth_ecp5 -nobram -top top"}


_ROLES = ("RD_ADDR", "WR_ADDR", "WR_DATA", "WR_EN")
"""The outputs of the graph for a memory."""


class Circuit(NamedTuple):
    """The arrays of a graph for the compiled loop.

    The value of literal n is in element n of the values, which also has the inverse of each variable. Where several
    literals belong together, as those of an address, they are successive elements of `literals`.

    Attributes:
        left, right: the operands of each gate, in an order in which they can be computed.
        first_gate: the literal of the first gate.
        first_latch: the literal of the first latch.
        following: the next value of each latch.
        reads: a row for each read port, also in such an order: the number of gates before it; the first element and the
            number of rows of its memory; the width; the places in `literals` where the address begins, where the data
            begin, and their end.
        writes: a row for each write port: the same without the number of gates, and the end of the enables.
        literals: see above.
    """

    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    first_gate: int
    first_latch: int
    following: NDArray[np.uint32]
    reads: NDArray[np.uint32]
    writes: NDArray[np.uint32]
    literals: NDArray[np.uint32]


class State(NamedTuple):
    """The state of the runs.

    Attributes:
        values: the value of each literal.
        memory: the bits of all memories.
        active: the runs that are used.
    """

    values: Words
    memory: Words
    active: np.uint64


class Graph:
    """A circuit as a graph. Created by `from_rtlil`.

    Attributes:
        inputs: for each input port the literals of its bits.
        outputs: the same for each output port.
        circuit: the arrays for the compiled loop.
    """

    def __init__(self, aiger: Aig, reads: Sequence[_Port], writes: Sequence[_Port], contents: Sequence[int]) -> None:
        first = 1 + aiger.inputs + len(aiger.latches)
        depends = {first + number: [literal >> 1 for literal in gate] for number, gate in enumerate(aiger.gates)}
        reader = dict[int, _Port]()
        for port in reads:
            address, data = port.parts
            # All data are read with their first bit.
            start = data[0] >> 1
            reader[start] = port
            depends |= {literal >> 1: [start] for literal in data} | {start: [literal >> 1 for literal in address]}
        place, gates, ordered = list(range(first + len(aiger.gates))), list[tuple[int, int]](), list[Any]()
        for variable in _ordered(depends):
            if variable >= first:
                place[variable] = first + len(gates)
                gates.append(aiger.gates[variable - first])
            elif variable in reader:
                ordered.append((len(gates), reader[variable]))

        def moved(bits: Iterable[int]) -> list[int]:
            return [2 * place[literal >> 1] | literal & 1 for literal in bits]

        literals: list[int] = []

        def row(port: _Port) -> list[int]:
            places = [*port.size, len(literals)]
            for part in port.parts:
                literals.extend(moved(part))
                places.append(len(literals))
            return places

        self.circuit = Circuit(
            left=_array(moved(left for left, _ in gates)),
            right=_array(moved(right for _, right in gates)),
            first_gate=2 * first,
            first_latch=2 * (1 + aiger.inputs),
            following=_array(moved(aiger.latches)),
            reads=_array([[gates_before, *row(port)] for gates_before, port in ordered]).reshape(-1, 7),
            writes=_array([row(port) for port in writes]).reshape(-1, 7),
            literals=_array(literals),
        )
        self.inputs = {name: [2 * (1 + bit) for bit in bits] for name, bits in aiger.input_bits.items()}
        self.outputs = {name: moved(aiger.outputs[bit] for bit in bits) for name, bits in aiger.output_bits.items()}
        self._initial = np.array(contents, np.uint64)
        self._variables = first + len(gates)

    @classmethod
    def from_rtlil(cls, rtlil: str, *, netlist: str | None = None) -> Graph:
        """A design in RTLIL as a graph.

        Args:
            rtlil: the design, whose top module is ``top``; its registers belong to one clock, which is a port.
            netlist: the FPGA family, a key of `CELLS`, for which it is synthesised before; default: as it is.

        Raises:
            ToolError: Yosys is missing or rejects the design.
        """
        commands, files = "read_rtlil top.il", {"top.il": rtlil}
        if netlist is not None:
            finish, models = after_synthesis(netlist)
            commands, files = f"{commands}; {_SYNTHESIS[netlist]}; {finish}{CELLS[netlist]}", files | models
        aiger, memories = run_yosys(commands + _SCRIPT, files, "top.aig", "memories.json")
        aig = read_aig(aiger)
        return cls(aig, *_memories(memories, aig))

    def start(self, runs: int = 1) -> State:
        """The state in which all registers and memories have their initial values, of so many runs, at most `RUNS`."""
        active = np.uint64((1 << runs) - 1)
        values = np.zeros(2 * self._variables, np.uint64)
        values[1::2] = ~values[1::2]
        return State(values, self._initial * active, active)

    def step(self, state: State, inputs: Mapping[str, Words], outputs: Sequence[str]) -> dict[str, Words]:
        """Simulate some cycles.

        Args:
            state: the state before them, which becomes that after them.
            inputs: for each input port its value in each cycle: an array of cycles by bits. The other inputs keep their
                value, which is 0 at the start.
            outputs: the names of output ports.

        Returns:
            For each of these the same.
        """
        given = np.concatenate(list(inputs.values()), axis=1)
        places = np.array([literal for name in inputs for literal in self.inputs[name]], np.int64)
        literals = np.array([literal for name in outputs for literal in self.outputs[name]], np.int64)
        found = np.zeros((len(given), len(literals)), np.uint64)
        step(self.circuit, state, places, np.ascontiguousarray(given), literals, found)
        found &= state.active
        ends = np.cumsum([len(self.outputs[name]) for name in outputs])
        return {name: found[:, end - len(self.outputs[name]) : end] for name, end in zip(outputs, ends, strict=True)}


class _Port(NamedTuple):
    """A port of a memory.

    Attributes:
        size: the first element of the memory, the number of its rows and their width.
        parts: the literals of the address, those of the data and, of a write port, those of the enables.
    """

    size: tuple[int, int, int]
    parts: Sequence[list[int]]


def _memories(dump: bytes, aiger: Aig) -> tuple[list[_Port], list[_Port], list[int]]:
    """The read ports and the write ports of the memories in a dump of their cells, and the initial contents.

    The contents are row by row, the lowest bit first. The ports are removed from those of the graph, which have the
    name of the memory as a prefix.
    """
    reads, writes, contents = list[_Port](), list[_Port](), list[int]()
    for module in json.loads(dump)["modules"].values():
        for name, cell in module["cells"].items():
            parameters = cell["parameters"]
            if "0" in parameters["WR_CLK_ENABLE"]:
                raise ToolError(f"the memory {name} is written without a clock, which cannot be simulated")
            rows, width = int(parameters["SIZE"], 2), int(parameters["WIDTH"], 2)
            size = len(contents), rows, width
            data = [2 * (1 + bit) for bit in aiger.input_bits.pop(f"{name}.RD_DATA", [])]
            outputs = (aiger.output_bits.pop(f"{name}.{role}", []) for role in _ROLES)
            address, *written = ([aiger.outputs[bit] for bit in bits] for bits in outputs)
            reads += _ports(size, int(parameters["RD_PORTS"], 2), address, data)
            writes += _ports(size, int(parameters["WR_PORTS"], 2), *written)
            bits = [int(digit == "1") for digit in parameters["INIT"][::-1][: rows * width]]
            contents += bits + [0] * (rows * width - len(bits))
    return reads, writes, contents


def _ports(size: tuple[int, int, int], count: int, *buses: list[int]) -> list[_Port]:
    """So many ports of a memory; their address, data and enables are the equal parts of buses."""
    parts = [np.reshape(bits, (count, -1)).tolist() for bits in buses if count]
    return [_Port(size, port) for port in zip(*parts, strict=True)]


def numbers_of(bits: NDArray[Any]) -> list[int]:
    """The rows of an array of bits, the lowest first, as numbers."""
    packed = np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def words_of(bits: NDArray[Any]) -> Words:
    """Words of the bits of `RUNS` runs, the last axis of an array."""
    words: Words = np.packbits(bits.astype(np.uint8), axis=-1, bitorder="little").view(np.uint64)[..., 0]
    return words


def _ordered(depends: Mapping[int, Iterable[int]]) -> Iterator[int]:
    """The variables in an order in which they can be computed.

    Raises:
        ToolError: the address of a memory depends on its data within a cycle.
    """
    try:
        yield from TopologicalSorter(depends).static_order()
    except CycleError:
        text = "the address of a memory depends on its data in the same cycle, which cannot be simulated"
        raise ToolError(text) from None


def _array(numbers: Sequence[Any]) -> NDArray[np.uint32]:
    return np.array(numbers, np.uint32)
