# SPDX-License-Identifier: BSD-2-Clause
"""A core as a LiteX module. Requires the extra ``litex``.

.. code-block:: python

    self.decoder = Utf8Core(platform, DecoderParameters(lanes=4))
    self.comb += dma.source.connect(self.decoder.sink)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amaranth.lib.wiring import In

from utf8fpga.hdl import CoreParameters, axi_signature, axi_verilog, build

try:
    from litex.gen import LiteXModule
    from litex.soc.interconnect.axi import AXIStreamInterface
    from migen import ClockSignal, Instance, ResetSignal, Signal
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error.name} is not installed: pip install -e '.[litex]'", name=error.name) from None

__all__ = ["Utf8Core"]


class Utf8Core(LiteXModule):
    """Any core with AXI4-Stream endpoints.

    The generated Verilog is added to the sources of the platform. Latency and throughput are in its header.

    Args:
        platform: the platform.
        parameters: the parameters of the core, such as `TranscoderParameters`.
        name: the name of the Verilog module and its file; default: that of the parameters, such as
            ``utf8_decoder_4_packed``. Cores with equal parameters may share it.
        directory: the folder for the file, created if it does not exist.
        clock_domain: the clock domain.

    Attributes:
        parameters: the parameters.
        sink: `AXIStreamInterface` for the symbols of an input beat, with the widths of the Verilog. Of a tap it is the
            stream that is watched: the design also drives ``ready``.
        source: `AXIStreamInterface` for those of an output beat; None of a tap.
        reports: of a validator, a signal for each field of a report by name; of a tap also ``tvalid``.

    Raises:
        InvalidArgumentError: the name is invalid.
    """

    def __init__(
        self,
        platform: Any,
        parameters: CoreParameters,
        *,
        name: str | None = None,
        directory: str | Path = "build",
        clock_domain: str = "sys",
    ) -> None:
        self.parameters, core = parameters, build(parameters)
        ports = axi_signature(core).members
        name = f"utf8_{parameters.name.replace('-', '_')}" if name is None else name
        text = axi_verilog(core, name)
        self.reports = {
            port.removeprefix("report_"): Signal(ports[port].shape) for port in ports if port.startswith("report_")
        }

        def endpoint(side: str) -> Any:
            widths = {signal: f"{side}_axis_t{signal}" for signal in ("data", "keep", "user")}
            found = {f"{signal}_width": ports[port].shape for signal, port in widths.items() if port in ports}
            return AXIStreamInterface(**found, clock_domain=clock_domain)

        self.sink = endpoint("s")
        self.source: Any = endpoint("m") if "m_axis_tvalid" in ports else None
        connected = {"i_clk": ClockSignal(clock_domain), "i_rst": ResetSignal(clock_domain)}
        for port, member in ports.items():
            side, _, signal = port.partition("_axis_t")
            way = "i" if member.flow is In else "o"
            if signal:
                connected[f"{way}_{port}"] = getattr(self.sink if side == "s" else self.source, signal)
            elif port.startswith("report_"):
                connected[f"{way}_{port}"] = self.reports[port.removeprefix("report_")]
        file = Path(directory, f"{name}.v")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        platform.add_source(str(file.resolve()))
        self.specials += Instance(name, **connected)
