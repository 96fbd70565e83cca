# SPDX-License-Identifier: BSD-2-Clause
"""A core's Verilog module in VHDL: its component declaration, and an entity around it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from utf8fpga.hdl.axi_stream import PortOptions
from utf8fpga.hdl.core import Core
from utf8fpga.hdl.verilog.header import header
from utf8fpga.hdl.verilog.identifiers import check_vhdl_name
from utf8fpga.hdl.verilog.writer import WrittenModule


def axi_vhdl(
    core: Core,
    name: str | None = None,
    *,
    options: PortOptions | None = None,
    command: Sequence[str] | None = None,
) -> str:
    """The module that `axi_verilog` writes for use in VHDL-93 and later editions.

    The package ``NAME_pkg`` has the component declaration, with the types of the Verilog ports: one bit is
    ``std_logic``. The entity ``NAME_wrapper`` instantiates it; its ports ``tdata``, ``tkeep`` and ``tuser`` are
    ``std_logic_vector`` for any width, so that a design does not depend on the number of lanes.

    The arguments are those of `axi_assertions`.

    Raises:
        InvalidArgumentError: `name` is not valid in VHDL.
    """
    name, options, ports, words = WrittenModule.of(core, name, options, command)
    check_vhdl_name(name)
    # The paragraphs of the header: the core, its ports, its timing.
    comment = re.sub("^//", "--", header(core, name, ports, {}, words, (), options), flags=re.MULTILINE)
    product, ports_text, timing, *_ = comment.split("--\n")
    vectors = {port for port, (_, width) in ports.items() if width > 1}
    wide = vectors | {port for port in ports if port.endswith(("_tdata", "_tkeep", "_tuser"))}
    connections = [f"{port} => {port}{'(0)' if port in wide - vectors else ''}" for port in ports]
    separator = ",\n      "
    return f"""{product}
library ieee;
use ieee.std_logic_1164.all;

package {name}_pkg is
  -- The Verilog module. A port of one bit is std_logic.
  component {name} is
{_port_clause(ports, vectors, "    ")}
  end component;
end package;

library ieee;
use ieee.std_logic_1164.all;

{ports_text}--
{timing}--
-- The ports tdata, tkeep and tuser are std_logic_vector for any width, other ports of one bit std_logic.
entity {name}_wrapper is
{_port_clause(ports, wide, "  ")}
end entity;

architecture verilog of {name}_wrapper is
begin
  {name}_instance : component work.{name}_pkg.{name}
    port map (
      {separator.join(connections)}
    );
end architecture;
"""


def _port_clause(ports: Mapping[str, tuple[str, int]], vectors: set[str], indent: str) -> str:
    types = {port: f"_vector({width - 1} downto 0)" if port in vectors else "" for port, (_, width) in ports.items()}
    ways = {"input": "in", "output": "out"}
    lines = [f"{indent}  {port} : {ways[way]} std_logic{types[port]}" for port, (way, _) in ports.items()]
    return f"{indent}port (\n" + ";\n".join(lines) + f"\n{indent});"
