# SPDX-License-Identifier: BSD-2-Clause
"""A netlist of gates, flip-flops and memories as a C function that computes one clock cycle.

The netlist is what Yosys writes with `write_json` after a circuit was reduced to gates (`SCRIPT`). Every bit is a byte
of 0 or 1 in C: a gate is then about one machine instruction. The flip-flops are ordered so that the words of a pipeline
are contiguous: a register that follows another is one copy of many bytes, a row of a memory, too, and a multiplexer
of words is the choice of a pointer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import groupby
from typing import Any

from utf8fpga.hdl.toolchain import ToolError


class UnknownCellError(ToolError):
    """A circuit has a cell that the compiled engine does not simulate."""


SCRIPT = """
read_rtlil top.il
hierarchy -top top
proc
flatten
memory_collect
memory_nordff
memory_narrow
opt -full
opt_dff
techmap
opt -fast
dfflegalize -cell $_DFF_P_ 01 -cell $_DFFE_PP_ 01
opt_expr
opt_merge
opt_clean
abc -g AND,OR,XOR,MUX,ANDNOT,ORNOT t:$_*_ t:$_DFF* %d
opt_clean -purge
write_json top.json
"""
"""The commands for Yosys that reduce ``top.il`` to the cells known here and write them to ``top.json``.

