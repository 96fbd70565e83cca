# SPDX-License-Identifier: BSD-2-Clause
"""The catalogue of boards, as data: every platform of amaranth-boards, and those of `utf8fpga.boards.platforms`.

Pins, clocks and parts are defined by the platform classes.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any

from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import InvalidArgumentError

__all__ = ["BOARDS", "Board", "UnknownBoardError", "find_board"]


@dataclass(frozen=True, slots=True)
class Board:
    """A board.

    Attributes:
        name: its name on the command line and in file names.
        platform: its Amaranth platform class as ``module:Class``; it has a default clock.
        family: the family of its FPGA in lower case, such as ``ice40``.
        description: its device and clock.
        leds: the signals ``activity``, ``error`` and ``overflow`` in the order of LEDs 0, 1, 2.
            Where ``overflow`` has no LED, the LED of ``error`` shows both.
        uart: the pins RX and TX for a platform without a resource ``uart`` 0, each as the name of a pin or, such as
            ``pmod_0:1``, as a pin of a connector; None: the resource.
        divide: the number by which a build divides the clock first.
        obstacle: why no bitstream can be built, other than tools that are not installed; empty: none is known.
    """

    name: str
    platform: str
    family: str
    description: str
    leds: tuple[str, ...] = ("activity", "error", "overflow")
    uart: tuple[str, str] | None = None
    divide: int = 1
    obstacle: str = ""

    def create_platform(self) -> Any:
        """An instance of the platform class.

        Raises:
            InvalidArgumentError: there is no such class.
            ToolError: amaranth-boards is not installed, or the platform cannot be created.
        """
        module, _, name = self.platform.partition(":")
        try:
            kind = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as missing:
            if module.startswith("amaranth_boards"):
                raise ToolError("amaranth-boards is not installed: pip install 'utf8fpga[boards]'") from None
            if missing.name != module:
                raise
            raise InvalidArgumentError(f"platform {self.platform!r}: there is no module {module!r}") from None
        except AttributeError:
            raise InvalidArgumentError(f"platform {self.platform!r}: the module has no {name!r}") from None
        try:
            # MachXO2 platforms are for Lattice Diamond otherwise.
            platform = kind(toolchain="Trellis") if self.family == "machxo2" else kind()
        except (ValueError, TypeError) as error:
            raise ToolError(f"{self.name}: {self.platform} cannot be used: {error}") from None
        if options := _PASSED_TWICE.get(self.platform):
            parent: Any = super(kind, platform)
            platform.toolchain_prepare = partial(parent.toolchain_prepare, **options)
        return platform


_PASSED_TWICE = {
    "amaranth_boards.supercon19badge:Supercon19BadgePlatform": {"ecppack_opts": "--compress --freq 38.8"},
}
"""The options of platforms whose method `toolchain_prepare` passes all others twice, which Python rejects."""


_RED_GREEN = ("error", "activity")
"""The signals of boards whose LED 0 is red and LED 1 green."""

_LEDS = {"icebreaker": _RED_GREEN}

_UART = {
    "butterstick": ("syzygy_0:S0", "syzygy_0:S1"),
    "fomu-hacker": ("pin_0:1", "pin_1:1"),
    "fomu-pvt": ("E4", "D5"),  # The touch pads 1 and 2.
    "ice40-hx1k-blink-evn": ("pmod_1:1", "pmod_1:2"),
    "ice40-up5k-b-evn": ("pmod_0:9", "pmod_0:10"),  # Pins 1 to 4 are those of the flash memory.
    "icebreaker-bitsy": ("pmod_1:1", "pmod_1:2"),
    "logicbone": ("P8_0:3", "P8_0:4"),
    "logicbone-85f": ("P8_0:3", "P8_0:4"),
    "machxo2-1200ze-breakout": ("j_3:6", "j_3:5"),  # Also those of the USB adapter on the board.
    "machxo2-7000he-breakout": ("j_3:6", "j_3:5"),
    "orangecrab-r0-1": ("io_0:0", "io_0:1"),
    "orangecrab-r0-2": ("io_0:0", "io_0:1"),
    "orangecrab-r0-2-25f": ("io_0:0", "io_0:1"),
    "orangecrab-r0-2-85f": ("io_0:0", "io_0:1"),
    "tinyfpga-bx": ("gpio_0:1", "gpio_0:2"),
    "upduino-v1": ("j_0:3", "j_0:4"),
    "upduino-v2": ("j_0:3", "j_0:4"),
    "upduino-v3": ("j_0:7", "j_0:8"),
}
"""The pins RX and TX of boards without a resource for a UART."""

_OBSTACLES = {
    "tang-mega-138k-pro-dock": "Amaranth does not know the part",
    "tinyfpga-ax1": "the platform has no clock",
    "tinyfpga-ax2": "the platform has no clock",
    "machxo2-7000he-breakout": "nextpnr does not support the device",
    "stepmxo2": "its platform is for an older Amaranth",
    "machxo3l-sk": "nextpnr does not support MachXO3",
    "machxo3lf-sk": "nextpnr does not support MachXO3",
}

_DIVIDE = dict.fromkeys(("fomu-hacker", "fomu-pvt", "upduino-v1", "upduino-v2", "upduino-v3"), 4)
"""The clocks that are too fast for their device."""

BOARDS: dict[str, Board] = {
    name: Board(
        name,
        platform if platform.startswith("utf8fpga.") else f"amaranth_boards.{platform}",
        family,
        description,
        _LEDS.get(name, ("activity", "error", "overflow")),
        _UART.get(name),
        _DIVIDE.get(name, 1),
        _OBSTACLES.get(name, ""),
    )
    for name, platform, family, description in (
        ("alchitry-au", "alchitry_au:AlchitryAuPlatform", "xilinx", "XC7A35T, 100 MHz"),
        ("alchitry-ptv2", "alchitry_ptv2:AlchitryPtV2Platform", "xilinx", "xc7a100t, 100 MHz"),
        ("alchitry-ptv2-alpha", "alchitry_ptv2:AlchitryPtV2AlphaPlatform", "xilinx", "xc7a100t, 100 MHz"),
        ("alinx-ax7325b", "alinx_ax7325b:AX7325BPlatform", "xilinx", "xc7k325t, 200 MHz"),
        ("arrow-deca", "arrow_deca:ArrowDECAPlatform", "altera", "10M50DA, 50 MHz"),
        ("arty-a7-35", "arty_a7:ArtyA7_35Platform", "xilinx", "xc7a35ti, 100 MHz"),
        ("arty-a7-100", "arty_a7:ArtyA7_100Platform", "xilinx", "xc7a100ti, 100 MHz"),
        ("arty-s7-50", "arty_s7:ArtyS7_50Platform", "xilinx", "xc7s50, 100 MHz"),
        ("arty-s7-25", "arty_s7:ArtyS7_25Platform", "xilinx", "xc7s25, 100 MHz"),
        ("arty-z7", "arty_z7:ArtyZ720Platform", "xilinx", "xc7z020, 125 MHz"),
        ("atlys", "atlys:AtlysPlatform", "xilinx", "xc6slx45, 100 MHz"),
        ("blackice", "blackice:BlackIcePlatform", "ice40", "iCE40 HX4K, 100 MHz"),
        ("blackice-ii", "blackice_ii:BlackIceIIPlatform", "ice40", "iCE40 HX4K, 100 MHz"),
        ("butterstick", "butterstick:ButterStickPlatform", "ecp5", "ECP5 LFE5UM5G-85F, 30 MHz"),
        ("chameleon96", "chameleon96:Chameleon96Platform", "altera", "5CSEBA6, 100 MHz"),
        ("cmod-a7-15", "cmod_a7:CmodA7_15Platform", "xilinx", "xc7a15t, 12 MHz"),
        ("cmod-a7-35", "cmod_a7:CmodA7_35Platform", "xilinx", "xc7a35t, 12 MHz"),
        ("cmod-s7", "cmod_s7:CmodS7_Platform", "xilinx", "xc7s25, 12 MHz"),
        (
            "colorlight-5a75b-r7-0",
            "colorlight_5a75b_r7_0:Colorlight_5A75B_R70Platform",
            "ecp5",
            "ECP5 LFE5U-25F, 25 MHz",
        ),
        ("cora-z7-07s", "cora_z7:CoraZ7_07SPlatform", "xilinx", "xc7z007s, 125 MHz"),
        ("cora-z7-10", "cora_z7:CoraZ7_10Platform", "xilinx", "xc7z010, 125 MHz"),
        (
            "crosslink-nx-evn",
            "utf8fpga.boards.platforms:CrossLinkNXEvaluationPlatform",
            "nexus",
            "LIFCL-40, 12 MHz",
        ),
        ("de0", "de0:DE0Platform", "altera", "EP3C16, 50 MHz"),
        ("de0-cv", "de0_cv:DE0CVPlatform", "altera", "5CEBA4, 50 MHz"),
        ("de0nano", "de0nano:DE0NanoPlatform", "altera", "EP4CE22, 50 MHz"),
        ("de10-lite", "de10_lite:DE10LitePlatform", "altera", "10M50DA, 50 MHz"),
        ("de10-nano", "de10_nano:DE10NanoPlatform", "altera", "5CSEBA6, 50 MHz"),
        ("de1-soc", "de1_soc:DE1SoCPlatform", "altera", "5CSEMA5, 50 MHz"),
        ("ebaz4205", "ebaz4205:EBAZ4205Platform", "xilinx", "xc7z010, 33.333 MHz"),
        ("ecp5-5g-evn", "ecp5_5g_evn:ECP55GEVNPlatform", "ecp5", "ECP5 LFE5UM5G-85F, 12 MHz"),
        ("ecpix5-45", "ecpix5:ECPIX545Platform", "ecp5", "ECP5 LFE5UM5G-45F, 100 MHz"),
        ("ecpix5-85", "ecpix5:ECPIX585Platform", "ecp5", "ECP5 LFE5UM5G-85F, 100 MHz"),
        ("fomu-hacker", "fomu_hacker:FomuHackerPlatform", "ice40", "iCE40 UP5K, 48 MHz"),
        ("fomu-pvt", "fomu_pvt:FomuPVTPlatform", "ice40", "iCE40 UP5K, 48 MHz"),
        ("gatemate-a1-evb", "utf8fpga.boards.platforms:GateMateA1EVBPlatform", "gatemate", "CCGM1A1, 10 MHz"),
        ("genesys2", "genesys2:Genesys2Platform", "xilinx", "xc7k325t, 200 MHz"),
        ("ice40-hx1k-blink-evn", "ice40_hx1k_blink_evn:ICE40HX1KBlinkEVNPlatform", "ice40", "iCE40 HX1K, 3.3 MHz"),
        ("ice40-hx8k-b-evn", "ice40_hx8k_b_evn:ICE40HX8KBEVNPlatform", "ice40", "iCE40 HX8K, 12 MHz"),
        ("ice40-up5k-b-evn", "ice40_up5k_b_evn:ICE40UP5KBEVNPlatform", "ice40", "iCE40 UP5K, 12 MHz"),
        ("icebreaker", "icebreaker:ICEBreakerPlatform", "ice40", "iCE40 UP5K, 12 MHz"),
        ("icebreaker-bitsy", "icebreaker_bitsy:ICEBreakerBitsyPlatform", "ice40", "iCE40 UP5K, 12 MHz"),
        ("icepi-zero", "icepi_zero:IcepiZero1_3Platform", "ecp5", "ECP5 LFE5U-25F, 50 MHz"),
        ("icestick", "icestick:ICEStickPlatform", "ice40", "iCE40 HX1K, 12 MHz"),
        ("icesugar", "icesugar:ICESugarPlatform", "ice40", "iCE40 UP5K, 12 MHz"),
        ("icesugar-nano", "icesugar_nano:ICESugarNanoPlatform", "ice40", "iCE40 LP1K, 12 MHz"),
        ("icesugar-pro", "icesugar_pro:ICESugarProPlatform", "ecp5", "ECP5 LFE5U-25F, 25 MHz"),
        ("kc705", "kc705:KC705Platform", "xilinx", "xc7k325t, 156 MHz"),
        ("kcu105", "kcu105:KCU105Platform", "xilinx", "xcku040, 125 MHz"),
        ("logicbone", "logicbone:LogicbonePlatform", "ecp5", "ECP5 LFE5UM5G-45F, 25 MHz"),
        ("logicbone-85f", "logicbone:Logicbone85FPlatform", "ecp5", "ECP5 LFE5UM5G-85F, 25 MHz"),
        (
            "machxo2-7000he-breakout",
            "machxo2_breakout:MachXO2_7000HE_BreakoutPlatform",
            "machxo2",
            "LCMXO2-7000HE, 2.08 MHz",
        ),
        (
            "machxo2-1200ze-breakout",
            "machxo2_breakout:MachXO2_1200ZE_BreakoutPlatform",
            "machxo2",
            "LCMXO2-1200ZE, 2.08 MHz",
        ),
        ("machxo3l-sk", "machxo3_sk:MachXO3LSKPlatform", "machxo3", "LCMXO3L-6900C, 12 MHz"),
        ("machxo3lf-sk", "machxo3_sk:MachXO3LFSKPlatform", "machxo3", "LCMXO3LF-6900C, 12 MHz"),
        ("mercury", "mercury:MercuryPlatform", "xilinx", "xc3s200a, 50 MHz"),
        ("microzed-z010", "microzed_z010:MicroZedZ010Platform", "xilinx", "xc7z010"),
        ("microzed-z020", "microzed_z020:MicroZedZ020Platform", "xilinx", "xc7z020"),
        ("mist", "mist:MiSTPlatform", "altera", "EP3C25, 27 MHz"),
        ("mister", "mister:MisterPlatform", "altera", "5CSEBA6, 50 MHz"),
        ("nandland-go", "nandland_go:NandlandGoPlatform", "ice40", "iCE40 HX1K, 25 MHz"),
        ("nexys4ddr", "nexys4ddr:Nexys4DDRPlatform", "xilinx", "xc7a100t, 100 MHz"),
        ("litefury", "nitefury:LitefuryPlatform", "xilinx", "xc7a100t, 200 MHz"),
        ("nitefury-ii", "nitefury:NitefuryIIPlatform", "xilinx", "xc7a200t, 200 MHz"),
        ("numato-mimas", "numato_mimas:NumatoMimasPlatform", "xilinx", "xc6slx9, 100 MHz"),
        ("orangecrab-r0-1", "orangecrab_r0_1:OrangeCrabR0_1Platform", "ecp5", "ECP5 LFE5U-25F, 48 MHz"),
        ("orangecrab-r0-2", "orangecrab_r0_2:OrangeCrabR0_2Platform", "ecp5", "ECP5 LFE5U-25F, 48 MHz"),
        ("orangecrab-r0-2-25f", "orangecrab_r0_2:OrangeCrabR0_2_25FPlatform", "ecp5", "ECP5 LFE5U-25F, 48 MHz"),
        ("orangecrab-r0-2-85f", "orangecrab_r0_2:OrangeCrabR0_2_85FPlatform", "ecp5", "ECP5 LFE5U-85F, 48 MHz"),
        ("quickfeather", "quickfeather:QuickfeatherPlatform", "quicklogic", "ql-eos-s3_wlcsp, 5 MHz"),
        ("redpitaya-125-14", "redpitaya_125_14:RedPitaya14Platform", "xilinx", "xc7z010, 125 MHz"),
        ("rfsoc4x2", "rfsoc4x2:RFSoC4x2Platform", "xilinx", "xczu48dr, 100 MHz"),
        ("rz-easyfpga-a2-2", "rz_easyfpga_a2_2:RZEasyFPGAA2_2Platform", "altera", "EP4CE6, 50 MHz"),
        ("sk-xc6slx9", "sk_xc6slx9:SK_XC6SLX9Platform", "xilinx", "xc6slx9, 50 MHz"),
        ("stepmxo2", "stepmxo2:StepMXO2Platform", "machxo2", "LCMXO2-4000HC, 12 MHz"),
        ("supercon19badge", "supercon19badge:Supercon19BadgePlatform", "ecp5", "ECP5 LFE5U-45F, 8 MHz"),
        (
            "tang-mega-138k-pro-dock",
            "tang_mega_138k_pro_dock:TangMega138kProDockPlatform",
            "gowin",
            "GW5AST-LV138FPG676AC1/I0",
        ),
        ("tang-nano", "tang_nano:TangNanoPlatform", "gowin", "GW1N-LV1QN48C6/I5, 24 MHz"),
        ("tang-nano-9k", "tang_nano_9k:TangNano9kPlatform", "gowin", "GW1NR-LV9QN88PC6/I5, 27 MHz"),
        ("tang-primer-20k", "tang_primer_20k:TangPrimer20kPlatform", "gowin", "GW2A-LV18PG256C8/I7, 27 MHz"),
        ("tang-primer-20k-lite", "tang_primer_20k:TangPrimer20kLitePlatform", "gowin", "GW2A-LV18PG256C8/I7, 27 MHz"),
        ("tang-primer-20k-dock", "tang_primer_20k:TangPrimer20kDockPlatform", "gowin", "GW2A-LV18PG256C8/I7, 27 MHz"),
        ("te0714-03-50-2i", "te0714_03_50_2I:TE0714_03_50_2IPlatform", "xilinx", "xc7a50t, 25 MHz"),
        ("tinyfpga-ax1", "tinyfpga_ax1:TinyFPGAAX1Platform", "machxo2", "LCMXO2-256HC"),
        ("tinyfpga-ax2", "tinyfpga_ax2:TinyFPGAAX2Platform", "machxo2", "LCMXO2-1200HC"),
        ("tinyfpga-bx", "tinyfpga_bx:TinyFPGABXPlatform", "ice40", "iCE40 LP8K, 16 MHz"),
        ("ulx3s-12f", "ulx3s:ULX3S_12F_Platform", "ecp5", "ECP5 LFE5U-12F, 25 MHz"),
        ("ulx3s-25f", "ulx3s:ULX3S_25F_Platform", "ecp5", "ECP5 LFE5U-25F, 25 MHz"),
        ("ulx3s-45f", "ulx3s:ULX3S_45F_Platform", "ecp5", "ECP5 LFE5U-45F, 25 MHz"),
        ("ulx3s-85f", "ulx3s:ULX3S_85F_Platform", "ecp5", "ECP5 LFE5U-85F, 25 MHz"),
        ("upduino-v1", "upduino_v1:UpduinoV1Platform", "ice40", "iCE40 UP5K, 48 MHz"),
        ("upduino-v2", "upduino_v2:UpduinoV2Platform", "ice40", "iCE40 UP5K, 48 MHz"),
        ("upduino-v3", "upduino_v3:UpduinoV3Platform", "ice40", "iCE40 UP5K, 48 MHz"),
        ("versa-ecp5", "versa_ecp5:VersaECP5Platform", "ecp5", "ECP5 LFE5UM-45F, 100 MHz"),
        ("versa-ecp5-5g", "versa_ecp5_5g:VersaECP55GPlatform", "ecp5", "ECP5 LFE5UM5G-45F, 100 MHz"),
        ("zturn-lite-z007s", "zturn_lite_z007s:ZTurnLiteZ007SPlatform", "xilinx", "xc7z007s"),
        ("zturn-lite-z010", "zturn_lite_z010:ZTurnLiteZ010Platform", "xilinx", "xc7z010"),
    )
}
"""The boards, by name."""


class UnknownBoardError(InvalidArgumentError):
    """No board has this name; the message lists similar names."""

    def __init__(self, name: str) -> None:
        near = get_close_matches(name.lower(), BOARDS)
        guess = f"; did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"unknown board {name!r}{guess} (utf8fpga boards lists them)")


def find_board(name: str) -> Board:
    """The board of that name.

    Raises:
        UnknownBoardError: no board has that name.
    """
    if name not in BOARDS:
        raise UnknownBoardError(name)
    return BOARDS[name]
