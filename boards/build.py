# SPDX-License-Identifier: BSD-2-Clause
"""Builds the bitstream for a board with tools installed by pip, and a report with the tools' figures."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from amaranth.build import Attrs, Pins, Resource, ResourceError, Subsignal
from amaranth.build.run import BuildPlan
from filelock import FileLock

from utf8fpga.boards.catalog import Board, find_board
from utf8fpga.boards.check import CHECKED_FAMILIES, check_design, read_back
from utf8fpga.boards.forms import FORMS
from utf8fpga.boards.programming import programming_command
from utf8fpga.boards.top import DIVIDED_CLOCK, BoardTop
from utf8fpga.boards.uart_core import UartCore
from utf8fpga.hdl import CoreParameters
from utf8fpga.hdl.toolchain import ToolError, find_tool, present_version, run_tool
from utf8fpga.hdl.uart import uart_divisor
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.sim.engines.native import find_compiler
from utf8fpga.sim.engines.netlist import LineCircuit


class BuildError(ToolError):
    """A bitstream could not be built; the message is one line with the reason and the name of the full log."""


@dataclass(frozen=True, slots=True)
class BuildReport:
    """The result of a build, from the reports of the tools.

    Attributes:
        board: the name of the board in the catalogue.
        device: the part and its package.
        bitstream: the file of the bitstream.
        sha256: the digest of its contents, in hexadecimal.
        baud: bits per second of the UART.
        form: the form of the output, see `FORMS`.
        uart: the pins RX and TX of the UART, if they are not those of the board's resource.
        divide: the number by which the clock of the board is divided.
        program: the command that programs the board with the bitstream; empty where the platform has none.
        core: the name of the core's parameters.
        seed: the seed of place and route.
        logic_cells, logic_cells_available: ICESTORM_LC on iCE40, TRELLIS_COMB on ECP5 and MachXO2, LUT4 on Gowin,
            OXIDE_COMB on Nexus, CPE_LT (half a CPE) on GateMate.
        flip_flops: flip-flops in the logic cells.
        block_rams, block_rams_available: ICESTORM_RAM (4 Kbit) on iCE40, DP16KD (16 Kbit) on ECP5, DP8KC (8 Kbit) on
            MachXO2, BSRAM (16 Kbit) on Gowin, OXIDE_EBR (18 Kbit) on Nexus, RAM_HALF (20 Kbit) on GateMate.
        fmax_mhz: the maximum clock frequency after routing, in MHz.
        required_mhz: the clock frequency of the core, in MHz.
        tools: the versions of the tools and packages, by name.
    """

    board: str
    device: str
    bitstream: Path
    sha256: str
    baud: float
    form: str
    uart: str
    divide: int
    program: str
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

    def __str__(self) -> str:
        share = self.logic_cells / self.logic_cells_available
        tools = ", ".join(f"{name} {number}" for name, number in self.tools.items())
        pins = f" at {self.uart}" if self.uart else ""
        divided = f", the board's divided by {self.divide}" if self.divide > 1 else ""
        lines = [
            f"board        {self.board}: {self.device}, {self.required_mhz:.10g} MHz{divided}, "
            f"UART{pins} {self.baud:.10g} baud 8N1, {self.form}",
            f"bitstream    {self.bitstream}",
            f"logic cells  {self.logic_cells} of {self.logic_cells_available} ({share:.1%})",
            f"flip-flops   {self.flip_flops}",
            f"block RAMs   {self.block_rams} of {self.block_rams_available}",
            f"clock        {self.fmax_mhz:.2f} MHz reached, {self.required_mhz:.10g} MHz required",
            f"tools        {tools}; {self.core}, seed {self.seed}",
            *([f"program      {self.program}"] if self.program else []),
        ]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The report as a dictionary for JSON, with the attributes' names as keys."""
        return asdict(self) | {"bitstream": str(self.bitstream)}