The selection after `abc` keeps the flip-flops from ABC, which would otherwise change them.
"""

CLOCK = "clk"
"""The name of the clock input; all flip-flops must belong to it."""

STEP = "step"
"""The name of the generated C function."""

_GATES = {
    "$_BUF_": "{A}",
    "$_NOT_": "1 ^ {A}",
    "$_AND_": "{A} & {B}",
    "$_OR_": "{A} | {B}",
    "$_XOR_": "{A} ^ {B}",
    "$_ANDNOT_": "{A} & (1 ^ {B})",
    "$_ORNOT_": "{A} | (1 ^ {B})",
    "$_MUX_": "{A} ^ (({A} ^ {B}) & {S})",
}
"""By type of cell the value of its output `Y`; all operands are 0 or 1."""

_FLIP_FLOPS = ("$_DFF_P_", "$_DFFE_PP_")

_SHORTEST_COPY = 4
"""Bits from which `memcpy` is preferred to single assignments."""

Bit = int | str
"""A bit of a netlist: the number of its net, or a constant ``0``, ``1`` or ``x``."""

Place = tuple[str, int]
"""A byte in C: the name of an array and the position in it; a local variable has its name and the position -1."""


@dataclass
class _FlipFlop:
    data: Bit
    enable: Bit
    """The net of the enable; ``1`` without."""
    output: int
    initial: bool


@dataclass
class _WritePort:
    address: list[Bit]
    data: list[Bit]
    enable: list[Bit]


@dataclass
class _ReadPort:
    number: int
    memory: int
    address: list[Bit]
    data: list[Bit]


@dataclass
class _Memory:
    size: int
    width: int
    rows: list[int]
    """The initial rows."""
    writes: list[_WritePort] = field(default_factory=list)

    @property
    def room(self) -> int:
        """Rows in C: also those that an address can select beyond the last, which always are 0."""
        return 1 << max(len(port.address) for port in self.writes) if self.writes else self.size


@dataclass(frozen=True)
class _Selection:
    """Multiplexers that select one of two words, whose first bits are `a` and, if `select` is 1, `b`."""

    nets: list[int]
    select: Bit
    a: Bit
    b: Bit


@dataclass
class _Netlist:
    """The netlist of a module without submodules."""

    inputs: dict[str, list[Bit]] = field(default_factory=dict)
    outputs: dict[str, list[Bit]] = field(default_factory=dict)
    gates: dict[int, tuple[str, dict[str, Bit]]] = field(default_factory=dict)
    """By output net the type of the gate and its operands."""
    flip_flops: list[_FlipFlop] = field(default_factory=list)
    memories: list[_Memory] = field(default_factory=list)
    reads: list[_ReadPort] = field(default_factory=list)


def _number(parameter: str | int) -> int:
    return parameter if isinstance(parameter, int) else int(parameter.replace("x", "0") or "0", 2)


def _netlist(module: dict[str, Any]) -> _Netlist:
    found = _Netlist()
    clocks: set[Bit] = set()
    for name, port in module["ports"].items():
        if name == CLOCK:
            clocks.update(port["bits"])
        else:
            (found.inputs if port["direction"] == "input" else found.outputs)[name] = port["bits"]
    initial = _initial_values(module)
    used: set[Bit] = set()
    for name, cell in module["cells"].items():
        kind, nets = cell["type"], cell["connections"]
        if kind in _GATES:
            found.gates[nets["Y"][0]] = kind, {pin: bits[0] for pin, bits in nets.items() if pin != "Y"}
        elif kind in _FLIP_FLOPS:
            output = nets["Q"][0]
            used.add(nets["C"][0])
            enable = nets["E"][0] if "E" in nets else "1"
            found.flip_flops.append(_FlipFlop(nets["D"][0], enable, output, initial.get(output) == "1"))
        elif kind == "$mem_v2":
            used.update(_add_memory(found, cell))
        elif kind != "$scopeinfo":
            raise UnknownCellError(f"the compiled engine does not know the cell {kind!r} ({name})")
    if used - clocks:
        raise ToolError(f"the compiled engine simulates one clock only, {CLOCK!r}, but the circuit has another")
    return found


def _initial_values(module: dict[str, Any]) -> dict[Bit, str]:
    values: dict[Bit, str] = {}
    for net in module["netnames"].values():
        if (text := net.get("attributes", {}).get("init")) is not None:
            values.update(
                {bit: value for bit, value in zip(net["bits"], reversed(text), strict=False) if value in "01"}
            )
    return values


def _add_memory(found: _Netlist, cell: dict[str, Any]) -> Iterator[Bit]:
    """Add a memory and return the nets of its clocks."""
    parameters, nets = cell["parameters"], cell["connections"]
    size, width, bits = (_number(parameters[name]) for name in ("SIZE", "WIDTH", "ABITS"))
    reads, writes = _number(parameters["RD_PORTS"]), _number(parameters["WR_PORTS"])
    if _number(parameters["RD_CLK_ENABLE"]) or _number(parameters["OFFSET"]):
        raise ToolError("the compiled engine does not know memories with an offset or registers at a read port")
    start = _number(parameters["INIT"])
    memory = _Memory(size, width, [start >> width * row & (1 << width) - 1 for row in range(size)])
    for port in range(writes):
        if isinstance(nets["WR_CLK"][port], str):
            continue  # Without a clock, as in a ROM, it never writes.
        row = slice(port * width, (port + 1) * width)
        address = nets["WR_ADDR"][port * bits : (port + 1) * bits]
        memory.writes.append(_WritePort(address, nets["WR_DATA"][row], nets["WR_EN"][row]))
    for port in range(reads):
        address = nets["RD_ADDR"][port * bits : (port + 1) * bits]
        data = nets["RD_DATA"][port * width : (port + 1) * width]
        found.reads.append(_ReadPort(len(found.reads), len(found.memories), address, data))
    found.memories.append(memory)
    yield from (bit for bit in nets["WR_CLK"][:writes] if not isinstance(bit, str))


class _Writer:
    """The C text of a netlist."""

    def __init__(self, netlist: _Netlist) -> None:
        self.netlist = netlist
        self.lines: list[str] = []
        self.selections: list[_Selection] = []
        self.levels = _levels(netlist)
        self.places: dict[Bit, Place] = {net: (f"g{net}", -1) for net in netlist.gates}
        for name, bits in netlist.inputs.items():
            self.places.update({bit: (f"in->{name}", number) for number, bit in enumerate(bits)})
        for read in netlist.reads:
            self.places.update({bit: (f"r{read.number}", number) for number, bit in enumerate(read.data)})
        words = _Words(netlist, self.levels)
        netlist.flip_flops = words.flip_flops
        for number, each in enumerate(netlist.flip_flops):
            self.places[each.output] = ("q", number)
        for nets in sorted(words.multiplexers, key=lambda nets: self.levels[nets[0]]):
            self._select(nets)

    def _select(self, nets: list[int]) -> None:
        """Select whole words where multiplexers with one select input have both operands in contiguous bits."""
        operands = [self.netlist.gates[net][1] for net in nets]
        start = 0
        for end in range(1, len(nets) + 1):
            if end < len(nets) and all(self._follows(operands[end][pin], operands[end - 1][pin]) for pin in "AB"):
                continue
            if end - start >= _SHORTEST_COPY:
                first = operands[start]
                name = f"x{len(self.selections)}"
                self.selections.append(_Selection(nets[start:end], first["S"], first["A"], first["B"]))
                self.places.update({net: (name, position) for position, net in enumerate(nets[start:end])})
            start = end

    def _follows(self, bit: Bit, before: Bit) -> bool:
        """Whether a bit is the next one after another in C."""
        here, there = self.places.get(bit), self.places.get(before)
        return here is not None and there is not None and here[1] >= 0 and there == (here[0], here[1] - 1)

    def value(self, bit: Bit) -> str:
        """The C expression of a bit."""
        if isinstance(bit, str):
            return "1" if bit == "1" else "0"
        array, position = self.places[bit]
        return array if position < 0 else f"{array}[{position}]"

    def address(self, bits: Sequence[Bit]) -> str:
        terms = [f"{self.value(bit)}{f' << {n}' if n else ''}" for n, bit in enumerate(bits) if bit not in ("0", "x")]
        return " | ".join(f"(unsigned){term}" for term in terms) or "0"

    def copied(self, array: str, bits: Sequence[Bit], start: int = 0) -> Iterator[str]:
        """Assignments of bits to an array from `start` on; those whose sources are contiguous are one copy."""
        runs: list[list[Bit]] = []
        for bit in bits:
            if runs and self._follows(bit, runs[-1][-1]):
                runs[-1].append(bit)
            else:
                runs.append([bit])
        for run in runs:
            if len(run) < _SHORTEST_COPY:
                yield " ".join(f"{array}[{n}] = {self.value(bit)};" for n, bit in enumerate(run, start))
            else:
                source, first = self.places[run[0]]
                yield f"memcpy({array} + {start}, {source} + {first}, {len(run)});"
            start += len(run)

    def text(self) -> str:
        netlist = self.netlist
        out = self.lines
        count = max(1, len(netlist.flip_flops))
        out.append("#include <stdint.h>")
        out.append("#include <string.h>")
        for name, ports in (("inputs", netlist.inputs), ("outputs", netlist.outputs)):
            members = " ".join(f"uint8_t {port}[{len(bits)}];" for port, bits in ports.items())
            out.append(f"struct {name} {{ {members} }};")
        memories = " ".join(f"uint8_t m{n}[{each.room}][{each.width}];" for n, each in enumerate(netlist.memories))
        out.append(f"struct state {{ uint8_t q[{count}]; {memories} }};")
        self._write_reset()
        out.append(
            f"static void {STEP}(struct state *restrict s, const struct inputs *restrict in, "
            "struct outputs *restrict out) {"
        )
        # The contents before the clock edge, since a register may be copied after its own value is replaced.
        out.append(f"uint8_t *next = s->q, q[{count}]; memcpy(q, next, {count});")
        self._write_logic()
        for name, bits in netlist.outputs.items():
            self.lines += self.copied(f"out->{name}", bits)
        self._save_written_rows()
        self._write_flip_flops()
        self._write_rows()
        out.append("}")
        return "\n".join(out) + "\n"

    def _write_reset(self) -> None:
        ones = [n for n, each in enumerate(self.netlist.flip_flops) if each.initial]
        self.lines += ["static void reset(struct state *s) {", "memset(s, 0, sizeof *s);"]
        self.lines += [f"s->q[{n}] = 1;" for n in ones]
        for number, memory in enumerate(self.netlist.memories):
            for row, value in enumerate(memory.rows):
                self.lines += [f"s->m{number}[{row}][{n}] = 1;" for n in range(memory.width) if value >> n & 1]
        self.lines.append("}")

    def _write_logic(self) -> None:
        selected = {net for each in self.selections for net in each.nets}
        logic = [(self.levels[net], "gate", net) for net in self.netlist.gates if net not in selected]
        logic += [(self.levels[read.data[0]], "read", read.number) for read in self.netlist.reads]
        logic += [(self.levels[each.nets[0]], "selection", n) for n, each in enumerate(self.selections)]
        self.lines += [self._logic(what, number) for _, what, number in sorted(logic)]

    def _logic(self, what: str, number: int) -> str:
        """The definition of a gate's output, of a row that is read, or of a selected word."""
        if what == "read":
            read = self.netlist.reads[number]
            return f"const uint8_t *r{number} = s->m{read.memory}[{self.address(read.address)}];"
        if what == "selection":
            each = self.selections[number]
            a, b = (f"{array} + {position}" for array, position in (self.places[each.a], self.places[each.b]))
            return f"const uint8_t *x{number} = {self.value(each.select)} ? {b} : {a};"
        kind, operands = self.netlist.gates[number]
        expression = _GATES[kind].format(**{pin: self.value(bit) for pin, bit in operands.items()})
        return f"const unsigned g{number} = {expression};"

    def _save_written_rows(self) -> None:
        # A row is written after the flip-flops have copied the one before.
        for name, _, port in self._writes():
            self.lines.append(f"const unsigned {name}a = {self.address(port.address)};")
            for number, enable in enumerate(dict.fromkeys(port.enable)):
                self.lines.append(f"const unsigned {name}e{number} = {self.value(enable)};")
            self.lines += [f"uint8_t {name}[{len(port.data)}];", *self.copied(name, port.data)]

    def _writes(self) -> Iterator[tuple[str, int, _WritePort]]:
        for number, memory in enumerate(self.netlist.memories):
            for place, port in enumerate(memory.writes):
                yield f"w{number}_{place}", number, port

    def _write_rows(self) -> None:
        for name, number, port in self._writes():
            enables = list(dict.fromkeys(port.enable))
            self.lines.append(f"if ({name}a < {self.netlist.memories[number].size}) {{")
            for place, enable in enumerate(enables):
                positions = [n for n, each in enumerate(port.enable) if each == enable]
                self.lines.append(f"if ({name}e{place}) {{")
                for first, length in _ranges(positions):
                    self.lines.append(f"memcpy(s->m{number}[{name}a] + {first}, {name} + {first}, {length});")
                self.lines.append("}")
            self.lines.append("}")

    def _write_flip_flops(self) -> None:
        for enable, group in groupby(enumerate(self.netlist.flip_flops), key=lambda each: each[1].enable):
            members = list(group)
            first, _ = members[0]
            statements = self.copied("next", [each.data for _, each in members], first)
            self.lines += statements if enable == "1" else [f"if ({self.value(enable)}) {{", *statements, "}"]


