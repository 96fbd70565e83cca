# SPDX-License-Identifier: BSD-2-Clause
"""The contents of a module: expressions of its named signals, and assignments to its registers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

from utf8fpga.hdl.verilog.expressions import (
    BY_BIT,
    OPERATORS,
    REDUCTIONS,
    Expression,
    joined,
    leaf,
    of_bit,
    wires_of,
)
from utf8fpga.hdl.verilog.rtlil import Assignment, Bit, Bits, Cell, Module, Signal, Statement, Switch, WireBit

_NUMBER = re.compile(r"\$\d+$")
"""What Amaranth adds to a name that is not unique."""

MEMORY_PORT = re.compile(r"\$signature__\w+(\$\d+)?$")
"""The names that Amaranth gives to the ports of memories."""

_ANONYMOUS = re.compile(rf"\$\d+$|{MEMORY_PORT.pattern}")


@dataclass(frozen=True)
class Register:
    """Bits of a register and the assignments that make their next value."""

    bits: Bits
    clock: Bit
    statements: tuple[Statement, ...]


class Contents:
    """A module in which each bit has one name, or none if it is part of one expression.

    Attributes:
        cells: its cells, with the names of bits.
        live: the bits that an output, an instance or a memory depends on.
        divided: the names of cells that are not inserted in expressions, since these read only some of their bits.
    """

    def __init__(self, module: Module, modules: Mapping[str, Module]) -> None:
        self.module, self._modules = module, modules
        self.signals = dict(module.signals)
        self._aliases = {
            target: value
            for each in module.connections
            for target, value in each.pairs()
            if isinstance(target, WireBit)
        }
        self._owners: dict[Bit, WireBit] = {}
        self._name_anonymous_bits()
        self._name_outputs()
        self.cells = [
            replace(cell, ports={port: self.named(bits) for port, bits in cell.ports.items()}) for cell in module.cells
        ]
        self.instances = [cell for cell in self.cells if cell.kind in modules]
        self.registers: list[Register] = []
        self.cells = [self._without_register(cell) for cell in self.cells]
        self._find_drivers()
        self.live: set[Bit] = set()
        self.uses: Counter[Bit] = Counter()
        self.divided: Collection[str] = ()
        self._forget()

    def divide(self, cells: Collection[str]) -> Contents:
        """The same with wires for the results of further cells, whose bits are then read one by one."""
        if not set(cells).isdisjoint(self.divided):
            raise AssertionError(f"{self.module.name}: {', '.join(cells)} have no wire")
        found = copy(self)
        made = {bit for bits in self._wires.values() for bit in bits}
        names = {bit.wire for bit in made if isinstance(bit, WireBit)}
        found.signals = {name: signal for name, signal in self.signals.items() if name not in names}
        found.drivers = {bit: driver for bit, driver in self.drivers.items() if bit not in made}
        found.live = self.live - made
        found.divided = {*self.divided, *cells}
        found._forget()
        return found

    def _forget(self) -> None:
        """Begin without expressions."""
        self._shared: dict[str, Bits] = {}
        self._wires: dict[Expression, Bits] = {}
        self._read: dict[Bit, Expression] = {}
        self._made: dict[tuple[str, int], Expression] = {}

    def named(self, bits: Bits) -> Bits:
        """The bits by their names."""
        return tuple(self._named(bit) for bit in bits)

    def source(self, bit: Bit) -> Bit:
        """The bit at the end of connections."""
        while bit in self._aliases:
            bit = self._aliases[bit]
        return bit

    def _named(self, bit: Bit) -> Bit:
        bit = self.source(bit)
        return self._owners.get(bit, bit)

    def _name_anonymous_bits(self) -> None:
        """Let signals with a name own the bits without a name that they consist of."""
        signals = self.signals

        def rank(name: str) -> tuple[bool, bool, int]:
            return bool(signals[name].direction), "." in name, -signals[name].width

        for name in sorted(signals, key=rank):
            if not _ANONYMOUS.match(name):
                bits = WireBit.all_of(name, signals[name].width)
                sources = [self.source(bit) for bit in bits]
                if len(set(sources)) == len(sources) and all(map(self._is_free, sources)):
                    self._owners.update(zip(sources, bits, strict=True))

    def _name_outputs(self) -> None:
        """Name the bits without a name that are outputs of instances after these."""
        for cell in self.module.cells:
            if cell.kind in self._modules:
                for port, bits in cell.ports.items():
                    sources = [self.source(bit) for bit in bits]
                    free = [source for source in sources if self._is_free(source)]
                    if self._modules[cell.kind].signals[port].direction == "output" and free:
                        name = self._unused(f"{_NUMBER.sub('', cell.name)}_{port}")
                        self.signals[name] = Signal(len(free))
                        self._owners.update((source, WireBit(name, index)) for index, source in enumerate(free))

    def _unused(self, name: str) -> str:
        """A name that no signal has."""
        return next(each for n in count() if (each := f"{name}_{n}" if n else name) not in self.signals)

    def _is_free(self, bit: Bit) -> bool:
        return is_anonymous(bit) and bit not in self._owners

    def _find_drivers(self) -> None:
        processes = [[part.moved(self.named) for part in each] for each in self.module.processes]
        self.processes = {bit: each for each in processes for bit in targets(each)}
        self.drivers: dict[Bit, tuple[Cell, int]] = {}
        self._clocked = {bit: each for each in self.registers for bit in each.bits}
        for cell in self.cells:
            if cell.kind == "$dff":
                register = Register(cell.ports["Q"], cell.ports["CLK"][0], self._next(cell))
                self.registers.append(register)
                self._clocked.update(dict.fromkeys(register.bits, register))
            elif output := {"$memrd_v2": "DATA"}.get(cell.kind, "Y" * (cell.kind[0] == "$" and "Y" in cell.ports)):
                self.drivers.update((bit, (cell, index)) for index, bit in enumerate(cell.ports[output]))

    def _without_register(self, cell: Cell) -> Cell:
        """A port of a memory that is read with the clock as one that is read without it, and a register behind it."""
        if cell.kind != "$memrd_v2" or cell.parameters["CLK_ENABLE"] == "0":
            return cell
        assert "1" not in cell.parameters["TRANSPARENCY_MASK"].partition("'")[2], "a transparent port of a memory"
        data, name = cell.ports["DATA"], f"{cell.name}0000"
        self.signals[name] = Signal(len(data))
        row = WireBit.all_of(name, len(data))
        load = Switch(cell.ports["EN"], [(["1"], [Assignment(data, row)])])
        self.registers.append(Register(data, cell.ports["CLK"][0], (load,)))
        return replace(cell, ports={"ADDR": cell.ports["ADDR"], "DATA": row})

    def _next(self, cell: Cell) -> tuple[Statement, ...]:
        target, value = cell.ports["Q"], cell.ports["D"]
        process = self.processes.get(value[0])
        if process is None or any(self.processes.get(bit) is not process for bit in value):
            return (Assignment(target, value),)
        statements = retargeted(process, dict(zip(value, target, strict=True)))
        first = statements[0]
        if isinstance(first, Assignment):
            # A register holds its value without an assignment.
            pairs = [pair for pair in first.pairs() if pair[0] != pair[1]]
            statements = (*([Assignment.of(pairs)] if pairs else []), *statements[1:])
        return statements

    def sources(self, bit: Bit, *, through_registers: bool = True) -> list[Bit]:
        """The bits that the driver of a bit reads."""
        if bit in self._clocked:
            if not through_registers:
                return []
            register = self._clocked[bit]
            return [register.clock, *(each for part in register.statements for each in reads(part, {bit}))]
        if bit in self.drivers:
            cell, index = self.drivers[bit]
            found = list(operands_of_bit(cell, index))
            if cell.kind == "$memrd_v2" and through_registers:
                found += [each for write in self._writes(cell) for bits in write.ports.values() for each in bits]
            return found
        if self._named(bit) != bit:
            return [self._named(bit)]
        return [each for statement in self.processes.get(bit, ()) for each in reads(statement, {bit})]

    def _writes(self, read: Cell) -> list[Cell]:
        """The write ports of the memory of a read port."""
        memory = read.parameters["MEMID"]
        return [cell for cell in self.cells if cell.kind == "$memwr_v2" and cell.parameters["MEMID"] == memory]

    @cached_property
    def writes(self) -> list[Cell]:
        """The write ports of memories in use."""
        return [cell for cell in self.cells if cell.kind == "$memwr_v2" and not self.live.isdisjoint(cell.ports["CLK"])]

    @cached_property
    def clock(self) -> Bit:
        """The clock of all registers and memories in use; a constant if there are none."""
        clocks = {each.clock for each in self.registers if not self.live.isdisjoint(each.bits)}
        [clock] = clocks | {cell.ports["CLK"][0] for cell in self.writes} or {"0"}
        return clock

    def live_signals(self) -> set[str]:
        """The names of the signals that are used."""
        return {bit.wire for bit in self.live if isinstance(bit, WireBit)}

    def wires(self) -> Iterator[tuple[str, Bits]]:
        """The signals in use that are no registers, and their bits that have an expression."""
        made = self.drivers.keys() | self.processes.keys()
        for name, signal in list(self.signals.items()):
            bits = WireBit.all_of(name, signal.width)
            if not bits or is_anonymous(bits[0]) or self.live.isdisjoint(bits):
                continue
            if found := tuple(bit for bit in bits if bit in made or self._named(bit) != bit):
                yield name, found

    def outputs(self) -> Iterator[WireBit]:
        """The bits of output ports."""
        for name, signal in self.signals.items():
            if signal.direction == "output":
                yield from WireBit.all_of(name, signal.width)

    def count_uses(self) -> None:
        """Count the places where each bit is read, of those that are live."""
        for read in self._reads():
            self.uses.update(set(read))

    def _reads(self) -> Iterator[Iterable[Bit]]:
        """The bits that are read in each place."""
        yield from ([self._named(bit)] for bit in self.outputs() if bit in self.live)
        for cell in self.cells:
            yield from self._read_by(cell)
        paths: set[tuple[Bits, ...]] = set()
        blocks = [each.statements for each in self.registers if not self.live.isdisjoint(each.bits)]
        for block in [*blocks, *{id(each): each for bit, each in self.processes.items() if bit in self.live}.values()]:
            yield from self._read_in(block, (), paths)

    def _read_by(self, cell: Cell) -> Iterator[Iterable[Bit]]:
        indices = [index for index, bit in enumerate(cell.ports.get("Y", ())) if bit in self.live]
        if cell.kind in BY_BIT:
            yield from ([cell.ports[port][index] for index in indices] for port in "AB" if port in cell.ports)
            if indices and "S" in cell.ports:
                yield cell.ports["S"]
        elif cell.kind in self._modules:
            signals = self._modules[cell.kind].signals
            yield from (bits for port, bits in cell.ports.items() if signals[port].direction == "input")
        elif indices or cell.kind.startswith("$mem"):
            results = ("Y",) if cell in self.writes else ("Y", "DATA")
            yield from (bits for port, bits in cell.ports.items() if port not in results)

    def _read_in(
        self, block: Iterable[Statement], path: tuple[Bits, ...], paths: set[tuple[Bits, ...]]
    ) -> Iterator[Iterable[Bit]]:
        for each in block:
            if isinstance(each, Assignment):
                yield [value for target, value in each.pairs() if target in self.live]
            else:
                inner = (*path, each.selector)
                if inner not in paths:
                    paths.add(inner)
                    yield each.selector
                for _, body in each.cases:
                    yield from self._read_in(body, inner, paths)

    def value(self, bits: Iterable[Bit]) -> Expression:
        """The expression of bits where they are read."""
        return joined([self.bit(bit) for bit in bits])

    def definition(self, bits: Iterable[Bit]) -> Expression:
        """The expression of bits that have a name where they are defined."""
        return joined([self._defined(bit) for bit in bits])

    def _defined(self, bit: Bit) -> Expression:
        if bit in self.drivers:
            cell, index = self.drivers[bit]
            if cell.name in self.divided and self._is_shared(cell) and self._shared[cell.name][index] != bit:
                return leaf([self._shared[cell.name][index]])
            return self._of_driver(cell, index)
        return self._selected(bit) if bit in self.processes else self.bit(self._named(bit))

    def _selected(self, bit: Bit) -> Expression:
        """The value of a bit that a process assigns."""
        return self._after(self.processes[bit], bit, leaf("x"))

    def _after(self, statements: Iterable[Statement], bit: Bit, value: Expression) -> Expression:
        for each in statements:
            if isinstance(each, Assignment):
                if bit in each.target:
                    value = self.bit(each.value[len(each.target) - 1 - each.target[::-1].index(bit)])
            elif bit in set(targets([each])):
                before = value
                for keys, body in reversed(each.cases):
                    chosen = self._after(body, bit, before)
                    value = of_bit("?", self.condition(each.selector, keys), value, chosen) if keys else chosen
        return value

    def condition(self, selector: Bits, patterns: Sequence[str]) -> Expression:
        """Whether a selector has one of some patterns, in which a dash is any value."""
        found = leaf("0")
        for pattern in patterns:
            pairs = [pair for pair in zip(selector, reversed(pattern), strict=True) if pair[1] != "-"]
            bits, values = zip(*pairs, strict=True)
            if len(values) > 1:
                matches = Expression("==", (self.value(bits), leaf(values)))
            else:
                matches = self.bit(bits[0]) if values == ("1",) else of_bit("~", self.bit(bits[0]))
            found = of_bit("|", found, matches)
        return found

    def bit(self, bit: Bit) -> Expression:
        """The expression of a bit where it is read."""
        if bit not in self._read:
            self._read[bit] = self._inserted(bit)
        return self._read[bit]

    def _inserted(self, bit: Bit) -> Expression:
        if not is_anonymous(bit):
            return leaf([bit])
        if bit not in self.drivers:
            return self._selected(bit) if bit in self.processes else leaf([bit])
        cell, index = self.drivers[bit]
        return leaf([self._shared[cell.name][index]]) if self._is_shared(cell) else self._of_driver(cell, index)

    def _is_shared(self, cell: Cell) -> bool:
        """Whether a cell has a wire of its own, since several expressions read it, or some of its bits."""
        if cell.name not in self._shared:
            uses = max((self.uses[bit] for bit in cell.ports["Y"]), default=0) if "Y" in cell.ports else 0
            is_shared = cell.name in self.divided or (uses > 1 and size_of(self._of_driver(cell, 0)) > 2)
            self._shared[cell.name] = self._wire_of(cell) if is_shared else ()
        return bool(self._shared[cell.name])

    def _wire_of(self, cell: Cell) -> Bits:
        """A wire for the result of a cell, with the name of the signal that has bits of it, if there is one."""
        reads = cell.kind == "$memrd_v2"
        output = cell.ports["DATA" if reads else "Y"]
        whole = joined([self._of_driver(cell, index) for index in range(len(output))])
        if whole not in self._wires:
            named = [bit.wire for bit in output if isinstance(bit, WireBit) and not is_anonymous(bit)]
            made = f"{cell.memory}_read" if reads else _name_of(cell.kind, whole)
            name = self._unused(f"{named[0]}_whole" if named else made)
            self.signals[name] = Signal(len(output))
            self._wires[whole] = WireBit.all_of(name, len(output))
            self.drivers.update((bit, (cell, index)) for index, bit in enumerate(self._wires[whole]))
            self.live.update(self._wires[whole])
        return self._wires[whole]

    def _of_driver(self, cell: Cell, index: int) -> Expression:
        if (cell.name, index) not in self._made:
            self._made[cell.name, index] = self._operation(cell, index)
        return self._made[cell.name, index]

    def _operation(self, cell: Cell, index: int) -> Expression:
        ports, kind = cell.ports, cell.kind
        if kind == "$mux":
            return of_bit("?", self.bit(ports["S"][0]), self.bit(ports["A"][index]), self.bit(ports["B"][index]))
        if kind in BY_BIT:
            return of_bit(BY_BIT[kind], *(self.bit(ports[port][index]) for port in ("A", "B") if port in ports))
        if kind in REDUCTIONS:
            return self._reduction(kind, ports["A"])
        if kind in ("$add", "$sub", "$shr", "$memrd_v2"):
            return self._of_vector(cell, index)
        return self._comparison(cell)

    def _reduction(self, kind: str, bits: Bits) -> Expression:
        """A reduction of a vector, without bits that do not change it."""
        neutral = "1" if kind == "$reduce_and" else "0"
        operand = self.value([bit for bit in bits if self.bit(bit) != leaf(neutral)])
        if not operand.width:
            return leaf(neutral)
        return operand if operand.width == 1 else Expression(REDUCTIONS[kind], (operand,))

    def _of_vector(self, cell: Cell, index: int) -> Expression:
        """A bit of the result of an operation on vectors."""
        ports, kind = cell.ports, cell.kind
        nonzero = [port for port in "AB" if set(ports.get(port, ())) - {"0"}]
        if kind == "$add" and len(nonzero) < 2:
            bits = ports[nonzero[0]] if nonzero else ()
            return self.bit(bits[index]) if index < len(bits) else leaf("0")
        if kind == "$shr" and _least(ports["B"]) >= len(ports["A"]):
            return leaf("0")
        if index:
            [whole] = self._of_driver(cell, 0).operands
        elif kind == "$memrd_v2":
            whole = Expression(f"\\{cell.memory}", (self.value(ports["ADDR"]),), width=len(ports["DATA"]))
        elif kind == "$shr":
            operands = self.value(ports["A"]), self.value(ports["B"])
            whole = Expression(">>", operands, width=len(ports["A"]), cell=cell.name)
        else:
            operands = self._extended(ports["A"], len(ports["Y"])), self._extended(ports["B"], len(ports["Y"]))
            whole = Expression(OPERATORS[kind], operands, width=len(ports["Y"]), cell=cell.name)
        return Expression("[]", (whole,), index=index, cell=cell.name) if whole.width > 1 else whole

    def _comparison(self, cell: Cell) -> Expression:
        ports, kind = cell.ports, cell.kind
        width = max(len(ports["A"]), len(ports["B"]))
        if not width:
            return leaf("1" if kind in ("$eq", "$le", "$ge") else "0")
        constant = {"$gt": ("0", "1"), "$le": ("1", "1"), "$lt": ("0", "0"), "$ge": ("1", "0")}.get(kind)
        if constant and set(ports["B"]) == {constant[1]} and len(ports["B"]) == width:
            return leaf(constant[0])
        return Expression(OPERATORS[kind], tuple(self._extended(ports[port], width) for port in "AB"))

    def _extended(self, bits: Bits, width: int) -> Expression:
        """The value of an operand with the width of the operation, which no tool has to extend then."""
        return self.value((*bits, *"0" * (width - len(bits))))


def _least(number: Bits) -> int:
    """The least value of a number, of which some bits may be constants."""
    return sum(1 << place for place, bit in enumerate(number) if bit == "1")


def _name_of(kind: str, expression: Expression) -> str:
    """A name for an expression: those of the first wire in each of its operands, and the operator."""
    word = {"$add": "plus", "$sub": "minus"}.get(kind, kind.lstrip("$"))
    operands = [next(wires_of(each), "") for each in expression.operands] or [next(wires_of(expression), "")]
    names = [_NUMBER.sub("", name) for name in dict.fromkeys(operands) if name]
    return f"_{word}_".join(names) if len(names) > 1 else "_".join([*names, word])


def is_anonymous(bit: Bit) -> bool:
    return isinstance(bit, WireBit) and _ANONYMOUS.match(bit.wire) is not None


def size_of(expression: Expression) -> int:
    """The number of operands that are no operations themselves."""
    return 1 if not expression.operator else sum(size_of(each) for each in expression.operands)


def operands_of_bit(cell: Cell, index: int) -> Iterator[Bit]:
    for port, bits in cell.ports.items():
        if port in ("Y", "DATA"):
            continue
        yield from bits[index : index + 1] if cell.kind in BY_BIT and port in "AB" else bits


def targets(statements: Iterable[Statement]) -> Iterator[Bit]:
    for each in statements:
        if isinstance(each, Assignment):
            yield from each.target
        else:
            for _, body in each.cases:
                yield from targets(body)


def reads(statement: Statement, bits: set[Bit]) -> Iterator[Bit]:
    """The bits that a statement reads to assign to some bits."""
    if isinstance(statement, Assignment):
        yield from (value for target, value in statement.pairs() if target in bits)
    elif not bits.isdisjoint(targets([statement])):
        yield from statement.selector
        for _, body in statement.cases:
            for each in body:
                yield from reads(each, bits)


def retargeted(statements: Iterable[Statement], place: dict[Bit, Bit]) -> tuple[Statement, ...]:
    """The statements that assign to some bits, with other bits in their place; adjacent assignments are one."""
    found: list[Statement] = []
    pairs: dict[Bit, Bit] = {}
    for each in statements:
        if isinstance(each, Assignment):
            pairs.update((place[to], value) for to, value in each.pairs() if to in place)
            continue
        cases = [(keys, retargeted(body, place)) for keys, body in each.cases]
        if any(body for _, body in cases):
            if pairs:
                found.append(Assignment.of(pairs.items()))
                pairs = {}
            found.append(Switch(each.selector, cases))
    return (*found, Assignment.of(pairs.items())) if pairs else tuple(found)


def merged(blocks: Iterable[Sequence[Statement]]) -> list[tuple[Statement, ...]]:
    """Independent blocks as fewer ones: those with the same conditions in the same order are one."""
    groups: dict[tuple[object, ...], list[Sequence[Statement]]] = {}
    for block in blocks:
        groups.setdefault(tuple(_key(each) for each in block), []).append(block)
    return [tuple(_as_one(column) for column in zip(*group, strict=True)) for group in groups.values()]


def _key(statement: Statement) -> object:
    if isinstance(statement, Assignment):
        return None
    return statement.selector, *(tuple(keys) for keys, _ in statement.cases)


def _as_one(column: tuple[Statement, ...]) -> Statement:
    first = column[0]
    if isinstance(first, Assignment):
        assignments = [each for each in column if isinstance(each, Assignment)]
        return Assignment.of(pair for each in assignments for pair in each.pairs())
    cases = []
    for number, (keys, _) in enumerate(first.cases):
        bodies = [each.cases[number][1] for each in column if isinstance(each, Switch)]
        cases.append((keys, tuple(statement for block in merged(bodies) for statement in block)))
    return Switch(first.selector, cases)


def find_live(contents: Mapping[str, Contents]) -> None:
    """Find the bits of each module that an output of the top, the first one, depends on."""
    top = next(iter(contents))
    for name, bit in _origins(contents, [(top, bit) for bit in contents[top].outputs()], whole=True):
        contents[name].live.add(bit)


def combinational_paths(modules: Mapping[str, Module]) -> dict[str, Collection[str]]:
    """For each output port of the top, the first module, the input ports from which a path without registers leads."""
    contents = {name: Contents(module, modules) for name, module in modules.items()}
    top, signals = next(iter(contents)), next(iter(contents.values())).signals
    return {
        port: {
            bit.wire
            for name, bit in _origins(contents, [(top, bit) for bit in WireBit.all_of(port, signal.width)])
            if name == top and isinstance(bit, WireBit) and signals[bit.wire].direction == "input"
        }
        for port, signal in signals.items()
        if signal.direction == "output"
    }


def _origins(
    contents: Mapping[str, Contents], bits: Iterable[tuple[str, Bit]], *, whole: bool = False
) -> set[tuple[str, Bit]]:
    """The bits that some bits depend on, with the names of their modules.

    Args:
        whole: also through registers, and with the other bits of signals that have a name or are at a port.
    """
    outside, outputs = _connected(contents)
    found: set[tuple[str, Bit]] = set()
    extended: set[tuple[str, str]] = set()
    waiting = list(bits)
    while waiting:
        name, bit = waiting.pop()
        if isinstance(bit, str) or (name, bit) in found:
            continue
        found.add((name, bit))
        module = contents[name]
        waiting += [(name, source) for source in module.sources(bit, through_registers=whole)]
        if (name, bit) in outside:
            waiting.append(outside[name, bit])
        if whole and (name, bit) in outputs:
            waiting.append(outputs[name, bit])
        if whole and not is_anonymous(bit) and (name, bit.wire) not in extended:
            extended.add((name, bit.wire))
            waiting += [(name, each) for each in WireBit.all_of(bit.wire, module.signals[bit.wire].width)]
    return found


def _connected(
    contents: Mapping[str, Contents],
) -> tuple[dict[tuple[str, Bit], tuple[str, Bit]], dict[tuple[str, Bit], tuple[str, Bit]]]:
    """For the bits that a port drives the bit at its other end; and the latter for bits of output ports."""
    sources: dict[tuple[str, Bit], tuple[str, Bit]] = {}
    outputs: dict[tuple[str, Bit], tuple[str, Bit]] = {}
    for name, parent in contents.items():
        for cell in parent.instances:
            signals = contents[cell.kind].signals
            for port, outer in cell.ports.items():
                for index, bit in enumerate(outer):
                    inner = cell.kind, WireBit(port, index)
                    if signals[port].direction == "output":
                        sources[name, bit], outputs[inner] = inner, (name, bit)
                    else:
                        sources[inner] = name, bit
    return sources, outputs
