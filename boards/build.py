# SPDX-License-Identifier: BSD-2-Clause
"""Builds the bitstream for a board with tools installed by pip, and a report with the tools' figures."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from amaranth.build import Attrs, Pins, Resource, ResourceError, Subsignal
from amaranth.build.run import BuildPlan

from utf8fpga.boards.catalog import Board, find_board
from utf8fpga.boards.flows import FLOWS, LOG, NAME, SYNTHESIS_LOG, Flow, flow_of
from utf8fpga.boards.forms import FORMS
from utf8fpga.boards.programming import programming_command
from utf8fpga.boards.self_test import FAST_CLOCK, SelfTest, fastest_setting
from utf8fpga.boards.top import DIVIDED_CLOCK, BoardTop
from utf8fpga.boards.uart_core import UartCore
from utf8fpga.hdl import CoreParameters
from utf8fpga.hdl.toolchain import ToolError, find_tool, present_version, run_tool
from utf8fpga.hdl.uart import uart_divisor
from utf8fpga.model.exceptions import InvalidArgumentError

BAUDS = (1_000_000, 500_000, 230_400, 115_200, 57_600)
"""The speeds that a build chooses from."""

MOST_DIVIDED = 8
"""The highest number by which the clock of a board is divided."""

SELF_TEST_MHZ = 260
"""The clock of a self-test that is tried first, at the limit of the clock networks."""


class BuildError(ToolError):
    """A bitstream could not be built; the message is one line with the reason and the name of the full log."""


class _TimingError(BuildError):
    """The design misses a clock; `reached_mhz` is what the clock of the core reaches."""

    reached_mhz = 0.0


@dataclass(frozen=True, slots=True)
class BuildReport:
    """The result of a build, from the reports of the tools.

    Attributes:
        board: the name of the board in the catalogue.
        device: the part and its package.
        bitstream: the file of the bitstream.
        sha256: the digest of its contents, in hexadecimal.
        baud: bits per second of the UART.
        content: what is built: the form of the output, see `FORMS`, and the core, or ``self-test``.
        uart: the pins RX and TX of the UART, if they are not those of the board's resource.
        program: the command that programs the board with the bitstream; empty where the platform has none.
        seed: the seed of place and route.
        logic_cells, logic_cells_available: see `Flow` for what they are in each family.
        flip_flops: flip-flops in the logic cells.
        block_rams, block_rams_available: block RAMs.
        fmax_mhz: the maximum clock frequency of the core after routing, in MHz.
        required_mhz: its clock frequency, in MHz.
        tools: the versions of the tools and packages, by name.
    """

    board: str
    device: str
    bitstream: Path
    sha256: str
    baud: float
    content: str
    uart: str
    program: str
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
        lines = [
            f"board        {self.board}: {self.device}, UART{pins} {self.baud:.10g} baud 8N1, {self.content}",
            f"bitstream    {self.bitstream}",
            f"logic cells  {self.logic_cells} of {self.logic_cells_available} ({share:.1%})",
            f"flip-flops   {self.flip_flops}",
            f"block RAMs   {self.block_rams} of {self.block_rams_available}",
            f"clock        {self.fmax_mhz:.2f} MHz reached, {self.required_mhz:.10g} MHz required",
            f"tools        {tools}; seed {self.seed}",
            *([f"program      {self.program}"] if self.program else []),
        ]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The report as a dictionary for JSON, with the attributes' names as keys."""
        return asdict(self) | {"bitstream": str(self.bitstream)}


def build_board(
    board: str | Board,
    directory: Path,
    *,
    baud: float | None = None,
    core: CoreParameters | None = None,
    uart: tuple[str, str] | None = None,
    seed: int = 1,
    say: Callable[[str], None] = lambda _message: None,
) -> BuildReport:
    """Build the bitstream of `UartCore` for a board.

    Writes ``<board>.bin``, ``.bit`` or ``.fs`` and the report ``<board>.json``, which contains the digest of the
    bitstream. Both are written only if the build succeeds; otherwise those of an earlier build are unchanged. Logs and
    netlists of the last build are in the folder ``<board>``. Equal arguments and versions of the tools give identical
    bitstreams. The clock of a board that is too fast is divided.

    Args:
        board: a name in the catalogue, or a board that is not in it.
        directory: the folder for the files; created if it does not exist.
        baud: bits per second; see `uart_divisor` for the limits; default: the fastest of `BAUDS` that the clock allows.
        core: the parameters of the core; default: the smallest decoder of UTF-8.
        uart: the pins RX and TX, see `Board`; default: those of the board.
        seed: the seed of place and route, at least 0; the clock frequency varies by about 5% with it.
        say: called with a progress message when a tool starts; default: no messages.

    Raises:
        InvalidArgumentError: the baud rate is not possible with the board's clock, `UartCore` rejects the core, or pins
            are missing or used twice.
        BuildError: a tool is missing or fails, the design misses the board's clock, the directory cannot be written, or
            amaranth-boards is not installed.
    """
    board = find_board(board) if isinstance(board, str) else board
    parameters, divide = core or FORMS["words"].core, board.divide
    job = _Job(board, flow_of(board), directory, uart or board.uart, seed, say)
    while True:
        clock_hz = job.clock_hz() / divide
        circuit = UartCore(clock_hz, baud or _fastest(clock_hz), parameters)
        content = f"{circuit.form.name}, {parameters.name}"
        try:
            return job.build(circuit, content, baud or _fastest(clock_hz), clock_hz, DIVIDED_CLOCK, divide)
        except _TimingError as error:
            divide *= 2
            if divide > MOST_DIVIDED:
                raise BuildError(str(error)) from None
            say(f"{error}; again with the clock divided by {divide}")


