# SPDX-License-Identifier: BSD-2-Clause
"""Decoders as LiteX modules. Requires the extra ``litex``.

.. code-block:: python

    self.decoder = Utf8Decoder(platform, lanes=4)
    self.comb += dma.source.connect(self.decoder.sink)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from utf8fpga.hdl import DecoderParameters, axi_signature, axi_verilog

try:
    from litex.gen import LiteXModule
    from litex.soc.interconnect.axi import AXIStreamInterface
    from litex.soc.interconnect.stream import Endpoint
    from migen import ClockSignal, If, Instance, ResetSignal, Signal
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error.name} is not installed: pip install 'utf8fpga[litex]'", name=error.name
    ) from None

__all__ = ["Utf8Decoder", "Utf8StreamDecoder"]


class Utf8Decoder(LiteXModule):
    """A decoder with AXI4-Stream endpoints.

    The generated Verilog is added to the sources of the platform. Latency and throughput are in its header.

    Args:
        platform: the platform.
        name: the name of the Verilog module and its file; default: that of the parameters, such as
            ``utf8_decoder_4_packed``. Decoders with equal parameters may share it.
        directory: the folder for the file, created if it does not exist.
        clock_domain: the clock domain.
        options: the parameters, see `DecoderParameters`.

    Attributes:
        parameters: the parameters.
        sink: `AXIStreamInterface` for `lanes` bytes, with ``data_width`` 8 and ``keep_width`` 1 for each. The bytes of
            a beat are contiguous from byte 0; fewer than all only with ``last``.
        source: `AXIStreamInterface` for `lanes` words, with ``data_width`` 32, ``keep_width`` 4 and ``user_width`` 1,
            the error flag, for each; the fields `kind` and `length`, if chosen, make ``user_width`` 4 or 7.

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
        self.parameters = parameters = DecoderParameters(**options)
        lanes, core = parameters.lanes, parameters.build()
        user_width = axi_signature(core).members["m_axis_tuser"].shape
        self.sink = sink = AXIStreamInterface(data_width=8 * lanes, keep_width=lanes, clock_domain=clock_domain)
        self.source = source = AXIStreamInterface(
            data_width=32 * lanes, keep_width=4 * lanes, user_width=user_width, clock_domain=clock_domain
        )
        name = f"utf8_{parameters.name.replace('-', '_')}" if name is None else name
        file = Path(directory, f"{name}.v")
        text = axi_verilog(core, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        platform.add_source(str(file.resolve()))
        self.specials += Instance(
            name,
            i_clk=ClockSignal(clock_domain),
            i_rst=ResetSignal(clock_domain),
            i_s_axis_tdata=sink.data,
            i_s_axis_tkeep=sink.keep,
            i_s_axis_tlast=sink.last,
            i_s_axis_tvalid=sink.valid,
            o_s_axis_tready=sink.ready,
            o_m_axis_tdata=source.data,
            o_m_axis_tkeep=source.keep,
            o_m_axis_tuser=source.user,
            o_m_axis_tlast=source.last,
            o_m_axis_tvalid=source.valid,
            i_m_axis_tready=source.ready,
        )


class Utf8StreamDecoder(LiteXModule):
    """A decoder with plain endpoints: a byte in, a code point and its error flag out.

    A packet has at least one byte, so its last word exists and has ``last``.

    Args:
        platform, name, directory, clock_domain: see `Utf8Decoder`.
        options: the parameters, except `lanes`, which is 1.

    Attributes:
        sink: `Endpoint` with ``data``, 8 bits.
        source: `Endpoint` with ``data``, 21 bits, and ``error``, 1 bit; ``first`` and ``last`` are those of the packet.

    Raises:
        InvalidArgumentError: see `Utf8Decoder`.
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
        self.decoder = decoder = Utf8Decoder(
            platform, name=name, directory=directory, clock_domain=clock_domain, lanes=1, **options
        )
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
