# SPDX-License-Identifier: BSD-2-Clause
"""Circuits as graphs: and-inverter graphs with memories, of which one compiled loop steps 64 runs at once.

Yosys reduces a circuit to two-input gates, flip-flops and memories. The loop is compiled once, by Numba, for all
circuits, so a circuit is simulated as soon as Yosys has read it. Bit n of every word belongs to run n.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from amaranth.back import rtlil as writer
from amaranth.hdl import ClockDomain, Module, Value
from numpy.typing import NDArray

from utf8fpga.hdl import Core
from utf8fpga.hdl.toolchain import ToolError, after_synthesis, run_yosys
from utf8fpga.sim.aiger import Aig, read_aig
from utf8fpga.sim.kernel import step

RUNS = 64
"""The runs of a word."""

Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]

_SCRIPT = """
hierarchy -top top
proc -noopt -norom
flatten
delete t:$scopeinfo
opt_expr
opt_merge
opt_clean
memory_collect
memory_nordff
memory_narrow
setundef -zero -init
rename -enumerate -pattern memory_% t:$mem_v2
tee -q -o memories.il dump t:$mem_v2
expose -evert t:$mem_v2
opt -fast
techmap
opt -fast
dffunmap
setundef -zero
opt_expr
opt_merge
opt_clean
{fewer}aigmap
opt_clean
setundef -zero -undriven
write_aiger -zinit -symbols top.aig
"""
"""The commands for Yosys that write a circuit as AIGER. Its memories become ports; `memories.il` has their sizes and
contents. Registers without an initial value start at 0, which must wait until the memories are collected. Undriven nets
are 0, which must wait until the end, since they may have initial values, too."""

CELLS = {
    # Reading its single-port RAM, unless it is used, would take a minute.
    "ice40": "delete =A:blackbox; read_verilog -defer +/ice40/cells_sim.v",
    "ecp5": "delete =A:blackbox; read_verilog -overwrite +/ecp5/cells_sim.v",
}
"""For each FPGA family whose netlists can be simulated the commands for Yosys that read the models of its cells."""

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
            memory; the width; the number of address bits; the places of address and data in `literals`.
        writes: a row for each write port: the same without the number of gates, and the place of the enables.
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
        levels = _levels(aiger, memories)
        order = sorted(range(len(aiger.gates)), key=lambda gate: levels[first + gate])
        place = [*range(first), *order]
        for number, gate in enumerate(order):
            place[first + gate] = first + number

        def moved(literals: Iterable[int]) -> list[int]:
            return [2 * place[literal >> 1] | literal & 1 for literal in literals]

        inputs = {name: [2 * (1 + bit) for bit in bits] for name, bits in aiger.input_bits.items()}
        outputs = {name: moved(aiger.outputs[bit] for bit in bits) for name, bits in aiger.output_bits.items()}
        gate_levels = [levels[first + gate] for gate in order]
        reads, writes, literals = _ports(memories, inputs, outputs, levels, gate_levels)
        self.circuit = Circuit(
            left=_array(moved(aiger.gates[gate][0] for gate in order)),
            right=_array(moved(aiger.gates[gate][1] for gate in order)),
            first_gate=2 * first,
            first_latch=2 * (1 + aiger.inputs),
            following=_array(moved(aiger.latches)),
            reads=_array(reads).reshape(-1, 7),
            writes=_array(writes).reshape(-1, 7),
            literals=_array(literals),
        )
        prefixes = tuple(f"{memory.name}." for memory in memories)
        self.inputs = {name: bits for name, bits in inputs.items() if not name.startswith(prefixes)}
        self.outputs = {name: bits for name, bits in outputs.items() if not name.startswith(prefixes)}
        self._initial = np.array([bit for memory in memories for bit in memory.bits], np.uint64)
        self._variables = len(place)

    @classmethod
    def from_rtlil(cls, rtlil: str, *, netlist: str | None = None, is_minimised: bool = False) -> Graph:
        """A design in RTLIL as a graph.

        Args:
            rtlil: the design, whose top module is ``top``; its registers belong to one clock, which is a port.
            netlist: the FPGA family, a key of `CELLS`, for which it is synthesised before; default: as it is.
            is_minimised: ABC reduces the number of gates, which takes longer.

        Raises:
            ToolError: Yosys is missing or rejects the design.
        """
        if netlist is None:
            return cls.read("read_rtlil top.il", {"top.il": rtlil}, is_minimised=is_minimised)
        finish, files = after_synthesis(netlist)
        return cls.read(
            f"read_rtlil top.il; {_SYNTHESIS[netlist]}; {finish}{CELLS[netlist]}", {"top.il": rtlil, **files}
        )

    @classmethod
    def read(cls, commands: str, files: Mapping[str, str], *, is_minimised: bool = False) -> Graph:
        """A design that commands for Yosys read from files as a graph; see `from_rtlil`."""
        script = f"{commands}\n{_SCRIPT}".format(fewer="abc -g AND\n" if is_minimised else "")
        aiger, memories = run_yosys(script.replace("\n", "; "), files, "top.aig", "memories.il")
        return cls(read_aig(aiger), _memories(memories.decode()))

    def start(self, runs: int = 1) -> State:
        """The state in which all registers and memories have their initial values, of so many runs, at most `RUNS`."""
        active = np.uint64((1 << runs) - 1)
        values = np.zeros(2 * self._variables, np.uint64)
        values[1::2] = ~values[1::2]
        return State(values, self._initial * active, active)

    def set(self, state: State, name: str, word: Any) -> None:
        """Set all bits of an input port to a word, which stays until it is set again."""
        for literal in self.inputs[name]:
            state.values[literal] = word
            state.values[literal ^ 1] = ~state.values[literal]

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


def core_rtlil(core: Core) -> str:
    """A core in RTLIL: the module ``top``, with the payload, `valid` and `ready` of both streams as ports."""
    m, domain = Module(), ClockDomain("sync")
    m.domains += domain
    m.submodules.core = core
    ports = {
        "clk": domain.clk,
        "rst": domain.rst,
        "in_payload": Value.cast(core.input.payload),
        "in_valid": core.input.valid,
        "in_ready": core.input.ready,
        "out_payload": Value.cast(core.output.payload),
        "out_valid": core.output.valid,
        "out_ready": core.output.ready,
    }
    if (violation := getattr(core, "violation", None)) is not None:
        ports["violation"] = violation
    directed = {name: (signal, None) for name, signal in ports.items()}
    text: str = writer.convert(m, name="top", ports=directed, emit_src=False)
    return getattr(core, "rtlil", "") + text


@dataclass(frozen=True)
class _Memory:
    """A memory whose ports are ports of the graph; they have its name as a prefix."""

    name: str
    rows: int
    width: int
    address_bits: int
    read_ports: int
    write_ports: int
    bits: list[int]
    """The initial contents, row by row, the lowest bit first."""

    def address_of(self, bits: Sequence[int], port: int) -> Sequence[int]:
        """The part of the address bits of all ports that belongs to one."""
        return bits[port * self.address_bits :][: self.address_bits]

    def word_of(self, bits: Sequence[int], port: int) -> Sequence[int]:
        """The part of the data or enable bits of all ports that belongs to one."""
        return bits[port * self.width :][: self.width]


def _memories(dump: str) -> list[_Memory]:
    """The memories in a dump of their cells."""
    found = []
    for name, body in re.findall(r"cell \$mem_v2 \\(\S+)\n(.*?)\n  end", dump, re.DOTALL):
        parameters = dict(re.findall(r"parameter(?: signed)? \\(\w+) (.*)", body))
        if "0" in parameters["WR_CLK_ENABLE"].partition("'")[2]:
            raise ToolError(f"the memory {name} is written without a clock, which cannot be simulated")
        rows, width = int(parameters["SIZE"]), int(parameters["WIDTH"])
        digits = parameters["INIT"].partition("'")[2][::-1]
        bits = [int(digit == "1") for digit in digits[: rows * width].ljust(rows * width, "0")]
        address_bits, reads, writes = (int(parameters[key]) for key in ("ABITS", "RD_PORTS", "WR_PORTS"))
        found.append(_Memory(name, rows, width, address_bits, reads, writes, bits))
    return found


def _levels(aiger: Aig, memories: Sequence[_Memory]) -> list[int]:
    """For each variable the number of memories that are read one after another for its value, within a cycle.

    Raises:
        ToolError: the address of a memory depends on its data within a cycle.
    """
    first = 1 + aiger.inputs + len(aiger.latches)
    levels = [0] * (first + len(aiger.gates))
    ports = []
    for memory in memories:
        addresses = aiger.output_bits.get(f"{memory.name}.RD_ADDR", [])
        words = aiger.input_bits[f"{memory.name}.RD_DATA"]
        for port in range(memory.read_ports):
            ports.append((memory.address_of(addresses, port), memory.word_of(words, port)))
    for _ in range(len(ports) + 1):
        for number, (left, right) in enumerate(aiger.gates, first):
            levels[number] = max(levels[left >> 1], levels[right >> 1])
        is_stable = True
        for address, data in ports:
            level = 1 + max((levels[aiger.outputs[bit] >> 1] for bit in address), default=0)
            is_stable &= levels[1 + data[0]] == level
            for bit in data:
                levels[1 + bit] = level
        if is_stable:
            return levels
    raise ToolError("the address of a memory depends on its data in the same cycle, which cannot be simulated")


def _ports(
    memories: Sequence[_Memory],
    inputs: Mapping[str, list[int]],
    outputs: Mapping[str, list[int]],
    levels: Sequence[int],
    gate_levels: Sequence[int],
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]], list[int]]:
    """The rows of `reads` and `writes` of a `Circuit`, and its `literals`.

    Args:
        inputs, outputs: for each port of the graph the literals of its bits.
        levels: see `_levels`.
        gate_levels: the levels of the gates, ascending.
    """
    reads: list[tuple[int, ...]] = []
    writes: list[tuple[int, ...]] = []
    literals: list[int] = []
    start = 0

    def placed(bits: Sequence[int]) -> int:
        literals.extend(bits)
        return len(literals) - len(bits)

    for memory in memories:
        size = start, memory.rows, memory.width, memory.address_bits
        port = {key: outputs.get(f"{memory.name}.{key}", []) for key in ("RD_ADDR", "WR_ADDR", "WR_DATA", "WR_EN")}
        for number in range(memory.read_ports):
            word = memory.word_of(inputs[f"{memory.name}.RD_DATA"], number)
            # The gates on which the address depends have a lower level than the data.
            before = bisect_left(gate_levels, levels[word[0] >> 1])
            address = placed(memory.address_of(port["RD_ADDR"], number))
            reads.append((before, *size, address, placed(word)))
        for number in range(memory.write_ports):
            address = placed(memory.address_of(port["WR_ADDR"], number))
            data, enable = (placed(memory.word_of(port[key], number)) for key in ("WR_DATA", "WR_EN"))
            writes.append((*size, address, data, enable))
        start += memory.rows * memory.width
    return sorted(reads), writes, literals


def _array(numbers: Sequence[Any]) -> NDArray[np.uint32]:
    return np.array(numbers, np.uint32)
