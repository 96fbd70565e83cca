# SPDX-License-Identifier: BSD-2-Clause
"""The waveform of the test bench of a foreign core, by the values of its and-inverter graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from utf8fpga.formal.aiger import Aig, aig_of
from utf8fpga.hdl.foreign_core import ForeignCore
from utf8fpga.hdl.toolchain import run_yosys
from utf8fpga.sim.foreign_bench import foreign_testbench, plain_name
from utf8fpga.sim.report import Finding
from utf8fpga.sim.waveform import write_cycles

_AFTER = 4
"""Cycles after the end of the test bench."""


def write_foreign_waveform(core: ForeignCore, finding: Finding, file: TextIO) -> None:
    """Write the waveform of the test bench of a finding, with the signals within the core, from its reset on."""
    design, top = _design(core, finding), f"{plain_name(core)}_check"
    aig = aig_of(design, top=top)
    # Wires without a name in the source have numbers, and the clock, the only input, has no value in a graph.
    sizes = {
        name: len(places)
        for name, places in aig.output_bits.items()
        if not re.fullmatch(r"(.*\.)?(_\d+_|\$.*)", name) and not 0 < aig.outputs[places[0]] >> 1 <= aig.inputs
    }
    write_cycles(file, top, sizes, ({name: values[name] for name in sizes} for values in _cycles(aig)))


def _cycles(aig: Aig) -> Iterator[dict[str, int]]:
    """The values of the outputs in each cycle of a test bench."""
    step = aig.stepper(range(len(aig.outputs)))
    state, none = [0] * len(aig.latches), [0] * aig.inputs
    remaining = _AFTER
    while remaining:
        state, outputs = step(state, none, 1)
        values = aig.of_ports(outputs)
        yield values
        remaining -= values["passed"] | values["failed"]


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