@dataclass(frozen=True, slots=True)
class _Flow:
    """The tools of a device family in the order in which they run, and their names for resources."""

    place_and_route: str
    pack: str
    suffix: str
    logic_cells: str
    block_rams: str
    flip_flops: str | None
    """None where the report lacks their number, which is then read from the log."""
    planned: Mapping[str, str] = field(default_factory=dict)
    """The names of tools in Amaranth's plan, where they differ."""
    adapt: Callable[[Sequence[str]], list[str]] = list
    """Changes the arguments of place and route in Amaranth's plan to those of the tool."""
    attributes: Mapping[str, str] = field(default_factory=lambda: {"IO_TYPE": "LVCMOS33"})
    """The attributes of the pins of a UART that is not a resource of the board."""

    @property
    def tools(self) -> tuple[str, str, str]:
        """The tools; the version of the last one does not affect the bitstream."""
        return _SYNTHESIS, self.place_and_route, self.pack

    def commands(self, board: Board, plan: BuildPlan) -> dict[str, Sequence[str]]:
        """The arguments of the tools, from Amaranth's list of commands.

        They run without the shell that Amaranth's build scripts need.
        """
        listed = json.loads(plan.files[f"build_{_NAME}.json"])["commands"]
        planned = {tool: arguments for tool, *arguments in listed}
        names = {tool: self.planned.get(tool, tool) for tool in self.tools}
        if missing := [name for name in names.values() if name not in planned]:
            raise InvalidArgumentError(
                f"{board.name}: its platform is built with {', '.join(planned)}, not with {', '.join(missing)}: choose "
                "another family or toolchain"
            )
        commands = {tool: planned[name] for tool, name in names.items()}
        return commands | {self.place_and_route: self.adapt(commands[self.place_and_route])}


_SYNTHESIS = "yosys"


def _himbaechel(arguments: Sequence[str]) -> list[str]:
    """The arguments of nextpnr-himbaechel for those of the older nextpnr-gowin."""
    options = {"--family": "family", "--cst": "cst"}
    words: list[str] = []
    for word in arguments:
        if words and words[-1] in options:
            words[-1:] = ["--vopt", f"{options[words[-1]]}={word}"]
        else:
            words.append(word)
    return words


_FLOWS = {
    "ice40": _Flow(
        *("nextpnr-ice40", "icepack", "bin", "ICESTORM_LC", "ICESTORM_RAM", None),
        attributes={"IO_STANDARD": "SB_LVCMOS"},
    ),
    "ecp5": _Flow(
        *("nextpnr-ecp5", "ecppack", "bit", "TRELLIS_COMB", "DP16KD", "TRELLIS_FF"),
    ),
    "machxo2": _Flow(
        *("nextpnr-machxo2", "xo2pack", "bit", "TRELLIS_COMB", "DP8KC", "TRELLIS_FF"),
        planned={"xo2pack": "ecppack"},
    ),
    "gowin": _Flow(
        *("nextpnr-himbaechel-gowin", "gowin_pack", "fs", "LUT4", "BSRAM", "DFF"),
        planned={"nextpnr-himbaechel-gowin": "nextpnr-gowin"},
        adapt=_himbaechel,
    ),
    "nexus": _Flow(
        *("nextpnr-nexus", "prjoxide", "bit", "OXIDE_COMB", "OXIDE_EBR", "OXIDE_FF"),
    ),
    "gatemate": _Flow(
        *("nextpnr-himbaechel-gatemate", "gmpack", "bit", "CPE_LT", "RAM_HALF", "CPE_FF"),
        attributes={},
    ),
}

FAMILIES = tuple(_FLOWS)
"""The families with a tool flow."""

_ROUTED = "top.routed.json"
"""The file of the routed design, if it is checked."""

_NAME = "top"
"""The name of the design, and therefore of the files in the working folder."""

_SYNTHESIS_LOG, _LOG = f"{_NAME}.rpt", f"{_NAME}.tim"
"""The logs of synthesis, and of place and route."""

_STEPS = (("synthesis", _SYNTHESIS_LOG), ("place and route", _LOG), ("packing", ""))
"""The steps of a build, one for each tool, and their logs."""


