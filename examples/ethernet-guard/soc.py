# SPDX-License-Identifier: BSD-2-Clause
"""The guard between LiteEth's UDP ports, and its counters as registers that are read over UDP.

``python examples/ethernet-guard/soc.py BOARD FOLDER`` builds the bitstream for `5a-75b` or `butterstick`.
"""

from __future__ import annotations

import logging
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from guard import COUNTERS, LANES, Guard
from liteeth.common import convert_ip
from liteeth.core import LiteEthUDPIPCore
from liteeth.frontend.etherbone import LiteEthEtherbone
from liteeth.phy.ecp5rgmii import LiteEthPHYRGMII
from litex.gen import LiteXModule
from litex.soc.cores.clock import ECP5PLL
from litex.soc.integration.builder import Builder
from litex.soc.integration.soc_core import SoCMini
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from litex_boards.platforms import colorlight_5a_75b, gsd_butterstick
from migen import Cat, ClockDomain, ClockSignal, If, Instance, Mux, ResetSignal, Signal

FREQUENCY = 62_500_000
"""Of the system clock. Four bytes per cycle are 250 MB/s; LiteEth needs 53 MHz for the shortest frames at line rate."""
MAC_ADDRESS = 0x10E2D5000000
ADDRESS, COLLECTOR = "192.168.1.50", "192.168.1.100"
FILLED_WORDS = 5
SYSLOG_PORT, REGISTERS_PORT = 514, 1234


def run_tool(tool: str, *arguments: str, folder: Path) -> str:
    """Run a tool of YoWASP in a folder; what it printed.

    Raises:
        RuntimeError: it failed.
    """
    command = [f"{sysconfig.get_path('scripts')}/yowasp-{tool}", *arguments]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{tool} failed:\n{done.stdout[-2000:]}")
    return done.stdout


class GuardedPort(LiteXModule):
    """A UDP port of LiteEth whose datagrams are sent to the collector after the guard."""

    def __init__(self, platform: Any, port: Any, folder: Path) -> None:
        self.collector = CSRStorage(32, reset=convert_ip(COLLECTOR), description="IP address of the collector")
        self.collector_port = CSRStorage(16, reset=SYSLOG_PORT, description="its UDP port")
        source, sink = port.source, port.sink
        payload, valid, ready = Signal(32 + LANES + 1 + 16 + 16), Signal(), Signal()
        data, keep, last = payload[:32], payload[32 : 32 + LANES], payload[32 + LANES]
        sender_port, length = payload[37:53], payload[53:]
        self.comb += [
            sink.length.eq(length),
            sink.src_port.eq(sender_port),
            sink.dst_port.eq(self.collector_port.storage),
            sink.ip_address.eq(self.collector.storage),
        ]

        # LiteEth transfers a byte at least. Padding of the frame may follow the last one.
        received, left, ended, keeps = Signal(14), Signal(16), Signal(LANES), Signal(LANES)
        self.comb += [
            source.ready.eq(1),
            left.eq(source.length - (received << 2)),
            ended.eq(2**LANES - 1),
            If(source.last & (source.last_be != 0), ended.eq(Cat(source.last_be[at:] != 0 for at in range(LANES)))),
        ]
        self.comb += [keeps[at].eq(ended[at] & (left > at)) for at in range(LANES)]
        self.sync += If(source.valid, received.eq(Mux(source.last, 0, received + 1)))

        # A short datagram is filled with zeros, which its length does not count, to the 18 bytes of the shortest frame:
        # with 32 bits, LiteEth 2024.12 does not fill the frame after one with 15 to 17 bytes.
        words, is_filling, is_short, present = Signal(max=FILLED_WORDS + 1), Signal(), Signal(), Signal(LANES)
        self.comb += [
            is_short.eq(last & (words < FILLED_WORDS - 1)),
            sink.valid.eq(valid),
            ready.eq(sink.ready & ~is_short),
            sink.last.eq(last & ~is_short),
            present.eq(Mux(is_filling, 0, keep) | Mux(words == FILLED_WORDS - 1, 3, 1)),
            sink.data.eq(Cat(Mux(present[at], data[8 * at : 8 * at + 8], 0) for at in range(LANES))),
            If(
                sink.last,
                sink.last_be.eq(Mux(present[1:] != 0, present ^ (present >> 1), Mux(words < FILLED_WORDS, 2, 1))),
            ),
        ]
        self.sync += If(
            sink.valid & sink.ready,
            is_filling.eq(is_short),
            words.eq(Mux(sink.last, 0, Mux(words == FILLED_WORDS, words, words + 1))),
        )

        counters = {}
        for name in COUNTERS:
            register = CSRStatus(32, name=name, description=f"datagrams: {name.replace('_', '-')}")
            setattr(self, name, register)
            counters[f"o_count_{name}"] = register.status
        self.specials += Instance(
            "utf8_guard",
            i_clk=ClockSignal(),
            i_rst=ResetSignal(),
            i_input__payload=Cat(source.data, keeps, source.last, source.src_port, source.error != 0),
            i_input__valid=source.valid,
            o_output__payload=payload,
            o_output__valid=valid,
            i_output__ready=ready,
            **counters,
        )
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "utf8_guard.il").write_text(rtlil.convert(Guard(), name="utf8_guard", emit_src=False))
        script = "read_rtlil utf8_guard.il; proc; memory_collect; write_verilog -noattr utf8_guard.v"
        run_tool("yosys", "-q", "-p", script, folder=folder)
        platform.add_source(str((folder / "utf8_guard.v").resolve()))


