# SPDX-License-Identifier: BSD-2-Clause
"""A core with its environment, and claims about both that an induction proves."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value

from utf8fpga.formal.gates import GateList, graph_of
from utf8fpga.formal.induction import unproved
from utf8fpga.formal.insides import elaborated, registers_in
from utf8fpga.sim.aiger import Aig
from utf8fpga.sim.harness import Environment, Property

_PART = 32
"""Bits of an output beat about which there is one claim."""


class Claims(Environment):
    """A core in its environment, beside a specification that `specify` adds.

    Attributes:
        inside: the registers of the core, by path.
        registers, conditions, values: the ports for the claims of `holds`, bit by bit.
        claims: the port for the claims of `claim`.
        latency: the latency that the monitors of `Property.LATENCY` prove.
    """

    latency: int

    def __init__(self, core: Any) -> None:
        super().__init__(core)
        self.circuit = elaborated(core)
        self.inside = registers_in(self.circuit)
        self._held: list[tuple[str, Value, Value, Value]] = []
        self._claimed: list[tuple[str, Value]] = []

    def claim(self, name: str, value: Value) -> None:
        """Claim that a bit is always 1; `name` begins with a property and a colon if it is a part of that."""
        self._claimed.append((name, value))

    def claim_steady(self, m: Module) -> None:
        """Claim in parts that a beat that waits does not change, since all of a wide one at once would take long."""
        changes = self.changes(m)
        for start in range(0, len(changes), _PART):
            self.claim(f"steady: from bit {start}", ~changes[start : start + _PART].any())

    def holds(self, name: str, register: Any, value: Any, condition: Value | None = None) -> None:
        """Claim that a register holds a value, a function of the specification's registers.

        Args:
            condition: only while this is 1, a bit for all or for each of the register's bits; default: always.
        """
        register = Value.cast(register)
        bits = len(register)
        condition = Const(1, 1) if condition is None else condition
        conditions = condition if len(condition) == bits else condition.replicate(bits)
        self._held.append((name, register, Cat(value, Const(0, bits))[:bits], conditions))

    def specify(self, m: Module) -> None:
        """Add the specification, and make the claims."""
        raise NotImplementedError

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.surround(m, self.circuit, self.reset)
        self.specify(m)
        ports = zip(*((register, value, condition) for _, register, value, condition in self._held), strict=True)
        for name, values in zip(("registers", "values", "conditions"), ports, strict=True):
            self._add_port(m, name, values)
        self._add_port(m, "claims", [value for _, value in self._claimed])
        return m

    def _add_port(self, m: Module, name: str, values: Any) -> None:
        value = Cat(*values)
        port = Signal(len(value), name=name)
        setattr(self, name, port)
        m.d.comb += port.eq(value)

    def unproved(self) -> list[str]:
        """The claims that are not proved; none if all are."""
        aig = graph_of(self)  # Made first, with the claims.
        registers = [f"{name}[{bit}]" for name, register, _, _ in self._held for bit in range(len(register))]
        return unproved(aig, [name for name, _ in self._claimed], registers)

    def monitors(self, wanted: Property) -> list[int]:
        """The numbers of the claims that are a property: those whose names begin with it."""
        return [number for number, (name, _) in enumerate(self._claimed) if name.startswith(f"{wanted}:")]

    def refutation(self, wanted: Property) -> Aig:
        """The graph with one output, which is 1 if a property does not hold."""
        aig = graph_of(self)
        # What is output in a cycle with a reset is not transferred.
        gates, holds = GateList(aig), 1
        runs = 2 * (1 + aig.input_bits["reset"][0]) ^ 1
        for number in self.monitors(wanted):
            holds = gates.both(holds, aig.outputs[aig.output_bits["claims"][number]])
        return gates.graph(aig.latches, [gates.both(holds ^ 1, runs)], aig.input_bits, {})