def build_board(
    board: str | Board,
    directory: Path,
    *,
    baud: float | None = None,
    core: CoreParameters | None = None,
    uart: tuple[str, str] | None = None,
    divide: int | None = None,
    seed: int = 1,
    say: Callable[[str], None] = lambda _message: None,
    check: bool = False,
) -> BuildReport:
    """Build the bitstream of `UartCore` for a board.

    Writes ``<board>.bin``, ``.bit`` or ``.fs`` and the report ``<board>.json``, which contains the
    digest of the bitstream. Both are written only if the build succeeds; otherwise those of an
    earlier build are unchanged. Logs and netlists of the last build are in the folder ``<board>``.
    Equal arguments and versions of the tools give identical bitstreams.

    Several builds may use one directory at the same time. Each has its own working folder; the last
    one to end replaces bitstream and report together. A build that is killed leaves its working
    folder, ``<board>/.build-…``.

    Args:
        board: a name in the catalogue, or a board that is not in it.
        directory: the folder for the files; created if it does not exist.
        baud: bits per second; see `uart_divisor` for the limits; default: the fastest of `BAUDS` that the clock allows.
        uart: the pins RX and TX, see `Board`; default: those of the board.
        divide: a power of 2 by which the board's clock is divided; default: the smallest with which the design meets
            the clock frequency, up to 8.
        seed: the seed of place and route, at least 0; the clock frequency varies by about 5% with it.
        say: called with a progress message when a tool starts; default: no messages.
        check: simulate the routed design, and if Debian's ``icebox_vlog`` is installed, the bitstream itself; see
            `check_design`. Only for iCE40.

    Raises:
        InvalidArgumentError: `check` is not possible, the baud rate is not possible with the board's clock,
            `UartCore` rejects the core, pins are missing or used twice, or `seed` is negative.
        BuildError: a tool is missing or fails, `check` finds a difference, the design misses the board's clock, the
            directory cannot be written, or amaranth-boards is not installed.
    """
    board, flow = _board_and_flow(board)
    if seed < 0:
        raise InvalidArgumentError(f"seed {seed} is negative: it must be 0 or more")
    if divide is not None and divide not in DIVISORS:
        raise InvalidArgumentError(f"divide {divide} is not one of {', '.join(map(str, DIVISORS))}")
    if check:
        _require_checkable(board, divide or board.divide)
    core = core or FORMS["words"].core
    first = board.divide if divide is None else divide
    while True:
        job = _Job(board, flow, directory, baud, core, uart, first, seed, say, check)
        try:
            return job.build()
        except _TimingError as error:
            if divide is not None or check or first == DIVISORS[-1]:
                raise BuildError(str(error)) from None
            first *= 2
            say(f"{error}; again with the clock divided by {first}")


def _require_checkable(board: Board, divide: int) -> None:
    """Reject a check that is not possible."""
    if board.family not in CHECKED_FAMILIES:
        raise InvalidArgumentError(
            f"{board.name} has family {board.family}, of which routed designs are not simulated, only those of "
            f"{', '.join(CHECKED_FAMILIES)}: build it without a check"
        )
    if divide != 1:
        raise InvalidArgumentError("a build with a divided clock cannot be checked: leave out the check")


BAUDS = (1_000_000, 500_000, 230_400, 115_200, 57_600)
"""The speeds that a build chooses from."""

DIVISORS = (1, 2, 4, 8)
"""The numbers by which a clock may be divided."""


class _TimingError(BuildError):
    """The design does not meet the clock frequency."""