def _levels(netlist: _Netlist) -> dict[Bit, int]:
    """By net of a gate or of a row that is read the length of the longest path to it from a flip-flop or an input."""
    by_data: dict[Bit, _ReadPort] = {bit: read for read in netlist.reads for bit in read.data}
    graph: TopologicalSorter[Bit] = TopologicalSorter()
    for net, (_, operands) in netlist.gates.items():
        graph.add(net, *operands.values())
    for bit, read in by_data.items():
        graph.add(bit, *read.address)
    levels: dict[Bit, int] = {}
    try:
        for bit in graph.static_order():
            if bit in netlist.gates:
                levels[bit] = 1 + max(levels.get(each, 0) for each in netlist.gates[int(bit)][1].values())
            elif bit in by_data:
                levels[bit] = 1 + max((levels.get(each, 0) for each in by_data[bit].address), default=0)
    except CycleError:
        raise ToolError("the compiled engine does not simulate a circuit with a combinational loop") from None
    return levels


class _Words:
    """An order of the flip-flops in which words that are copied or selected are contiguous.

    The words are found from where they end, at outputs and memories, back to where their bits are computed.

    Attributes:
        flip_flops: the flip-flops in this order.
        multiplexers: groups of multiplexers with one select input and one level, in the order of their words.
    """

    def __init__(self, netlist: _Netlist, levels: dict[Bit, int]) -> None:
        self.flip_flops: list[_FlipFlop] = []
        self.multiplexers: list[list[int]] = []
        self._gates = netlist.gates
        self._levels = levels
        self._left: dict[Bit, _FlipFlop] = {each.output: each for each in netlist.flip_flops}
        self._seen: set[int] = set()
        self._waiting: deque[list[Bit]] = deque(netlist.outputs.values())
        self._waiting += (port.data for memory in netlist.memories for port in memory.writes)
        self._walk()
        copied = {each.data for each in netlist.flip_flops}
        for only_ends in (True, False):
            rest = [each for each in self._left.values() if not only_ends or each.output not in copied]
            self._waiting.append([each.output for each in sorted(rest, key=lambda each: str(each.enable))])
            self._walk()

    def _walk(self) -> None:
        while self._waiting:
            for kind, group in groupby(self._waiting.popleft(), key=self._kind):
                if kind and kind[0] == "flip-flop":
                    self._waiting.append([self._place(bit) for bit in dict.fromkeys(group)])
                elif kind:
                    nets = [int(bit) for bit in dict.fromkeys(group)]
                    self._seen.update(nets)
                    self.multiplexers.append(nets)
                    self._waiting += ([self._gates[net][1][pin] for net in nets] for pin in "AB")

    def _kind(self, bit: Bit) -> tuple[Any, ...] | None:
        """What the bits of a word have in common; None if it has no place in a word or has one already."""
        if bit in self._left:
            return "flip-flop", self._left[bit].enable
        if bit in self._gates and bit not in self._seen:
            kind, operands = self._gates[int(bit)]
            if kind == "$_MUX_":
                return "multiplexer", operands["S"], self._levels[bit]
        return None

    def _place(self, bit: Bit) -> Bit:
        """Append a flip-flop and return its input."""
        each = self._left.pop(bit)
        self.flip_flops.append(each)
        return each.data


def _ranges(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first position and the length of each range of ascending positions."""
    for _, group in groupby(enumerate(positions), key=lambda each: each[1] - each[0]):
        members = [position for _, position in group]
        yield members[0], len(members)


def gate_level_c(module: dict[str, Any]) -> str:
    """The C text of a module.

    Args:
        module: the module, from the output of `write_json`.
    """
    return _Writer(_netlist(module)).text()