class GuardSoC(SoCMini):
    """LiteEth's UDP core behind a PHY, with the guard at the port of syslog, and Etherbone for the registers."""

    def __init__(self, platform: Any, phy: Any, folder: Path) -> None:
        SoCMini.__init__(self, platform, clk_freq=FREQUENCY, csr_data_width=32)
        self.phy = phy
        self.ethernet = ethernet = LiteEthUDPIPCore(
            phy, MAC_ADDRESS, convert_ip(ADDRESS), FREQUENCY, dw=8 * LANES, with_sys_datapath=True
        )
        # A domain of its own, whose clock is the same one, has queues that cut the paths from transmitter to receiver.
        self.cd_registers = ClockDomain()
        self.comb += [self.cd_registers.clk.eq(ClockSignal()), self.cd_registers.rst.eq(ResetSignal())]
        self.etherbone = LiteEthEtherbone(ethernet.udp, REGISTERS_PORT, buffer_depth=16, cd="registers")
        self.bus.add_master(name="etherbone", master=self.etherbone.wishbone.bus)
        self.guard = GuardedPort(platform, ethernet.udp.crossbar.get_port(SYSLOG_PORT, dw=8 * LANES), folder)


class Clocks(LiteXModule):
    """The system clock, from the oscillator of the board."""

    def __init__(self, platform: Any) -> None:
        self.cd_sys = ClockDomain()
        self.pll = ECP5PLL()
        self.pll.register_clkin(platform.request(platform.default_clk_name), 1e9 / platform.default_clk_period)
        self.pll.create_clkout(self.cd_sys, FREQUENCY, margin=1e-6)


BOARDS = {"5a-75b": colorlight_5a_75b.Platform, "butterstick": gsd_butterstick.Platform}


def build(board: str, folder: Path) -> list[str]:
    """Build the bitstream ``gateware/guard.bit`` in a folder.

    Returns: resources and clocks, as nextpnr reports them.

    Raises:
        RuntimeError: a tool failed, which nextpnr does if a clock is too slow.
    """
    platform, gateware = BOARDS[board](toolchain="trellis"), folder.resolve() / "gateware"
    pads = platform.request("eth_clocks")
    platform.add_period_constraint(pads.rx, 1e9 / 125e6)
    phy = LiteEthPHYRGMII(pads, platform.request("eth"))
    soc = GuardSoC(platform, phy, gateware)
    soc.crg = Clocks(platform)
    builder = Builder(soc, output_dir=str(folder), csr_csv=str(folder / "csr.csv"), compile_software=False)
    builder.build(run=False, build_name="guard", timingstrict=True)
    script = gateware / "guard.ys"
    script.write_text(script.read_text().replace(f"{gateware}/", ""))
    printed = {}
    for line in (gateware / "build_guard.sh").read_text().splitlines():
        tool, *words = shlex.split(line, comments=True) or [""]
        if tool in ("yosys", "nextpnr-ecp5", "ecppack"):
            printed[tool] = run_tool(tool, *words, folder=gateware)
    clocks = dict(re.findall(r"Max frequency for clock +'(.+?)': (.+)", printed["nextpnr-ecp5"]))
    used = re.findall(r"(TRELLIS_COMB|TRELLIS_FF|TRELLIS_RAMW|DP16KD): +(\d+/ *\d+)", printed["nextpnr-ecp5"])
    return [*(f"{name}: {count}" for name, count in used), *(f"{name}: {rate}" for name, rate in clocks.items())]


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in BOARDS:
        sys.exit(f"usage: python {sys.argv[0]} {'|'.join(BOARDS)} FOLDER")
    logging.disable(logging.INFO)
    try:
        print(*build(sys.argv[1], Path(sys.argv[2])), sep="\n")
    except RuntimeError as error:
        sys.exit(str(error))