@dataclass(frozen=True)
class _Job:
    """A build with the clock divided by a given number; the attributes are the arguments of `build_board`."""

    board: Board
    flow: _Flow
    directory: Path
    baud: float | None
    core: CoreParameters
    uart: tuple[str, str] | None
    divide: int
    seed: int
    say: Callable[[str], None]
    check: bool

    def build(self) -> BuildReport:
        """Build the bitstream."""
        try:
            return self._build()
        except BuildError:
            raise
        except ToolError as error:
            raise BuildError(f"{self.board.name}: {error}") from None
        except OSError as error:
            path = str(error.filename or self.directory)
            raise BuildError(f"{self.board.name}: cannot write {path!r}: {error.strerror or error}") from None

    def _build(self) -> BuildReport:
        board, flow, directory = self.board, self.flow, self.directory
        platform = _platform(board)
        clock_hz = _clock_hz(board, platform) / self.divide
        baud = self.baud if self.baud is not None else _fastest(clock_hz)
        core = UartCore(clock_hz, baud, self.core)
        pins = self.uart or board.uart
        resource = _add_uart(platform, board, pins, flow.attributes) if pins else ("uart", 0)
        top = BoardTop(core, board, uart=resource, divide=self.divide)
        plan = self._plan(platform, top, clock_hz)
        commands = flow.commands(board, plan)
        for note in top.notes:
            self.say(f"{board.name}: {note}")

        if self.check:
            find_compiler()  # Reported before a build that takes longer.
        _find_tools(flow)
        with _WorkingFolder(directory / board.name) as folder:
            folder.write(plan)
            versions = self._run_tools(folder, commands)
            figures, clocks = _figures(flow, folder)
            _check_timing(board, clocks, platform.default_clk_frequency / 1e6, self.divide, folder.final(_LOG))
            packed = folder.work / f"{_NAME}.{flow.suffix}"
            if not packed.exists():
                raise ToolError(f"{flow.pack} wrote no bitstream; see {folder.path}")
            if self.check:
                _check(board, packed, core, (f"{platform.default_clk}_0", f"{resource[0]}_0"), self.say)
            bitstream = directory / f"{board.name}.{flow.suffix}"
            report = BuildReport(
                board=board.name,
                device=_device(platform),
                bitstream=bitstream,
                sha256=hashlib.sha256(packed.read_bytes()).hexdigest(),
                baud=baud,
                form=core.form.name,
                uart=",".join(pins) if pins else "",
                divide=self.divide,
                program=programming_command(platform, bitstream),
                core=core.core.name,
                seed=self.seed,
                required_mhz=clock_hz / 1e6,
                fmax_mhz=min(clocks.values()),
                tools=versions | _packages(),
                **figures,
            )
            written = packed.with_suffix(".written.json")
            written.write_text(json.dumps(report.as_dict(), indent=2) + "\n", encoding="utf-8")
            folder.publish({packed: bitstream, written: directory / f"{board.name}.json"})
        return report

    def _run_tools(self, folder: _WorkingFolder, commands: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Run the tools; returns the versions of those that affect the bitstream."""
        for (tool, arguments), (doing, log) in zip(commands.items(), _STEPS, strict=True):
            self.say(f"{self.board.name}: {doing} ({tool})")
            try:
                run_tool(tool, arguments, directory=folder.work)
            except ToolError as error:
                raise ToolError(f"{error}; see {folder.existing(log) or folder.path}") from None
        return {tool: present_version(tool) for tool in self.flow.tools[:2]}

    def _plan(self, platform: Any, top: BoardTop, clock_hz: float) -> BuildPlan:
        """The input of the tools, and their arguments."""
        # Timing is checked with the report, for an error message with the frequency.
        options = f"--seed {self.seed} --report {_NAME}.report.json --timing-allow-fail"
        if self.board.family in ("gowin", "gatemate"):
            options += f" --freq {clock_hz / 1e6:.6f}"
        if self.check:
            options += f" --write {_ROUTED}"
        try:
            # Without the sources, the input of the tools has no paths of this machine.
            plan: BuildPlan = platform.prepare(top, _NAME, emit_src=False, nextpnr_opts=options)
        except ResourceError as error:
            reason = " ".join(str(error).split())
            raise InvalidArgumentError(f"{self.board.name}: {reason}: choose other pins with --uart") from None
        return plan


def _check_timing(board: Board, clocks: Mapping[str, float], clock_mhz: float, divide: int, log: Path) -> None:
    """Check that each clock is fast enough; `clocks` has what each reaches in MHz, by its name in the report."""
    divided = [name for name in clocks if DIVIDED_CLOCK in name]
    if divide > 1 and not divided:
        raise ToolError(f"the report has no figure for the divided clock; see {log}")
    for name, reached in clocks.items():
        required = clock_mhz / divide if name in divided else clock_mhz
        if reached < required:
            advice = "another seed may help"
            # A division helps only the clock of the core.
            enough = [n for n in DIVISORS if n > divide and reached >= clock_mhz / n]
            if enough and (name in divided or len(clocks) == 1):
                advice = f"--divide {enough[0]} should meet it; {advice}"
            raise _TimingError(
                f"{board.name}: timing is not met: {reached:.2f} MHz reached, {required:.10g} MHz required "
                f"({advice}); see {log}"
            )


def _clock_hz(board: Board, platform: Any) -> float:
    """The clock frequency of a board."""
    if not platform.default_clk:
        raise InvalidArgumentError(f"{board.name}: its platform has no default clock, which the core needs")
    return float(platform.default_clk_frequency)


def _device(platform: Any) -> str:
    """The part and its package."""
    return f"{platform.device}-{platform.package}" if getattr(platform, "device", None) else str(platform.part)


def _fastest(clock_hz: float) -> float:
    """The fastest of the usual speeds for a clock."""
    for baud in BAUDS:
        try:
            uart_divisor(clock_hz, baud)
        except InvalidArgumentError:
            continue
        return baud
    raise InvalidArgumentError(
        f"no usual speed of a UART is possible with a clock of {clock_hz / 1e6:g} MHz: give a baud rate"
    )


def _add_uart(platform: Any, board: Board, pins: tuple[str, str], attributes: Mapping[str, str]) -> tuple[str, int]:
    """Add a UART at these pins to the platform; returns its name and number."""
    name = "host_uart"
    try:
        signals = [
            Subsignal(signal, _pin(platform, pin, direction))
            for signal, pin, direction in zip(("rx", "tx"), pins, "io", strict=True)
        ]
        platform.add_resources([Resource(name, 0, *signals, Attrs(**attributes))])
    except (NameError, TypeError) as error:
        raise InvalidArgumentError(f"{board.name}: {' '.join(str(error).split())}") from None
    return name, 0


def _pin(platform: Any, text: str, direction: str) -> Pins:
    """A pin by its name, or as ``connector_number:pin``."""
    connector, colon, pin = text.partition(":")
    if not colon:
        return Pins(text, dir=direction, assert_width=1)
    name, _, number = connector.rpartition("_")
    where = (name, int(number)) if number.isdigit() else None
    if where not in platform.connectors:
        known = ", ".join(f"{each}_{n}" for each, n in platform.connectors) or "none"
        raise InvalidArgumentError(f"pin {text!r}: there is no connector {connector!r} (known: {known})")
    if pin not in (mapping := platform.connectors[where].mapping):
        raise InvalidArgumentError(f"pin {text!r}: the connector has the pins {', '.join(mapping)}")
    return Pins(pin, dir=direction, conn=where, assert_width=1)


def _check(board: Board, packed: Path, core: UartCore, names: tuple[str, str], say: Callable[[str], None]) -> None:
    """Simulate the routed design and, if possible, the bitstream; `names` are those of clock and UART."""
    clock, uart = names
    ports = (f"{clock}__io", f"{uart}__rx__io", f"{uart}__tx__io")
    designs = {"the routed design": LineCircuit((packed.parent / _ROUTED).read_text(encoding="utf-8"), False, *ports)}
    verilog = read_back(packed, packed.with_suffix(".pcf"))
    if verilog is not None:
        designs["the bitstream"] = LineCircuit(verilog, True, *ports)
    else:
        say(f"{board.name}: icebox_vlog is not installed, so the bitstream itself is not simulated")
    for what, circuit in designs.items():
        say(f"{board.name}: check of {what}")
        number = check_design(circuit, core, what)
        say(f"{board.name}: {what} sends the model's {number} items and markers")


def require_tools(board: str | Board) -> None:
    """Check whether the tools and packages for `build_board` are installed.

    Raises:
        BuildError: a tool or amaranth-boards is missing.
    """
    board, flow = _board_and_flow(board)
    _platform(board)
    try:
        _find_tools(flow)
    except ToolError as error:
        raise BuildError(f"{board.name}: {error}") from None


def obstacle(board: Board) -> str:
    """Why no bitstream can be built for a board; empty where it can."""
    if board.obstacle:
        return board.obstacle
    if board.family not in _FLOWS:
        return f"no open tools for {board.family}"
    try:
        require_tools(board)
    except ToolError as error:
        return str(error).removeprefix(f"{board.name}: ")
    return ""


def facts_of(board: Board) -> dict[str, str]:
    """What is known of a board, each empty where it is not known.

    Returns:
        toolchain: place and route of the open tools, or the name that Amaranth has for the tools of the vendor.
        clock_mhz: the clock in MHz.
        uart: the pins of the UART, or ``resource``.
    """
    toolchain, clock, uart = "", "", ""
    with suppress(ToolError):
        platform = board.create_platform()
        toolchain = str(getattr(platform, "toolchain", ""))
        uart = "resource" if ("uart", 0) in platform.resources else ""
        if getattr(platform, "default_clk", None):
            clock = f"{platform.default_clk_frequency / 1e6:.10g}"
    if board.family in _FLOWS:
        toolchain = _FLOWS[board.family].place_and_route
    return {"toolchain": toolchain, "clock_mhz": clock, "uart": ",".join(board.uart or [uart])}


def _board_and_flow(board: str | Board) -> tuple[Board, _Flow]:
    if isinstance(board, str):
        board = find_board(board)
    if board.family not in _FLOWS:
        raise InvalidArgumentError(
            f"board {board.name} has family {board.family!r}, which is not one of {', '.join(_FLOWS)}"
        )
    if board.obstacle:
        raise InvalidArgumentError(f"board {board.name} cannot be built: {board.obstacle}")
    return board, _FLOWS[board.family]


def _find_tools(flow: _Flow) -> None:
    for tool in flow.tools:
        find_tool(tool)


class _WorkingFolder:
    """A folder of one build in `path`, which is removed when the block ends; if a tool fails, its files are kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        try:
            self.work = Path(tempfile.mkdtemp(prefix=".build-", dir=path))
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None

    def write(self, plan: BuildPlan) -> None:
        """Write the files for the tools."""
        # The plan's own method would change the current directory of all threads.
        for name, content in plan.files.items():
            file = self.work / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)

    def __enter__(self) -> _WorkingFolder:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        try:
            if isinstance(error, ToolError):
                self.publish({})
        finally:
            shutil.rmtree(self.work, ignore_errors=True)

    def final(self, name: str) -> Path:
        """The name of a file of the working folder after the build."""
        return self.path / name

    def existing(self, name: str) -> Path | None:
        """The same, if there is such a file."""
        return self.final(name) if (self.work / name).is_file() else None

    def publish(self, results: dict[Path, Path]) -> None:
        """Move results, logs and netlists to their final names, under a lock against concurrent builds."""
        with FileLock(self.path / "lock"):
            for result, name in results.items():
                result.replace(name)
            # Remove the files of an earlier build.
            for left in self.path.glob(f"{_NAME}.*"):
                left.unlink()
            for path in self.work.iterdir():
                name = self.path / path.name
                if name.is_dir():
                    shutil.rmtree(name)
                path.replace(name)


