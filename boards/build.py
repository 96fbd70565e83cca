# SPDX-License-Identifier: BSD-2-Clause
"""From a board's name to a bitstream, with pip's tools, and a report of what the tools said."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from amaranth.build.run import BuildPlan
from amaranth.hdl import Elaboratable, Module
from amaranth.lib import io

from utf8fpga.boards.catalog import Board, find_board
from utf8fpga.boards.ssh_build import Host, find_paramiko, run_on_host
from utf8fpga.boards.uart_decoder import UartDecoder
from utf8fpga.hdl import DecoderParameters
from utf8fpga.hdl.toolchain import ToolError, find_tool, run_tool, tool_version
from utf8fpga.model.exceptions import InvalidArgumentError

__all__ = ["BuildError", "BuildReport", "build_board", "require_tools"]


class BuildError(ToolError):
    """A bitstream could not be built; one line says why, and where the full log is."""


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build made, by the tools' own reports.

    Attributes:
        board: its name in the catalog.
        device: the part and its package.
        bitstream: the file.
        sha256: the digest of what that file holds, in hexadecimal.
        baud: bits per second of the UART.
        core: the decoder, by the name of its parameters.
        seed: of place and route.
        logic_cells, logic_cells_available: ICESTORM_LC on iCE40, TRELLIS_COMB on ECP5.
        flip_flops: in the logic cells.
        block_rams, block_rams_available: ICESTORM_RAM (4 Kbit) on iCE40, DP16KD (16 Kbit) on ECP5.
        fmax_mhz: the highest clock after routing.
        required_mhz: the clock of the board.
        tools: versions by name.
    """

    board: str
    device: str
    bitstream: Path
    sha256: str
    baud: float
    core: str
    seed: int
    logic_cells: int
    logic_cells_available: int
    flip_flops: int
    block_rams: int
    block_rams_available: int
    fmax_mhz: float
    required_mhz: float
    tools: dict[str, str]

    def lines(self) -> list[str]:
        """The report for a person to read."""
        share = self.logic_cells / self.logic_cells_available
        tools = ", ".join(f"{name} {number}" for name, number in self.tools.items())
        return [
            f"board        {self.board}: {self.device}, {self.required_mhz:.10g} MHz, UART {self.baud:.10g} baud 8N1",
            f"bitstream    {self.bitstream}",
            f"logic cells  {self.logic_cells} of {self.logic_cells_available} ({share:.1%})",
            f"flip-flops   {self.flip_flops}",
            f"block RAMs   {self.block_rams} of {self.block_rams_available}",
            f"clock        {self.fmax_mhz:.2f} MHz reached, {self.required_mhz:.10g} MHz required",
            f"tools        {tools}; {self.core}, seed {self.seed}",
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_dict(self) -> dict[str, Any]:
        """The report for JSON; the attributes by their names."""
        return asdict(self) | {"bitstream": str(self.bitstream)}


@dataclass(frozen=True, slots=True)
class _Flow:
    """A device family's tools in the order they run, and the names they use."""

    synthesis: str
    place_and_route: str
    pack: str
    suffix: str
    logic_cells: str
    block_rams: str
    flip_flops: str | None
    """None where the report does not count them and the log does."""


_FLOWS = {
    "ice40": _Flow("yosys", "nextpnr-ice40", "icepack", "bin", "ICESTORM_LC", "ICESTORM_RAM", None),
    "ecp5": _Flow("yosys", "nextpnr-ecp5", "ecppack", "bit", "TRELLIS_COMB", "DP16KD", "TRELLIS_FF"),
}

_NAME = "top"
"""Of the design, and so of the files in the working folder."""


class _BoardTop(Elaboratable):
    """`UartDecoder` on the pins of a board."""

    def __init__(self, decoder: UartDecoder, board: Board) -> None:
        self._decoder = decoder
        self._leds = board.leds

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.decoder = decoder = self._decoder
        uart = platform.request("uart", 0, dir="-")
        m.submodules.rx = rx = io.Buffer("i", uart.rx)
        m.submodules.tx = tx = io.Buffer("o", uart.tx)
        m.d.comb += [decoder.rx.eq(rx.i), tx.o.eq(decoder.tx)]

        shown = [name for number, name in enumerate(self._leds) if ("led", number) in platform.resources]
        for number, name in enumerate(shown):
            state = getattr(decoder, name)
            if name == "error" and "overflow" not in shown:
                state |= decoder.overflow
            # The resource knows whether the LED lights when it is low.
            m.submodules[f"led_{name}"] = led = io.Buffer("o", platform.request("led", number, dir="-"))
            m.d.comb += led.o.eq(state)
        return m


def build_board(
    board: str | Board,
    directory: Path,
    *,
    baud: float = 1_000_000,
    core: DecoderParameters | None = None,
    seed: int = 1,
    host: Host | None = None,
    say: Callable[[str], None] | None = None,
) -> BuildReport:
    """Build the bitstream of `UartDecoder` for a board.

    Makes ``<board>.bin`` or ``<board>.bit`` and the report ``<board>.json``, which holds the
    bitstream's digest. Both appear only when all is well: a build that fails leaves what an earlier
    one made. Logs and netlists of the last build go to the folder ``<board>``. Equal arguments and
    tools give equal bitstreams, byte for byte.

    Several builds may use one directory at a time: each has a working folder of its own, and what
    the last one to end made replaces what the others made, bitstream and report together. A build
    that is killed leaves its working folder, ``<board>/.build-…``.

    Args:
        board: a name in the catalog, or a board that is not in it.
        directory: where the files go; made if it does not exist.
        baud: bits per second; the board's clock must make it to 2%, in at least 4 clocks per bit.
        core: the decoder, as for `UartDecoder`.
        seed: of place and route, at least 0; the clock that is reached varies by some 5% with it.
        host: where the tools run; here unless given. See `run_on_host`.
        say: called with a line when a tool starts.

    Raises:
        UnknownBoardError: no board has that name.
        InvalidArgumentError: the clock cannot make the baud rate, the decoder is not one for a UART, or `seed` is out
            of its range.
        BuildError: a tool is missing or fails, the design misses the board's clock, the directory
            cannot be written, the host cannot be reached, or amaranth-boards is not installed.
    """
    board, flow = _board_and_flow(board)
    if seed < 0:
        raise InvalidArgumentError(f"seed {seed} is negative")
    platform = _platform(board)
    decoder = UartDecoder(platform.default_clk_frequency, baud, core)
    plan = platform.prepare(
        _BoardTop(decoder, board),
        _NAME,
        emit_src=False,  # no paths of this machine in what the tools read
        # Timing is judged by the report below, which says by how much it is missed.
        nextpnr_opts=f"--seed {seed} --report {_NAME}.report.json --timing-allow-fail",
    )

    try:
        if host is None:
            tools = _Tools(board.name, flow, plan, directory / board.name, say)
        else:
            tools = _HostTools(board.name, flow, plan, directory / board.name, say, host)
        with tools.at_work():
            tools.place_and_route()
            figures = tools.figures()
            required_mhz = platform.default_clk_frequency / 1e6
            if figures["fmax_mhz"] < required_mhz:
                raise ToolError(
                    f"timing is not met: {figures['fmax_mhz']:.2f} MHz reached, {required_mhz:.10g} MHz required "
                    f"(another seed or pipeline may help); see {tools.log}"
                )
            packed = tools.pack()
            report = BuildReport(
                board=board.name,
                device=f"{platform.device}-{platform.package}",
                bitstream=directory / f"{board.name}.{flow.suffix}",
                sha256=hashlib.sha256(packed.read_bytes()).hexdigest(),
                baud=baud,
                core=decoder.core.name,
                seed=seed,
                required_mhz=required_mhz,
                tools=tools.versions() | _packages(),
                **figures,
            )
            written = packed.with_suffix(".written.json")
            written.write_text(json.dumps(report.as_dict(), indent=2) + "\n", encoding="utf-8")
            tools.publish({packed: report.bitstream, written: directory / f"{board.name}.json"})
    except ToolError as error:
        raise BuildError(f"{board.name}: {error}") from None
    except OSError as error:
        raise BuildError(
            f"{board.name}: cannot write {str(error.filename or directory)!r}: {error.strerror or error}"
        ) from None
    return report


def require_tools(board: str | Board) -> None:
    """Find out at once whether what `build_board` needs is installed.

    Args:
        board: as for `build_board`.

    Raises:
        UnknownBoardError: no board has that name.
        BuildError: a tool or amaranth-boards is missing.
    """
    board, flow = _board_and_flow(board)
    _platform(board)
    try:
        _find_tools(flow)
    except ToolError as error:
        raise BuildError(f"{board.name}: {error}") from None


def _board_and_flow(board: str | Board) -> tuple[Board, _Flow]:
    if isinstance(board, str):
        board = find_board(board)
    if board.family not in _FLOWS:
        raise InvalidArgumentError(
            f"board {board.name} has family {board.family!r}, which is not one of {', '.join(_FLOWS)}"
        )
    return board, _FLOWS[board.family]


def _find_tools(flow: _Flow) -> None:
    for tool in (flow.synthesis, flow.place_and_route, flow.pack):
        find_tool(tool)


class _Tools:
    """The tools of one build, at work in a folder that no other build has."""

    def __init__(
        self, board: str, flow: _Flow, plan: BuildPlan, folder: Path, say: Callable[[str], None] | None
    ) -> None:
        self._board, self._flow, self._plan, self._say = board, flow, plan, say
        self._folder = folder
        """Where logs and netlists go in the end."""
        self._work = folder
        """Where they are until then."""
        # Amaranth's own list of commands, run without the shell that its build scripts need.
        commands = json.loads(plan.files[f"build_{_NAME}.json"])["commands"]
        self._commands = {tool: arguments for tool, *arguments in commands}
        self._find()

    @property
    def log(self) -> Path:
        """Of place and route; where it is to be found in the end."""
        return self._folder / f"{_NAME}.tim"

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """The block has a working folder; the logs of a tool that fails in it are kept."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            self._work = Path(tempfile.mkdtemp(prefix=".build-", dir=self._folder))
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._folder)) from None
        try:
            # Not by the plan's own method, which changes the current directory of all threads meanwhile.
            for name, content in self._plan.files.items():
                file = self._work / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.encode() if isinstance(content, str) else content)
            yield
        except ToolError:
            self.publish({})
            raise
        finally:
            shutil.rmtree(self._work, ignore_errors=True)

    def publish(self, results: dict[Path, Path]) -> None:
        """Move results to where they belong, and logs and netlists to the folder, with no other build between them.

        Args:
            results: files of the working folder, and their names in the end.
        """
        with _locked(self._folder / "lock"):
            for result, name in results.items():
                result.replace(name)
            # Files of an earlier build must not pass for those of this one.
            for left in self._folder.glob(f"{_NAME}.*"):
                left.unlink()
            for path in self._work.iterdir():
                name = self._folder / path.name
                if name.is_dir():
                    shutil.rmtree(name)
                path.replace(name)

    def _find(self) -> None:
        _find_tools(self._flow)

    def versions(self) -> dict[str, str]:
        """Those of the tools that decide what comes out."""
        return {tool: tool_version(tool) for tool in (self._flow.synthesis, self._flow.place_and_route)}

    def place_and_route(self) -> None:
        self._run(self._flow.synthesis, "synthesis", f"{_NAME}.rpt")
        self._run(self._flow.place_and_route, "place and route", self.log.name)

    def pack(self) -> Path:
        """The bitstream, still in the working folder."""
        self._run(self._flow.pack, "packing", None)
        return self._packed()

    def _packed(self) -> Path:
        packed = self._work / f"{_NAME}.{self._flow.suffix}"
        if not packed.exists():
            raise ToolError(f"{self._flow.pack} wrote no bitstream; see {self._folder}")
        return packed

    def figures(self) -> dict[str, Any]:
        """The figures of `BuildReport` in nextpnr's report and log."""
        flow = self._flow
        try:
            report = json.loads((self._work / f"{_NAME}.report.json").read_text(encoding="utf-8"))
            used = report["utilization"]
            return {
                "logic_cells": used[flow.logic_cells]["used"],
                "logic_cells_available": used[flow.logic_cells]["available"],
                "flip_flops": used[flow.flip_flops]["used"] if flow.flip_flops else self._logged_flip_flops(),
                "block_rams": used[flow.block_rams]["used"],
                "block_rams_available": used[flow.block_rams]["available"],
                "fmax_mhz": min(clock["achieved"] for clock in report["fmax"].values()),
            }
        except (FileNotFoundError, KeyError, ValueError) as error:
            raise ToolError(
                f"{flow.place_and_route} wrote no report that can be read: {error}; see {self._folder}"
            ) from None

    def _logged_flip_flops(self) -> int:
        log = (self._work / self.log.name).read_text(encoding="utf-8")
        counts = re.findall(r"(\d+) LCs used as (?:LUT4 and DFF|DFF only)", log)
        if not counts:
            raise ValueError("no count of flip-flops in its log")
        return sum(map(int, counts))

    def _run(self, tool: str, doing: str, log: str | None) -> None:
        if self._say is not None:
            self._say(f"{self._board}: {doing} ({tool})")
        try:
            run_tool(tool, self._commands[tool], directory=self._work)
        except ToolError as error:
            where = self._folder / log if log and (self._work / log).exists() else self._folder
            raise ToolError(f"{error}; see {where}") from None


class _HostTools(_Tools):
    """The same on another host, where one script runs them all."""

    def __init__(
        self,
        board: str,
        flow: _Flow,
        plan: BuildPlan,
        folder: Path,
        say: Callable[[str], None] | None,
        host: Host,
    ) -> None:
        super().__init__(board, flow, plan, folder, say)
        self._host = host
        self._versions: dict[str, str] = {}

    def _find(self) -> None:
        find_paramiko()  # the host finds the tools

    def versions(self) -> dict[str, str]:
        return {tool: self._versions[tool] for tool in (self._flow.synthesis, self._flow.place_and_route)}

    def place_and_route(self) -> None:
        tools = (self._flow.synthesis, self._flow.place_and_route, self._flow.pack)
        if self._say is not None:
            self._say(f"{self._board}: build on {self._host} ({', '.join(tools)})")
        try:
            self._versions = run_on_host(self._plan, self._host, tools, self._work)
        except ToolError as error:
            # Where there is a log, it says more.
            logs = [log for log in (self.log.name, f"{_NAME}.rpt") if (self._work / log).exists()]
            raise ToolError(f"{error}; see {self._folder / logs[0]}" if logs else str(error)) from None

    def pack(self) -> Path:
        """The bitstream, which the host has packed already."""
        return self._packed()


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """The block runs while no other process or thread is in such a block with the same file, which stays."""
    with file.open("ab") as lock:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            with suppress(OSError):  # a file system without locks
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _platform(board: Board) -> Any:
    module, _, name = board.platform.partition(":")
    try:
        return getattr(importlib.import_module(module), name)()
    except ImportError:
        if not module.startswith("amaranth_boards"):
            raise
        raise BuildError("amaranth-boards is not installed: pip install 'utf8fpga[boards]'") from None


def _packages() -> dict[str, str]:
    versions = {}
    for package in ("amaranth", "amaranth-boards"):
        with suppress(PackageNotFoundError):  # a board of one's own does without amaranth-boards
            versions[package] = version(package)
    return versions