def build_self_test(
    board: str | Board,
    directory: Path,
    *,
    baud: float | None = None,
    uart: tuple[str, str] | None = None,
    seed: int = 1,
    say: Callable[[str], None] = lambda _message: None,
) -> BuildReport:
    """Build the bitstream of `SelfTest` for a board, with the highest clock that the tools report as met.

    Args and Raises: see `build_board`.
    """
    board = find_board(board) if isinstance(board, str) else board
    job = _Job(board, flow_of(board), directory, uart or board.uart, seed, say)
    most_mhz: float = SELF_TEST_MHZ
    while True:
        clock_hz = job.clock_hz()
        setting = fastest_setting(board.family, clock_hz, most_mhz * 1e6)
        circuit = SelfTest(clock_hz, baud or _fastest(clock_hz), board.family, setting)
        try:
            return job.build(circuit, "self-test", baud or _fastest(clock_hz), setting.hz, FAST_CLOCK)
        except _TimingError as error:
            most_mhz = min(error.reached_mhz, setting.hz / 1e6 - 1)
            say(f"{error}; again with at most {most_mhz:.0f} MHz")


@dataclass(frozen=True)
class _Job:
    """The builds for a board, one for each clock that is tried."""

    board: Board
    flow: Flow
    directory: Path
    uart: tuple[str, str] | None
    seed: int
    say: Callable[[str], None]

    def clock_hz(self) -> float:
        """The clock frequency of the board."""
        platform = _platform(self.board)
        if not platform.default_clk:
            raise InvalidArgumentError(f"{self.board.name}: its platform has no default clock, which the core needs")
        return float(platform.default_clk_frequency)

    def build(
        self, circuit: Any, content: str, baud: float, clock_hz: float, clock_name: str, divide: int = 1
    ) -> BuildReport:
        """Build a circuit with the ports of `UartCore`.

        Args:
            clock_hz: the clock of the core.
            clock_name: part of its name in the report, if it is not the clock of the board.
            divide: the number by which the clock of the board is divided.
        """
        try:
            return self._build(circuit, content, baud, clock_hz, clock_name, divide)
        except BuildError:
            raise
        except ToolError as error:
            raise BuildError(f"{self.board.name}: {error}") from None
        except OSError as error:
            path = str(error.filename or self.directory)
            raise BuildError(f"{self.board.name}: cannot write {path!r}: {error.strerror or error}") from None

    def _build(
        self, circuit: Any, content: str, baud: float, clock_hz: float, clock_name: str, divide: int
    ) -> BuildReport:
        board, flow, platform = self.board, self.flow, _platform(self.board)
        resource = _add_uart(platform, board, self.uart, flow.attributes) if self.uart else ("uart", 0)
        top = BoardTop(circuit, board, uart=resource, divide=divide)
        commands = flow.commands(board, plan := self._plan(platform, top, clock_hz))
        for note in top.notes:
            self.say(f"{board.name}: {note}")
        require_tools(board)
        with _WorkingFolder(self.directory / board.name) as folder:
            folder.write(plan)
            self._run_tools(flow, folder, commands)
            figures, clocks = flow.figures(folder.work)
            fmax_mhz = self._check_timing(clocks, platform, clock_hz, clock_name)
            packed = folder.work / f"{NAME}.{flow.suffix}"
            if not packed.exists():
                raise ToolError(f"{flow.pack} wrote no bitstream; see {folder.path}")
            bitstream = self.directory / packed.with_stem(board.name).name
            report = BuildReport(
                board=board.name,
                device=_device(platform),
                bitstream=bitstream,
                sha256=hashlib.sha256(packed.read_bytes()).hexdigest(),
                baud=baud,
                content=content,
                uart=",".join(self.uart or ()),
                program=programming_command(platform, bitstream),
                seed=self.seed,
                required_mhz=clock_hz / 1e6,
                fmax_mhz=fmax_mhz,
                tools={tool: present_version(tool) for tool in flow.tools[:2]} | _packages(),
                **figures,
            )
            written = folder.work / "written.json"
            written.write_text(json.dumps(report.as_dict(), indent=2) + "\n", encoding="utf-8")
            packed.replace(bitstream)
            written.replace(self.directory / f"{board.name}.json")
        return report

    def _run_tools(self, flow: Flow, folder: _WorkingFolder, commands: Mapping[str, Any]) -> None:
        steps = (("synthesis", SYNTHESIS_LOG), ("place and route", LOG), ("packing", ""))
        for (tool, arguments), (doing, log) in zip(commands.items(), steps, strict=True):
            self.say(f"{self.board.name}: {doing} ({tool})")
            try:
                run_tool(tool, arguments, directory=folder.work)
            except ToolError as error:
                has_log = log and (folder.work / log).is_file()
                raise ToolError(f"{error}; see {folder.path / log if has_log else folder.path}") from None

    def _plan(self, platform: Any, top: BoardTop, clock_hz: float) -> BuildPlan:
        """The input of the tools, and their arguments."""
        # Timing is checked with the report, for an error message with the frequency.
        options = f"--seed {self.seed} --report {NAME}.report.json --timing-allow-fail"
        if self.board.family in ("gowin", "gatemate"):
            options += f" --freq {clock_hz / 1e6:.6f}"
        try:
            # Without the sources, the input of the tools has no paths of this machine.
            plan: BuildPlan = platform.prepare(top, NAME, emit_src=False, nextpnr_opts=options)
        except ResourceError as error:
            reason = " ".join(str(error).split())
            raise InvalidArgumentError(f"{self.board.name}: {reason}: choose other pins with --uart") from None
        return plan

    def _check_timing(self, clocks: Mapping[str, float], platform: Any, clock_hz: float, clock_name: str) -> float:
        """Check that each clock is fast enough; returns what that of the core reaches, in MHz."""
        board_mhz, core_mhz = platform.default_clk_frequency / 1e6, clock_hz / 1e6
        log = self.directory / self.board.name / LOG
        of_core = {name: reached for name, reached in clocks.items() if clock_name in name}
        if core_mhz != board_mhz and not of_core:
            raise ToolError(f"the report has no figure for the clock of the core; see {log}")
        for name, reached in clocks.items():
            required = core_mhz if name in of_core else board_mhz
            if reached < required:
                error = _TimingError(
                    f"{self.board.name}: timing is not met: {reached:.2f} MHz reached, {required:.10g} MHz required "
                    f"(another seed may help); see {log}"
                )
                error.reached_mhz = reached
                raise error
        return min((of_core or clocks).values())


