# SPDX-License-Identifier: BSD-2-Clause
"""The waveform of the test bench of a foreign core, by the values of its and-inverter graph."""

from __future__ import annotations

import re
from typing import Any, TextIO

from vcd import VCDWriter

from utf8fpga.formal.aiger import aig_of
from utf8fpga.hdl.foreign_core import ForeignCore
from utf8fpga.hdl.toolchain import run_yosys
from utf8fpga.sim.foreign_bench import foreign_testbench, plain_name
from utf8fpga.sim.report import Finding

_PERIOD = 10
"""Nanoseconds per cycle."""

_AFTER = 4
"""Cycles after the end of the test bench."""


def write_foreign_waveform(core: ForeignCore, finding: Finding, file: TextIO) -> None:
    """Write the waveform of the test bench of a finding, with the signals within the core, from its reset on."""
    design, top = _design(core, finding), f"{plain_name(core)}_check"
    aig = aig_of(design, top=top)
    step = aig.stepper(range(len(aig.outputs)))
    state, none = [0] * len(aig.latches), [0] * aig.inputs
    # Wires without a name in the source have numbers, and the clock, the only input, has no value in a graph.
    names = [
        name
        for name, places in aig.output_bits.items()
        if not re.fullmatch(r"(.*\.)?(_\d+_|\$.*)", name) and not 0 < aig.outputs[places[0]] >> 1 <= aig.inputs
    ]
    with VCDWriter(file, timescale="1 ns") as writer:
        clock = writer.register_var(top, "clk", "wire", size=1, init=0)
        signals: dict[str, Any] = {}
        for name in names:
            *scope, last = name.split(".")
            size = len(aig.output_bits[name])
            signals[name] = writer.register_var(".".join([top, *scope]), last, "wire", size=size, init=0)
        cycle, remaining = 0, _AFTER
        while remaining:
            state, outputs = step(state, none, 1)
            for name in names:
                value = sum(outputs[place] << bit for bit, place in enumerate(aig.output_bits[name]))
                writer.change(signals[name], _PERIOD * cycle, value)
            writer.change(clock, _PERIOD * cycle, 0)
            writer.change(clock, _PERIOD * cycle + _PERIOD // 2, 1)
            is_over = any(outputs[aig.output_bits[name][0]] for name in ("passed", "failed"))
            cycle, remaining = cycle + 1, remaining - is_over


def _design(core: ForeignCore, finding: Finding) -> str:
    """The test bench and the core in RTLIL, without hierarchy; its outputs are all signals that have a name."""
    script = (
        f"read_verilog -defer bench.v; read_rtlil core.il; rename foreign {core.name};"
        f" hierarchy -check -top {plain_name(core)}_check; proc; delete t:$print; memory_collect; memory_map; flatten;"
        " techmap; opt_clean; expose w:* w:$* %d; setundef -zero -undriven -init; write_rtlil flat.il"
    )
    files = {"bench.v": foreign_testbench(core, finding, []), "core.il": core.module.rtlil}
    (flat,) = run_yosys(script, files, "flat.il")
    return flat.decode()
