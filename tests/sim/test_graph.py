# SPDX-License-Identifier: BSD-2-Clause
"""Graphs of circuits: equal to Amaranth's simulator in every cycle and every run, with memories of all forms."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal
from amaranth.lib.memory import Memory
from amaranth.sim import Simulator

np = pytest.importorskip("numpy", reason="requires the extra 'fast'")
pytest.importorskip("numba", reason="requires the extra 'fast'")

from utf8fpga.hdl.toolchain import ToolError, run_yosys  # noqa: E402  (not before numba is known to be there)
from utf8fpga.sim.graph import RUNS, Graph  # noqa: E402  (not before numba is known to be there)

ROWS = 13


class Circuit:
    """A memory between inputs and outputs.

    Args:
        add_ports: adds the ports of the memory `ram` to a module, with these signals.
    """

    def __init__(self, add_ports: Callable[[Module, Any, Circuit], None]) -> None:
        self.address, self.other, self.data, self.enable = (Signal(n) for n in (4, 4, 6, 3))
        self.found = Signal(12)
        self.m = Module()
        self.m.submodules.ram = ram = Memory(shape=6, depth=ROWS, init=[5 * n % 64 for n in range(ROWS)])
        add_ports(self.m, ram, self)
        self.inputs = {"address": self.address, "other": self.other, "data": self.data, "enable": self.enable}


def _read_at_once(m: Module, ram: Any, circuit: Circuit) -> None:
    read, write = ram.read_port(domain="comb"), ram.write_port()
    m.d.comb += [read.addr.eq(circuit.address), circuit.found.eq(read.data)]
    m.d.comb += [write.addr.eq(circuit.other), write.data.eq(circuit.data), write.en.eq(circuit.enable[0])]


def _read_after_a_clock(m: Module, ram: Any, circuit: Circuit) -> None:
    write = ram.write_port(granularity=2)
    for number, transparent in enumerate(((), (write,))):
        read = ram.read_port(domain="sync", transparent_for=transparent)
        m.d.comb += [read.addr.eq(circuit.address), read.en.eq(circuit.data[0])]
        m.d.comb += circuit.found[6 * number :][:6].eq(read.data)
    m.d.comb += [write.addr.eq(circuit.other), write.data.eq(circuit.data), write.en.eq(circuit.enable)]


def _read_twice(m: Module, ram: Any, circuit: Circuit) -> None:
    """The data of a port are the address of another one, which is in front of it in the list of the ports.

    Between the first two there is no gate.
    """
    third, second, first = (ram.read_port(domain="comb") for _ in range(3))
    write = ram.write_port()
    m.d.comb += [first.addr.eq(circuit.address), second.addr.eq(first.data[:4])]
    m.d.comb += [third.addr.eq(second.data[:4] ^ circuit.other), circuit.found.eq(third.data + first.data)]
    m.d.comb += [
        write.addr.eq(circuit.other),
        write.data.eq(circuit.data ^ second.data),
        write.en.eq(circuit.enable[1]),
    ]


MEMORIES = [_read_at_once, _read_after_a_clock, _read_twice]


def inputs_of_runs(runs: int, cycles: int) -> list[list[dict[str, int]]]:
    """For each run and cycle the values of the inputs; the addresses are those of rows."""
    draw = random.Random(1)
    tops = {"address": ROWS, "other": ROWS, "data": 64, "enable": 8}
    return [[{name: draw.randrange(top) for name, top in tops.items()} for _ in range(cycles)] for _ in range(runs)]


def simulated(circuit: Circuit, cycles: list[dict[str, int]]) -> list[int]:
    """The values of the output in each cycle in Amaranth's simulator."""
    found = []

    async def bench(ctx: Any) -> None:
        for values in cycles:
            for name, value in values.items():
                ctx.set(circuit.inputs[name], value)
            found.append(ctx.get(circuit.found))
            await ctx.tick()

    simulator = Simulator(circuit.m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def graph_of(circuit: Circuit) -> Graph:
    """The graph of a circuit."""
    ports = {name: (signal, None) for name, signal in {**circuit.inputs, "found": circuit.found}.items()}
    return Graph.from_rtlil(rtlil.convert(circuit.m, name="top", ports=ports))


def as_words(runs: list[list[int]], width: int) -> Any:
    """The values of a port in each run and cycle as an array of cycles by bits, in which a bit is a run."""
    values = np.array(runs, np.uint64)[:, :, None] >> np.arange(width, dtype=np.uint64) & np.uint64(1)
    return (values << np.arange(len(runs), dtype=np.uint64)[:, None, None]).sum(axis=0)


@pytest.mark.parametrize("add_ports", MEMORIES)
@pytest.mark.parametrize("runs", [1, RUNS])
def test_memories_equal_those_of_amaranths_simulator(add_ports: Any, runs: int) -> None:
    given = inputs_of_runs(runs, cycles=40)
    circuit = Circuit(add_ports)
    graph = graph_of(circuit)
    words = {
        name: as_words([[cycle[name] for cycle in run] for run in given], len(signal))
        for name, signal in circuit.inputs.items()
    }
    state = graph.start(runs)
    # In two parts, since a state continues.
    halves = [
        graph.step(state, {name: values[part] for name, values in words.items()}, ["found"])["found"]
        for part in (slice(None, 17), slice(17, None))
    ]
    found = np.concatenate(halves)
    for run in (0, runs // 2, runs - 1):
        values = [sum(int(word >> np.uint64(run)) % 2 << bit for bit, word in enumerate(row)) for row in found]
        assert values == simulated(Circuit(add_ports), given[run])


LOOP = """
module top(input clk, input [3:0] next, output [3:0] found);
  reg [3:0] rows [15:0];
  assign found = rows[found ^ next];
  always @(posedge clk) rows[next] <= found;
endmodule
"""


def test_address_that_depends_on_the_data_in_the_same_cycle_is_rejected() -> None:
    (rtlil_text,) = run_yosys("read_verilog top.v; proc; write_rtlil top.il", {"top.v": LOOP}, "top.il")
    with pytest.raises(ToolError, match="depends on its data in the same cycle"):
        Graph.from_rtlil(rtlil_text.decode())