class _WorkingFolder:
    """A folder for one build, which then takes the place of `path`, also if a tool failed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.work = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))

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
        if error is None or isinstance(error, ToolError):
            shutil.rmtree(self.path, ignore_errors=True)
            self.work.chmod(0o755)
            with suppress(OSError):  # Another build has put its files there.
                self.work.rename(self.path)
        shutil.rmtree(self.work, ignore_errors=True)


def _fastest(clock_hz: float) -> float:
    """The fastest of the usual speeds for a clock."""
    for baud in BAUDS:
        with suppress(InvalidArgumentError):
            uart_divisor(clock_hz, baud)
            return baud
    raise InvalidArgumentError(
        f"no usual speed of a UART is possible with a clock of {clock_hz / 1e6:g} MHz: give a baud rate"
    )


def _add_uart(platform: Any, board: Board, pins: tuple[str, str], attributes: Mapping[str, str]) -> tuple[str, int]:
    """Add a UART at these pins to the platform; returns its name and number."""
    name = "host_uart"
    try:
        rx, tx = (_pin(platform, pin, direction) for pin, direction in zip(pins, "io", strict=True))
        platform.add_resources([Resource(name, 0, Subsignal("rx", rx), Subsignal("tx", tx), Attrs(**attributes))])
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


def require_tools(board: str | Board) -> None:
    """Check whether the tools and packages for `build_board` are installed.

    Raises:
        BuildError: a tool or amaranth-boards is missing.
    """
    board = find_board(board) if isinstance(board, str) else board
    try:
        _platform(board)
        for tool in flow_of(board).tools:
            find_tool(tool)
    except ToolError as error:
        raise BuildError(f"{board.name}: {error}") from None


def obstacle(board: Board) -> str:
    """Why no bitstream can be built for a board; empty where it can."""
    if board.obstacle:
        return board.obstacle
    if board.family not in FLOWS:
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
    if board.family in FLOWS:
        toolchain = FLOWS[board.family].place_and_route
    return {"toolchain": toolchain, "clock_mhz": clock, "uart": ",".join(board.uart or [uart])}


def _platform(board: Board) -> Any:
    platform = board.create_platform()
    if not hasattr(platform, "prepare"):
        raise InvalidArgumentError(f"{board.name}: {board.platform!r} is not a platform of Amaranth for an FPGA")
    return platform


def _device(platform: Any) -> str:
    """The part and its package."""
    return f"{platform.device}-{platform.package}" if getattr(platform, "device", None) else str(platform.part)


def _packages() -> dict[str, str]:
    versions = {}
    for package in ("amaranth", "amaranth-boards"):
        with suppress(PackageNotFoundError):  # A board outside the catalogue may not need amaranth-boards.
            versions[package] = version(package)
    return versions
