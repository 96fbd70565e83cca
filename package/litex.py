# SPDX-License-Identifier: BSD-2-Clause
"""Cores as LiteX modules. Requires the extra ``litex``.

.. code-block:: python

    self.decoder = Utf8Decoder(platform, lanes=4)
    self.comb += dma.source.connect(self.decoder.sink)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amaranth.lib.wiring import In

from utf8fpga.hdl import CoreParameters, DecoderParameters, axi_signature, axi_verilog, build

try:
    from litex.gen import LiteXModule
    from litex.soc.interconnect.axi import AXIStreamInterface
    from litex.soc.interconnect.stream import Endpoint
    from migen import ClockSignal, If, Instance, ResetSignal, Signal
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error.name} is not installed: pip install 'utf8fpga[litex]'", name=error.name
    ) from None

__all__ = ["Utf8Core", "Utf8Decoder", "Utf8StreamDecoder"]


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


class Utf8Decoder(Utf8Core):
    """A decoder with AXI4-Stream endpoints.

    Args:
        platform, name, directory, clock_domain: see `Utf8Core`.
        options: the parameters, see `DecoderParameters`.

    Attributes:
        sink: `AXIStreamInterface` for `lanes` bytes, with ``data_width`` 8 and ``keep_width`` 1 for each. The bytes of
            a beat are contiguous from byte 0; fewer than all only with ``last``.
        source: `AXIStreamInterface` for `lanes` words, with ``data_width`` 32, ``keep_width`` 4 and ``user_width`` 1,
            the error flag, for each; with `kind` ``user_width`` is 4.

    Raises:
        InvalidArgumentError: a parameter or the name is invalid.
    """

    def __init__(
        self,
        platform: Any,
        *,
        name: str | None = None,
        directory: str | Path = "build",
        clock_domain: str = "sys",
        **options: Any,
    ) -> None:
        super().__init__(
            platform, DecoderParameters(**options), name=name, directory=directory, clock_domain=clock_domain
        )


class Utf8StreamDecoder(LiteXModule):
    """A decoder with plain endpoints: a byte in, a code point and its error flag out.

    A packet has at least one byte, so its last word exists and has ``last``.

    Args:
        platform, clock_domain: see `Utf8Decoder`.
        options: `name` and `directory`, see `Utf8Decoder`; and the parameters, except `lanes`, which is 1.

    Attributes:
        sink: `Endpoint` with ``data``, 8 bits.
        source: `Endpoint` with ``data``, 21 bits, and ``error``, 1 bit; ``first`` and ``last`` are those of the packet.

    Raises:
        InvalidArgumentError: see `Utf8Decoder`.
    """

    def __init__(self, platform: Any, *, clock_domain: str = "sys", **options: Any) -> None:
        self.decoder = decoder = Utf8Decoder(platform, clock_domain=clock_domain, lanes=1, **options)
        self.sink = sink = Endpoint([("data", 8)])
        self.source = source = Endpoint([("data", 21), ("error", 1)])
        first = Signal(reset=1)
        self.comb += [
            sink.connect(decoder.sink),
            decoder.sink.keep.eq(1),
            decoder.source.connect(source, omit={"keep", "user", "id", "dest"}),
            source.error.eq(decoder.source.user),
            source.first.eq(first),
        ]
        clocked = getattr(self.sync, clock_domain)
        clocked += If(source.valid & source.ready, first.eq(source.last))
