# SPDX-License-Identifier: BSD-2-Clause
"""The comment at the beginning of the generated Verilog."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from utf8fpga.hdl.axi_stream import SymbolPorts
from utf8fpga.hdl.beats import lanes_of
from utf8fpga.hdl.core import Core, CoreEntry
from utf8fpga.hdl.cores import entry_of
from utf8fpga.hdl.parameters import DecoderParameters, EncoderParameters, TranscoderParameters
from utf8fpga.hdl.verilog.interface import Interface
from utf8fpga.model import ErrorKind
from utf8fpga.model.render import counted

_WIDTH = 114

_REPORT_MEANINGS = {
    "well_formed": "1 if the packet is well-formed",
    "offset": "code units before the first ill-formed item; 0 if well-formed",
    "errors": "number of ill-formed items",
    "units": "number of code units",
    "code_points": "number of code points, with one U+FFFD for each ill-formed item",
}


def header(core: Core, interface: Interface, paths: Mapping[str, Collection[str]]) -> str:
    """The lines of the comment.

    Args:
        paths: for each output port the input ports from which there is a combinational path to it.
    """
    entry, is_tap = entry_of(core.parameters), hasattr(core, "tap")
    name, reset, ports, command = interface
    active = "low" if reset == "rst_n" else "high"
    clock = f"rising edge; synchronous, active {active}\none clock for all ports; no synchronisers inside"
    values = [f"{key} {value}" for key, value in entry.parameters.as_dict().items()]
    lines = [
        *entry.description(),
        f"Command: {command}",
        *_wrapped(f"Parameters: {', '.join(values)}"),
        f"Written by utf8fpga {version('utf8fpga')}",
        "Copyright (c) 2026, the utf8fpga authors",
        "SPDX-License-Identifier: BSD-2-Clause",
        "",
        *_table([(f"clk, {reset}", clock), *(_tap_ports(core, entry) if is_tap else _ports(core, entry))]),
        "",
        *(_tap_timing(core, reset) if is_tap else _timing(core, reset, entry)),
        *entry.notes,
        "",
        *_path_lines(ports, paths),
        "",
        "Instantiation template:",
        f"  {name} {name}_instance (",
        *_template_lines(ports),
        "  );",
    ]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)


def _table(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The names of ports and what they are, in two columns."""
    column = max(len(name) for name, _ in rows) + 4
    for name, text in rows:
        lines = [line for part in text.splitlines() for line in _wrapped(part, column)]
        yield name.ljust(column) + lines[0].strip()
        yield from lines[1:]


def _ports(core: Core, entry: CoreEntry[Any]) -> Iterator[tuple[str, str]]:
    made, source = SymbolPorts.of(core.output), SymbolPorts.of(core.input)
    lanes, outputs, given, wanted = lanes_of(core.input), lanes_of(core.output), entry.input_noun, entry.output_noun
    ignored = f"\n{8 * source.size} bits each, of which those above the low {source.bits} are ignored"
    yield "s_axis_tdata", _several(lanes, given) + ignored * (source.bits < 8 * source.size)
    yield "s_axis_tkeep", _keep("1" * source.size, entry)
    if source.users:
        yield "s_axis_tuser", f"{counted(source.user_bits, 'bit')} per {given}"
    yield "s_axis_tlast", "the packet ends after this beat"
    order = "contiguous from the low bits" if core.packed else "in order, with gaps"
    yield "m_axis_tdata", f"{counted(outputs, wanted)}, {8 * made.size} bits each{f'; {order}' * (outputs > 1)}"
    waits = isinstance(entry.parameters, DecoderParameters | EncoderParameters | TranscoderParameters)
    partial = f";\nfewer than all {wanted}s also without m_axis_tlast, as before a pause of the input"
    ones = "1" * made.size
    yield "m_axis_tkeep", f"{ones} for each {wanted} that is present{partial * (core.packed and outputs > 1 and waits)}"
    if made.users:
        yield "m_axis_tuser", f"{counted(made.user_bits, 'bit')} per {wanted}{_user(made, wanted)}"
    yield "m_axis_tlast", "last beat of the packet"


def _several(lanes: int, noun: str) -> str:
    return counted(lanes, noun) + ", the first in the low bits" * (lanes > 1)


def _keep(ones: str, entry: CoreEntry[Any]) -> str:
    given = entry.input_noun
    where = "in any lanes of any beat" if entry.accepts_gaps else "contiguous from bit 0"
    fewer = "" if entry.accepts_gaps else f"fewer than all {given}s only with s_axis_tlast;\n"
    return (
        f"{ones} for each {given} that is present, {where};\n{fewer}none with s_axis_tlast ends the packet without a "
        f"{given};\na beat with neither a {given} nor s_axis_tlast has no effect"
    )


