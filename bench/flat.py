# SPDX-License-Identifier: BSD-2-Clause
"""A core as one Verilog module, in the form from which the recorded figures were measured."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from utf8fpga.hdl.toolchain import run_yosys


class FlatVerilog(NamedTuple):
    """A design as one module.

    Attributes:
        names: for each numbered wire and each memory its name in the design, after those of the modules that it is in.
    """

    text: str
    names: dict[str, str]


def flat_verilog(rtlil: str, top: str) -> FlatVerilog:
    """A design as one module with numbered wires, so that results depend on no name but those of the ports."""
    script = f"hierarchy -top {top}; proc; flatten -separator _; opt_clean; rename -hide; rename -enumerate"
    commands = f"read_rtlil top.il; {script}; write_verilog -noattr top.v; write_json top.json"
    given = "\n".join(_with_names(rtlil, f"{top}.")) + "\n"
    written, netlist = run_yosys(commands, {"top.il": given}, "top.v", "top.json")
    text, module = written.decode(), json.loads(netlist)["modules"][top]
    wires, memories = module["netnames"], module.get("memories", {})
    names: dict[tuple[object, ...], str] = {}
    for wire in wires.values():
        # A wire and the ports that it is connected to have different names.
        name, bits = wire["attributes"].get(_NAME, ""), tuple(wire["bits"])
        if name and ("$" not in name or bits not in names):
            names[bits] = name
    # The header that Yosys writes, with the build of Yosys, is omitted.
    return FlatVerilog(
        text[text.index("module ") :],
        {wire: names[bits] for wire, given in wires.items() if (bits := tuple(given["bits"])) in names}
        | {memory: given["attributes"][_NAME] for memory, given in memories.items() if _NAME in given["attributes"]},
    )


_NAME = "utf8fpga_name"
"""The attribute of a wire or memory with its name, which renaming does not change."""


def _with_names(rtlil: str, top: str) -> Iterator[str]:
    """The lines of a design, each wire and memory with its name as an attribute."""
    module = ""
    for line in rtlil.splitlines():
        if found := re.match(r"module \\(\S+)$", line):
            module = found[1]
        elif found := re.match(r"  (?:wire|memory) .*\\(\S+)$", line):
            yield f'  attribute \\{_NAME} "{f"{module}.{found[1]}".removeprefix(top)}"'
        yield line
