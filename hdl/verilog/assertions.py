# SPDX-License-Identifier: BSD-2-Clause
"""The contract of a core's ports as SystemVerilog assertions, in a module beside it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from string import Template

from utf8fpga.hdl.axi_stream import SymbolPorts
from utf8fpga.hdl.beats import lanes_of
from utf8fpga.hdl.core import Core
from utf8fpga.hdl.cores import entry_of
from utf8fpga.hdl.parameters import RemoverParameters
from utf8fpga.hdl.verilog.interface import Interface


def axi_assertions(core: Core, name: str | None = None, *, reset_low: bool = False) -> str:
    """The contract of the module that `axi_verilog` writes, as immediate assertions in SystemVerilog.

    The module ``NAME_contract`` states it for the ports alone. Simulators bind it to each instance of it. Yosys and
    Icarus Verilog have no ``bind``: for them there is ``NAME_checked``, a module with the core and its contract.

    Where the macro ``FORMAL`` is defined, as Yosys does with ``-formal``, the contract of the input is assumed.

    Args:
        name: the name of the core's module; default: see `module_name`.
        reset_low: the reset port is ``rst_n``, active low.

    Raises:
        InvalidArgumentError: `name` is not valid.
    """
    name, _, ports, command = Interface.of(core, name, reset_low=reset_low)
    widths = {port: f"[{width - 1}:0] " if width > 1 else "" for port, (_, width) in ports.items()}
    vectors = widths | {port: f"[{ports[port][1] - 1}:0] " for port in ports if port.endswith(("data", "keep", "user"))}
    payload, payload_bits = _payload(ports, "s_axis_t")
    given, source = SymbolPorts.of(core.input), files("utf8fpga.hdl.verilog")
    text = "".join(
        source.joinpath(f"{part}.sv").read_text(encoding="utf-8")
        for part in ("contract_input", "contract_tap" if hasattr(core, "tap") else "contract_stream", "contract_end")
    )
    return Template(text).substitute(
        {"latency": core.tap.latency} if hasattr(core, "tap") else _stream_terms(core, ports),
        name=name,
        command=command,
        inputs=",\n".join(f"  input wire {vectors[port]}{port}" for port in ports),
        ports=",\n".join(f"  {way} wire {widths[port]}{port}" for port, (way, _) in ports.items()),
        connections=",\n".join(f"    .{port}({port})" for port in ports),
        reset="!rst_n" if reset_low else "rst",
        lanes=lanes_of(core.input),
        size=given.size,
        gaps=int(entry_of(core.parameters).accepts_gaps),
        payload=payload,
        payload_bits=payload_bits,
    )


def _payload(ports: Mapping[str, tuple[str, int]], prefix: str) -> tuple[str, int]:
    """The ports of a stream but its handshake, and how many bits they have."""
    names = [port for port in ports if port.startswith(prefix) and not port.endswith(("tvalid", "tready"))]
    return ", ".join(names), sum(ports[port][1] for port in names)


def _stream_terms(core: Core, ports: Mapping[str, tuple[str, int]]) -> dict[str, object]:
    """What `contract_stream.sv` needs."""
    parameters, made = core.parameters, SymbolPorts.of(core.output)
    user = made.user_bits
    payload, payload_bits = _payload(ports, "m_axis_t")
    flagged = bool(made.users) and made.users[0][0] == "error"
    return {
        "out_lanes": lanes_of(core.output),
        "out_size": made.size,
        "packed": int(core.packed),
        "full": int(isinstance(parameters, RemoverParameters)),
        "stall": core.stall_cycles,
        "drain": core.drain_cycles,
        "out_payload": payload,
        "out_bits": payload_bits,
        "error": f"m_axis_tuser[{user}*lane]" if flagged else "1'b0",
        "user": f", m_axis_tuser[{user}*lane +: {user}]" if made.users else "",
    }