def _figures(flow: _Flow, folder: _WorkingFolder) -> tuple[dict[str, Any], dict[str, float]]:
    """The figures for `BuildReport` from nextpnr's report and log, and what each clock reaches in MHz."""
    try:
        report = json.loads((folder.work / f"{_NAME}.report.json").read_text(encoding="utf-8"))
        used = report["utilization"]
        logic_cells, block_rams = used[flow.logic_cells], used[flow.block_rams]
        figures = {
            "logic_cells": logic_cells["used"],
            "logic_cells_available": logic_cells["available"],
            "flip_flops": used[flow.flip_flops]["used"] if flow.flip_flops else _logged_flip_flops(folder.work / _LOG),
            "block_rams": block_rams["used"],
            "block_rams_available": block_rams["available"],
        }
        clocks = {name: clock["achieved"] for name, clock in report["fmax"].items()}
        if not clocks:
            raise ValueError("no clock in it")
    except (FileNotFoundError, KeyError, ValueError) as error:
        raise ToolError(f"{flow.place_and_route} wrote no valid report: {error}; see {folder.path}") from None
    return figures, clocks


def _logged_flip_flops(log: Path) -> int:
    counts = re.findall(r"(\d+) LCs used as (?:LUT4 and DFF|DFF only)", log.read_text(encoding="utf-8"))
    if not counts:
        raise ValueError("no count of flip-flops in its log")
    return sum(map(int, counts))


def _platform(board: Board) -> Any:
    try:
        platform = board.create_platform()
    except ToolError as error:
        raise BuildError(str(error)) from None
    if not hasattr(platform, "prepare"):
        raise InvalidArgumentError(f"{board.name}: {board.platform!r} is not a platform of Amaranth for an FPGA")
    return platform


def _packages() -> dict[str, str]:
    versions = {}
    for package in ("amaranth", "amaranth-boards"):
        with suppress(PackageNotFoundError):  # A board outside the catalogue may not need amaranth-boards.
            versions[package] = version(package)
    return versions
