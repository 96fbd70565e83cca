# SPDX-License-Identifier: BSD-2-Clause
"""A LiteX SoC for an ECP5 with a decoder between two streams, and counts of its words and errors as CSRs.

Writes the Verilog of the SoC to the folder `build`; the tools of the vendor are not run.
"""

import sys

from litex.build.generic_platform import Pins
from litex.build.lattice import LatticeECP5Platform
from litex.gen import LiteXModule
from litex.soc.integration.builder import Builder
from litex.soc.integration.soc_core import SoCMini
from litex.soc.interconnect.axi import AXIStreamInterface
from litex.soc.interconnect.csr import CSRStatus
from migen import ClockDomain, If

from utf8fpga.hdl import DecoderParameters
from utf8fpga.litex import Utf8Core

LANES = 4
TEXT = AXIStreamInterface(data_width=8 * LANES, keep_width=LANES)
WORDS = AXIStreamInterface(data_width=32 * LANES, keep_width=4 * LANES, user_width=LANES)
PADS = [("clk", 0, Pins(1)), ("rst", 0, Pins(1)), *TEXT.get_ios("text"), *WORDS.get_ios("words")]


class Counts(LiteXModule):
    """Counts the words, and those with the error flag, that leave a decoder."""

    def __init__(self, source):
        self.words = CSRStatus(32, description="words")
        self.errors = CSRStatus(32, description="words that replace a maximal subpart")
        words = sum(source.keep[4 * lane] for lane in range(LANES))
        errors = sum(source.user[lane] for lane in range(LANES))
        self.sync += If(
            source.valid & source.ready,
            self.words.status.eq(self.words.status + words),
            self.errors.status.eq(self.errors.status + errors),
        )


class TextSoC(SoCMini):
    def __init__(self, platform, directory):
        self.cd_sys = ClockDomain()
        self.comb += [self.cd_sys.clk.eq(platform.request("clk")), self.cd_sys.rst.eq(platform.request("rst"))]
        SoCMini.__init__(self, platform, clk_freq=100_000_000, ident="utf8fpga example")
        self.decoder = Utf8Core(platform, DecoderParameters(lanes=LANES), directory=directory)
        self.counts = Counts(self.decoder.source)
        self.comb += [
            *self.decoder.sink.connect_to_pads(platform.request("text"), mode="slave"),
            *self.decoder.source.connect_to_pads(platform.request("words"), mode="master"),
        ]


def main():
    directory = sys.argv[1] if len(sys.argv) > 1 else "build"
    platform = LatticeECP5Platform("LFE5U-45F-6BG256C", PADS, toolchain="trellis")
    soc = TextSoC(platform, directory)
    Builder(soc, output_dir=directory, compile_software=False, compile_gateware=True).build(run=False, build_name="soc")


if __name__ == "__main__":
    main()
