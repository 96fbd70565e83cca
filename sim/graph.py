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


class Circuit(NamedTuple):
    """The arrays of a graph for the compiled loop.

    The value of literal n is in element n of the values, which also has the inverse of each variable. Where several
    literals belong together, as those of an address, they are successive elements of `literals`.

    Attributes:
        left, right: the operands of each gate, in an order in which they can be computed.
        first_gate: the literal of the first gate.
        first_latch: the literal of the first latch.
        following: the next value of each latch.
        reads: a row for each read port: the number of gates before it; the first element and the number of rows of its
            memory; the width; the places in `literals` where the address begins, where the data begin, and their end.
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

    def __init__(self, aiger: Aig, memories: Sequence[_Memory]) -> None:
        first = 1 + aiger.inputs + len(aiger.latches)
        ports = [memory.ports(aiger) for memory in memories]
        depends = {first + number: [literal >> 1 for literal in gate] for number, gate in enumerate(aiger.gates)}
        for read_ports, _ in ports:
            for address, data in read_ports:
                depends |= {literal >> 1: [bit >> 1 for bit in address] for literal in data}
        place, gates_before, gates = list(range(first + len(depends))), dict[int, int](), list[tuple[int, int]]()
        for variable in _ordered(depends):
            gates_before[variable] = len(gates)
            if variable >= first:
                place[variable] = first + len(gates)
                gates.append(aiger.gates[variable - first])

        def moved(literals: Iterable[int]) -> list[int]:
            return [2 * place[literal >> 1] | literal & 1 for literal in literals]

        reads, writes, literals, start = [], [], list[int](), 0

        def placed(bits: Iterable[int]) -> int:
            literals.extend(moved(bits))
            return len(literals)

        for memory, (read_ports, write_ports) in zip(memories, ports, strict=True):
            size = start, memory.rows, memory.width
            for address, data in read_ports:
                before = min(gates_before[literal >> 1] for literal in data)
                reads.append((before, *size, len(literals), placed(address), placed(data)))
            writes += [(*size, len(literals), *map(placed, port)) for port in write_ports]
            start += memory.rows * memory.width
        self.circuit = Circuit(
            left=_array(moved(left for left, _ in gates)),
            right=_array(moved(right for _, right in gates)),
            first_gate=2 * first,
            first_latch=2 * (1 + aiger.inputs),
            following=_array(moved(aiger.latches)),
            reads=_array(sorted(reads)).reshape(-1, 7),
            writes=_array(writes).reshape(-1, 7),
            literals=_array(literals),
        )
        self.inputs = {name: [2 * (1 + bit) for bit in bits] for name, bits in aiger.input_bits.items()}
        self.outputs = {name: moved(aiger.outputs[bit] for bit in bits) for name, bits in aiger.output_bits.items()}
        self._initial = np.array([bit for memory in memories for bit in memory.bits], np.uint64)
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
        return cls(read_aig(aiger), _memories(memories))

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


class _Memory(NamedTuple):
    """A memory whose ports are ports of the graph; they have its name as a prefix.

    Attributes:
        bits: the initial contents, row by row, the lowest bit first.
    """

    name: str
    rows: int
    width: int
    bits: list[int]

    def ports(self, aiger: Aig) -> tuple[list[Any], list[Any]]:
        """For each read port the literals of address and data; for each write port those of address, data and enable.

        The ports are removed from those of the graph.
        """
        data = [2 * (1 + bit) for bit in aiger.input_bits.pop(f"{self.name}.RD_DATA", [])]
        names = ("RD_ADDR", "WR_ADDR", "WR_DATA", "WR_EN")
        found = [[aiger.outputs[bit] for bit in aiger.output_bits.pop(f"{self.name}.{name}", [])] for name in names]
        reads, writes = len(data) // self.width, len(found[2]) // self.width
        read_address, *written = _parts(found[0], reads), *(_parts(bits, writes) for bits in found[1:])
        return list(zip(read_address, _parts(data, reads), strict=True)), list(zip(*written, strict=True))


def _parts(bits: list[int], count: int) -> list[list[int]]:
    """Bits in equal parts."""
    parts: list[list[int]] = np.reshape(bits, (count, -1)).tolist() if count else []
    return parts


def _memories(dump: bytes) -> list[_Memory]:
    """The memories in a dump of their cells."""
    found = []
    for module in json.loads(dump)["modules"].values():
        for name, cell in module["cells"].items():
            parameters = cell["parameters"]
            if "0" in parameters["WR_CLK_ENABLE"]:
                raise ToolError(f"the memory {name} is written without a clock, which cannot be simulated")
            rows, width = int(parameters["SIZE"], 2), int(parameters["WIDTH"], 2)
            bits = [int(digit == "1") for digit in parameters["INIT"][::-1][: rows * width]]
            found.append(_Memory(name, rows, width, bits + [0] * (rows * width - len(bits))))
    return found


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
