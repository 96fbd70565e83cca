# SPDX-License-Identifier: BSD-2-Clause
"""A test bench in plain Verilog for a generated core."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from importlib.resources import files
from string import Template
from typing import Any

from utf8fpga.hdl.axi_stream import SymbolPorts
from utf8fpga.hdl.beats import lanes_of
from utf8fpga.hdl.core import Core
from utf8fpga.hdl.cores import entry_of
from utf8fpga.hdl.parameters import DecoderParameters
from utf8fpga.hdl.verilog.bench_vectors import bench_vectors, data_bits, report_fields
from utf8fpga.hdl.verilog.interface import Interface
from utf8fpga.model.render import counted


def axi_testbench(core: Core, name: str | None = None, *, reset_low: bool = False, vectors: str | None = None) -> str:
    """A test bench in Verilog-2005 for the module that `axi_verilog` writes.

    It sends the packets of a file of vectors for ``$readmemh`` with pseudo-random pauses on both sides, and prints
    ``PASS:`` or the first difference. The file is that of `bench_vectors`.

    Args:
        name: the name of the core's module; default: see `module_name`. That of the bench is this with ``_bench``.
        reset_low: the reset port is ``rst_n``, active low.
        vectors: the name of the file of the vectors that it reads; default: ``vectors.hex``.

    Raises:
        InvalidArgumentError: `name` is not valid.
    """
    parameters, is_tap, report = core.parameters, hasattr(core, "tap"), report_fields(core)
    entry = entry_of(parameters)
    name, reset, ports, command = Interface.of(core, name, reset_low=reset_low)
    # A tap has no output symbols: in its bench they are a byte that is always 0.
    given, made = SymbolPorts.of(core.input), SymbolPorts(8, 1, ()) if is_tap else SymbolPorts.of(core.output)
    vectors = vectors or "vectors.hex"
    vectors_command = f"{command} {shlex.join(['-o', f'{name}.v', '--vectors', vectors])}"
    lanes, outputs, width = lanes_of(core.input), 1 if is_tap else lanes_of(core.output), data_bits(core)
    report_bits = 1 if report is None else report.size
    text = files("utf8fpga.hdl.verilog").joinpath("testbench.v").read_text(encoding="utf-8")
    return Template(text).substitute(
        product=f"a {parameters.core} with {counted(lanes, entry.input_noun)} per cycle",
        command=command,
        vectors=vectors_command,
        vectors_shown=_in_string(vectors_command).replace("%", "%%"),
        vectors_file=_in_string(vectors),
        name=name,
        noun="word" if isinstance(parameters, DecoderParameters) else entry.output_noun,
        entries=sum(not line.startswith("//") for line in bench_vectors(core).splitlines()),
        width=width,
        lanes=lanes,
        size=given.size,
        bits=given.bits,
        user=max(1, given.user_bits),
        gaps=int(entry.accepts_gaps),
        tap=int(is_tap),
        out_lanes=outputs,
        out_size=made.size,
        out_user=max(1, made.user_bits * outputs),
        report_bits=report_bits,
        reported=_extended("report", report_bits, width),
        reset_port=f".{reset}({'!' if reset_low else ''}rst)",
        connections=",\n".join(f"    .{port}({wire})" for port, wire in _connections(ports, report)),
        absent="".join(f"  assign {wire};\n" for wire in _absent(ports)),
        valid="report_tvalid" if is_tap else "m_axis_tvalid",
        error=_error(made),
        data=_data(made, width),
    )


def _in_string(text: str) -> str:
    """The text within a string of Verilog."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _connections(ports: Any, report: Any) -> Iterator[tuple[str, str]]:
    """For each port but clock and reset what is connected to it in the bench."""
    for port in ports:
        side, _, signal = port.partition("_axis_t")
        if port == "report_tvalid":
            yield port, "m_valid"
        elif port.startswith("report_"):
            field = report[port.removeprefix("report_")]
            yield port, f"report[{field.offset} +: {field.width}]"
        elif signal:
            # A tap watches a stream, in which the bench is ready as at the output of another core.
            yield port, "m_ready" if signal == "ready" and "report_tvalid" in ports else f"{side}_{signal}"


def _absent(ports: Any) -> Iterator[str]:
    """The assignments to signals of the bench that no port drives."""
    if "report_tvalid" in ports:
        yield "s_ready = m_ready"
        yield "{m_data, m_keep, m_last} = 0"
    if "m_axis_tuser" not in ports:
        yield "m_user = 0"
    if not any(port.startswith("report_") for port in ports):
        yield "report = 0"


def _error(made: SymbolPorts) -> str:
    """The error flag of a symbol at the output."""
    return f"m_user[{made.user_bits}*number]" if made.users and made.users[0][0] == "error" else "1'b0"


def _data(made: SymbolPorts, width: int) -> str:
    """The data of a symbol at the output, with the user bits of a remover above it."""
    size, user = 8 * made.size, made.user_bits
    if made.users and made.users[0][0] == "user":
        data = f"m_user[{user}*lane +: {user}], m_data[{size}*lane +: {made.bits}]"
        return _extended(data, user + made.bits, width)
    bits = min(size, width)
    return _extended(f"m_data[{size}*lane +: {bits}]", bits, width)


def _extended(parts: str, bits: int, width: int) -> str:
    """The concatenation of parts of so many bits, with zeros above them up to the width."""
    zeros = f"{width - bits}'b0, " if bits < width else ""
    return f"{{{zeros}{parts}}}"
