# SPDX-License-Identifier: BSD-2-Clause
"""The command that reproduces a difference of a simulated core from its golden function."""

from __future__ import annotations

import shlex

from utf8fpga.hdl import command_words
from utf8fpga.sim import Mismatch
from utf8fpga.sim.beats import symbol_bytes, symbol_width


def with_replay(found: Mismatch) -> str:
    """A difference as text, with the command that reproduces it, or the reason why there is none."""
    obstacle = _obstacle(found)
    return f"{found}\n  replay:    {f'none, since {obstacle}' if obstacle else shlex.join(replay(found))}"


def replay(found: Mismatch) -> list[str]:
    """The words of the command that reproduces a difference and writes its waveform."""
    simulation, options = found.simulation, found.options
    parameters, size = simulation.entry.parameters, symbol_bytes(symbol_width(simulation.core))
    words = command_words(parameters)
    core, arguments = (words[:1], words[1:]) if words[:1] == [parameters.core] else ([], words)
    # The units as the bytes of a file.
    data = b"".join(unit.to_bytes(size, "little") for unit in found.units).hex(" ").upper()
    for name, pattern in (("--input-pauses", options.input_pauses), ("--output-pauses", options.output_pauses)):
        if any(pattern):
            arguments += [name, "".join(str(int(is_set)) for is_set in pattern)]
    # Netlists have no waveforms.
    last = ["--netlist", simulation.netlist] if simulation.netlist else ["--vcd", "mismatch.vcd"]
    return ["utf8fpga", "simulate", *core, "--hex", data, *arguments, *last]


def _obstacle(found: Mismatch) -> str:
    """The reason why no command reproduces a difference; empty if one does."""
    if not found.is_alone:
        return "these units alone are decoded correctly: the difference depends on earlier units"
    others = ("separate_ends", "null_beats", "gaps")
    used = [name.replace("_", " ") for name in others if any(getattr(found.options, name))]
    unsent = f"no command line sends {' or '.join(used)}" if used else ""
    return found.simulation.entry.parameters.obstacle or unsent
