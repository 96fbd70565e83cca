# SPDX-License-Identifier: BSD-2-Clause
"""The generated Verilog of a core on the compiled engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Shape

from utf8fpga.hdl import Core, axi_verilog, parameters_of
from utf8fpga.hdl.axi_stream import SymbolPorts
from utf8fpga.hdl.beats import lanes_of, symbol_shape
from utf8fpga.hdl.toolchain import run_tool
from utf8fpga.sim.beats import Beat, BeatEncoder, Receiver, SymbolReader, text_beats
from utf8fpga.sim.engines.compiled import CompiledModel


def payloads_of_verilog(core: Core, beats: Iterable[Beat]) -> list[int]:
    """The output beats of a core's generated Verilog for input beats, with pauses on both sides.

    Only streams whose ``tuser`` has the flag `error` at the output, or the field `user` after the data, are supported.
    """
    model = CompiledModel(core, circuit=lambda _design: _Verilog(axi_verilog(core, "generated"), _top(core)))
    encode = BeatEncoder(core, parameters_of(core))
    size = -(-core.input.payload.shape().size // 64) * 8
    data = b"".join(encode(beat).to_bytes(size, "little") for beat in beats)
    session = model.session(input_pauses=(False, True, False), output_pauses=(False, False, True))
    return [payload for part in session.send_payloads(data, more=False) for payload in part]


def packets_of_verilog(core: Core, beats: Iterable[Beat]) -> list[list[Any]]:
    """The output symbols of each packet."""
    found: list[list[Any]] = [[]]

    def take(symbol: Any, last: bool, _since: int) -> None:
        if symbol is not None:
            found[-1].append(symbol)
        if last:
            found.append([])

    receiver = Receiver(core, SymbolReader(core, parameters_of(core)), take)
    for payload in payloads_of_verilog(core, beats):
        receiver.receive(payload, 0, 0)
    return found[:-1]


def symbols_of_verilog(core: Core, symbols: Iterable[int]) -> list[Any]:
    """What a core's generated Verilog outputs for one packet."""
    (found,) = packets_of_verilog(core, text_beats(symbols, core.lanes))
    return found


@dataclass(frozen=True)
class _Verilog:
    """See `sim.engines.native.Circuit`."""

    generated: str
    top: str

    @property
    def key(self) -> Sequence[str]:
        return [self.generated, self.top]

    def write(self, folder: Path) -> None:
        (folder / "both.v").write_text(self.generated + self.top, encoding="utf-8")
        script = "read_verilog both.v; hierarchy -top top; proc; flatten; opt_clean; write_rtlil top.il"
        run_tool("yosys", ["-q", "-p", script], directory=folder)


def _top(core: Core) -> str:
    """A module with the ports that the driver of the compiled engine names, around the generated one."""
    sizes = {}
    lines = []
    for prefix, stream in (("in", core.input), ("out", core.output)):
        layout, ports, lanes = stream.payload.shape(), SymbolPorts.of(stream), lanes_of(stream)
        sizes[prefix] = Shape.cast(layout).width
        bits, at = Shape.cast(symbol_shape(stream)).width, layout["symbols"].offset
        symbols = [f"{prefix}_payload[{at + lane * bits} +: {bits}]" for lane in range(lanes)]
        data = [f"{prefix}_payload[{at + lane * bits} +: {ports.bits}]" for lane in range(lanes)]
        user = [f"{prefix}_payload[{at + lane * bits + ports.bits} +: {ports.user_bits}]" for lane in range(lanes)]
        keep, last = layout["keep"].offset, layout["last"].offset
        port = "s_axis" if prefix == "in" else "m_axis"
        width = 8 * ports.size
        lines += [f"wire [{width * lanes - 1}:0] {port}_tdata;", f"wire [{ports.size * lanes - 1}:0] {port}_tkeep;"]
        lines += [f"wire [{max(1, ports.user_bits * lanes) - 1}:0] {port}_tuser;"]
        for lane in range(lanes):
            kept = f"{prefix}_payload[{keep + lane}]"
            if prefix == "in":
                lines.append(f"assign {port}_tdata[{lane * width} +: {width}] = {data[lane]};")
                lines.append(f"assign {port}_tkeep[{lane * ports.size} +: {ports.size}] = {{{ports.size}{{{kept}}}}};")
                if ports.users:
                    part = f"{port}_tuser[{lane * ports.user_bits} +: {ports.user_bits}]"
                    lines.append(f"assign {part} = {user[lane]};")
            else:
                taken = f"{port}_tdata[{lane * width} +: {ports.bits}]"
                if ports.users:
                    taken = f"{{{port}_tuser[{lane * ports.user_bits} +: {ports.user_bits}], {taken}}}"
                lines.append(f"assign {symbols[lane]} = {taken};")
                lines.append(f"assign {kept} = {port}_tkeep[{lane * ports.size}];")
        wire = f"{prefix}_payload[{last}]"
        lines.append(f"wire {port}_tlast;")
        lines.append(f"assign {port}_tlast = {wire};" if prefix == "in" else f"assign {wire} = {port}_tlast;")
    users = [port for port, stream in (("s_axis", core.input), ("m_axis", core.output)) if SymbolPorts.of(stream).users]
    names = [f"{port}_t{name}" for port in ("s_axis", "m_axis") for name in ("data", "keep", "last")]
    connected = [f".{name}({name})" for name in [*names, *(f"{port}_tuser" for port in users)]]
    return "\n".join(
        [
            "module top(input clk,",
            f"  input [{sizes['in'] - 1}:0] in_payload, input in_valid, output in_ready,",
            f"  output [{sizes['out'] - 1}:0] out_payload, output out_valid, input out_ready);",
            *lines,
            f"generated dut (.clk(clk), .rst(1'b0), {', '.join(connected)},",
            "  .s_axis_tvalid(in_valid), .s_axis_tready(in_ready),",
            "  .m_axis_tvalid(out_valid), .m_axis_tready(out_ready));",
            "endmodule",
            "",
        ]
    )