def _user(made: SymbolPorts, wanted: str) -> str:
    """What each bit of a symbol's part of ``m_axis_tuser`` means."""
    if made.users[0][0] == "user":
        return ", those of s_axis_tuser"
    if made.user_bits == 1:
        return f", bit k for {wanted} k: {_meaning('error', wanted)}"
    text, at = ", the first in the low bits; of each:", 0
    for name, width in made.users:
        bits = f"bit {at}" if width == 1 else f"bits {at + width - 1} to {at}"
        text, at = f"{text}\n{bits}: {_meaning(name, wanted)}", at + width
    return text


def _meaning(name: str, wanted: str) -> str:
    if name == "error":
        return f"1 for an ill-formed item; 0 if no {wanted} is present"
    kinds = ", ".join(f"{kind.value} {kind.name}" for kind in ErrorKind)
    return f"the cause of the error: {kinds}; 0 if well-formed"


def _tap_ports(core: Any, entry: CoreEntry[Any]) -> Iterator[tuple[str, str]]:
    yield "s_axis_*", "inputs only: the stream is watched"
    yield "s_axis_tdata", _several(len(core.tap.payload.keep), entry.input_noun)
    yield "s_axis_tkeep", _keep("1", entry)
    yield "s_axis_tlast", "the packet ends after this beat"
    yield "s_axis_tvalid, s_axis_tready", "a beat is transferred in a cycle in which both are high"
    for name, _ in core.tap.report.shape():
        yield f"report_{name}", _REPORT_MEANINGS.get(name) or _meaning(name, "item")
    most = "\nAll ones in a number means this number or more." * (core.tap.report.shape().size > 1)
    yield "report_tvalid", f"the report is valid in this cycle; it is undefined in others{most}"


def _tap_timing(core: Any, reset: str) -> Iterator[str]:
    latency = counted(core.tap.latency, "cycle")
    yield from _wrapped(
        f"Latency: report_tvalid is high for one cycle, exactly {latency} after the last beat of a packet was"
        " transferred. There is no back-pressure."
    )
    yield "Throughput: one beat per cycle, whatever the input; one report per packet, in order."
    yield f"Reset: one cycle of {reset} is enough, whatever the registers hold; the packet and reports are discarded."


def _timing(core: Core, reset: str, entry: CoreEntry[Any]) -> Iterator[str]:
    latency, drain, stall = (counted(each, "cycle") for each in (core.latency, core.drain_cycles, core.stall_cycles))
    is_packed = core.packed and lanes_of(core.output) > 1
    fills = ", and from the one that fills or ends its output beat," * is_packed
    later = f"; at most {drain} after an output beat has waited, until no {entry.output_noun} is in flight"
    later = f"{later}, and in the first {drain} after {reset}" * (core.drain_cycles > core.latency)
    yield from _wrapped(
        f"Latency: at most {latency} from the beat that determines a {entry.output_noun}{fills} to that"
        f" {entry.output_noun}, while m_axis_tready is high{later}."
    )
    growth = entry.growth(core)
    rate = "whatever the input"
    if growth > 1:
        rate = (
            f"as long as no more {entry.output_noun}s are made than are output per cycle, one beat in {growth}"
            " cycles on the worst input"
        )
    rate = f"one beat per cycle{',' * (growth == 1)} {rate}"
    low = "only while an output beat waits for m_axis_tready."
    if core.stall_cycles:
        when = ", and only after a beat has waited" * (core.lanes > 1)
        low = f"for at most {stall} in a row while no output beat waits for m_axis_tready{when}."
    yield from _wrapped(
        f"Throughput: {rate}; s_axis_tready is low {low} A consumer that is ready at random in 80 % of the cycles or"
        " more keeps at least 99 % of its rate."
    )
    yield from _wrapped(
        f"Reset: one cycle of {reset} is enough, whatever the registers hold; what came before is discarded."
        f" s_axis_tready may be high during {reset}; a beat that is transferred then is lost. After {reset},"
        " s_axis_tready is high at once."
    )


def _path_lines(ports: Mapping[str, tuple[str, int]], paths: Mapping[str, Collection[str]]) -> Iterator[str]:
    """The combinational paths, one line for all outputs with the same inputs."""
    outputs: dict[tuple[str, ...], list[str]] = {}
    for output in ports:
        if found := paths.get(output):
            outputs.setdefault(tuple(port for port in ports if port in found), []).append(output)
    yield f"Combinational paths from input ports to output ports:{' none.' * (not outputs)}"
    yield from (f"  {', '.join(inputs)} -> {', '.join(others)}" for inputs, others in outputs.items())


def _template_lines(ports: Mapping[str, tuple[str, int]]) -> Iterator[str]:
    column = max(24, *(len(port) + 9 for port in ports))
    for number, (port, (direction, width)) in enumerate(ports.items(), 1):
        comma = "," if number < len(ports) else ""
        yield f"    .{port}(){comma}".ljust(column) + f"// {direction} {counted(width, 'bit')}"


def _wrapped(text: str, indent: int = 0) -> list[str]:
    space = " " * indent
    return textwrap.wrap(text, _WIDTH, initial_indent=space, subsequent_indent=f"{space}  ", break_on_hyphens=False)
