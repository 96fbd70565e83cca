# SPDX-License-Identifier: BSD-2-Clause
"""An example of timing constraints for a core's Verilog module."""

from __future__ import annotations

from collections.abc import Sequence

from utf8fpga.hdl.axi_stream import PortOptions
from utf8fpga.hdl.core import Core
from utf8fpga.hdl.verilog.writer import WrittenModule


def axi_constraints(
    core: Core,
    name: str | None = None,
    *,
    options: PortOptions | None = None,
    command: Sequence[str] | None = None,
) -> str:
    """Constraints of the module that `axi_verilog` writes: a clock of 100 MHz and, as comments, delays at the ports.

    They are valid both as SDC and, for Vivado, as XDC. The arguments are those of `axi_assertions`.
    """
    module = WrittenModule.of(core, name, options, command)
    inputs = [
        f"{port}[*]" if width > 1 else port
        for port, (direction, width) in module.ports.items()
        if direction == "input" and port != "clk"
    ]
    name = module.name
    return f"""\
# Constraints of the module {name} as the top of a design, or out of context (Vivado: read_xdc -mode out_of_context).
# Command: {module.command}
# SPDX-License-Identifier: BSD-2-Clause

# An example, 100 MHz: replace the period, in ns, by that of the design.
create_clock -name clk -period 10.000 [get_ports clk]

# Delays outside of the module, in ns, without which the paths from and to its ports are not examined. The reset is
# synchronous: it is timed like the other inputs.
# set_input_delay -clock clk -max 2.000 [get_ports {{{" ".join(inputs)}}}]
# set_output_delay -clock clk -max 2.000 [all_outputs]
"""
