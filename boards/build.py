# SPDX-License-Identifier: BSD-2-Clause
"""Builds the bitstream for a board with tools installed by pip, and a report with the tools' figures."""

from __future__ import annotations

import hashlib
import json
import logging
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth.build import Attrs, Pins, Resource, Subsignal
from amaranth.build.run import BuildPlan

from utf8fpga.boards.catalog import Board, find_board
from utf8fpga.boards.flows import LOG, NAME, SYNTHESIS_LOG, Flow, flow_of
from utf8fpga.boards.forms import FORMS
from utf8fpga.boards.self_test import FAST_CLOCK, SelfTest, fastest_setting
from utf8fpga.boards.top import DIVIDED_CLOCK, BoardTop
from utf8fpga.boards.uart_core import UartCore
from utf8fpga.hdl.toolchain import ToolError, find_tool, present_version, run_tool
from utf8fpga.hdl.uart import uart_divisor
from utf8fpga.model.exceptions import InvalidArgumentError, UserError

BAUDS = (1_000_000, 500_000, 230_400, 115_200, 57_600)
"""The speeds that a build chooses from."""

SELF_TEST_MHZ = 260
"""The clock of a self-test that is tried first, at the limit of the clock networks."""

_logger = logging.getLogger(__name__)


class TimingError(ToolError):
    """A clock was missed.

    Args:
        reached_mhz: what it reaches.
        log: the log of place and route.
    """

    def __init__(self, reached_mhz: float, required_mhz: float, log: Path) -> None:
        super().__init__(
            f"timing is not met: {reached_mhz:.2f} MHz reached, {required_mhz:.10g} MHz required "
            f"(another seed may help); see {log}"
        )
        self.reached_mhz = reached_mhz


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
        program: the command that programs the board with the bitstream; empty where none is known.
        seed: the seed of place and route.
        logic_cells, logic_cells_available: see `Flow` for what they are in each family.
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
    program: str
    seed: int
    logic_cells: int
    logic_cells_available: int
    fmax_mhz: float
    required_mhz: float
    tools: dict[str, str]

    def __str__(self) -> str:
        tools = ", ".join(f"{name} {number}" for name, number in self.tools.items())
        lines = [
            f"board        {self.board}: {self.device}, UART {self.baud:.10g} baud 8N1, {self.content}",
            f"bitstream    {self.bitstream}",
            f"logic cells  {self.logic_cells} of {self.logic_cells_available}",
            f"clock        {self.fmax_mhz:.2f} MHz reached, {self.required_mhz:.10g} MHz required",
            f"tools        {tools}; seed {self.seed}",
            *([f"program      {self.program}"] if self.program else []),
        ]
        return "\n".join(lines)

    def as_json(self) -> str:
        """The report as JSON, with the attributes' names as keys."""
        return json.dumps(asdict(self), indent=2, default=str)


def build_board(
    board: str | Board,
    directory: Path,
    form: str = "words",
    *,
    baud: float | None = None,
    seed: int = 1,
) -> BuildReport:
    """Build the bitstream of `UartCore` for a board.

    Writes ``<board>.bin``, ``.bit`` or ``.fs`` and the report ``<board>.json``, which contains the digest of the
    bitstream. Both are written only if the build succeeds; otherwise those of an earlier build are unchanged. Logs and
    netlists of the last build are in the folder ``<board>``. Equal arguments and versions of the tools give identical
    bitstreams. The clock of a board that is too fast for its family is divided.

    Args:
        board: a name in the catalogue, or a board that is not in it.
        directory: the folder for the files; created if it does not exist.
        form: the form of the output, one of `FORMS`.
        baud: bits per second; see `uart_divisor` for the limits; default: the fastest of `BAUDS` that the clock allows.
        seed: the seed of place and route, at least 0; the clock frequency varies by about 5% with it.

    Raises:
        InvalidArgumentError: the baud rate is not possible with the board's clock, or no tools can build for it.
        ToolError: a tool is missing or fails, the design misses the board's clock, or amaranth-boards is not installed.
        OSError: the directory cannot be written.
    """
    job = _Job(board, directory, seed)
    divide = 1
    while job.board_hz / divide > job.flow.most_mhz * 1e6:
        divide *= 2
    clock_hz = job.board_hz / divide
    speed = baud or _fastest(clock_hz)
    circuit = UartCore(clock_hz, speed, FORMS[form])
    return job.build(circuit, f"{form}, {FORMS[form].core.name}", speed, clock_hz, divide)


def build_self_test(board: str | Board, directory: Path, *, baud: float | None = None, seed: int = 1) -> BuildReport:
    """Build the bitstream of `SelfTest` for a board, with the highest clock that the tools report as met.

    The names of the files are ``<board>-self-test.bin`` and so on.

    Args and Raises: see `build_board`.
    """
    job = _Job(board, directory, seed, "-self-test")
    speed = baud or _fastest(job.board_hz)
    most_mhz: float = SELF_TEST_MHZ
    while True:
        setting = fastest_setting(job.board.family, job.board_hz, most_mhz * 1e6)
        _logger.info("%s: a self-test at %.10g MHz", job.board.name, setting.hz / 1e6)
        circuit = SelfTest(job.board_hz, speed, job.board.family, setting)
        try:
            return job.build(circuit, "self-test", speed, setting.hz)
        except TimingError as error:
            most_mhz = min(error.reached_mhz, setting.hz / 1e6 - 1)


class _Job:
    """Builds for a board. The arguments are those of `build_board`, and what follows the board in names of files."""

    def __init__(self, board: str | Board, directory: Path, seed: int, suffix: str = "") -> None:
        self.board = find_board(board) if isinstance(board, str) else board
        require_tools(self.board)
        self.flow: Flow = flow_of(self.board)
        self.board_hz = float(self.board.create_platform().default_clk_frequency)
        self._folder, self._seed = directory / f"{self.board.name}{suffix}", seed

    def build(self, circuit: Any, content: str, baud: float, clock_hz: float, divide: int = 1) -> BuildReport:
        """Build a circuit with the ports of `UartCore`.

        Args:
            clock_hz: the clock of the core.
            divide: the number by which the clock of the board is divided.
        """
        platform = self.board.create_platform()
        resource = _add_uart(platform, self.board.uart, self.flow) if self.board.uart else ("uart", 0)
        top = BoardTop(circuit, self.board.leds, resource, divide)
        # Timing is checked with the report, for an error message with the frequency.
        options = f"--seed {self._seed} --report {NAME}.report.json --timing-allow-fail"
        if self.board.family in ("gowin", "gatemate"):
            options += f" --freq {clock_hz / 1e6:.6f}"
        # Without the sources, the input of the tools has no paths of this machine.
        plan = platform.prepare(top, NAME, emit_src=False, nextpnr_opts=options)
        shutil.rmtree(self._folder, ignore_errors=True)
        plan.extract(self._folder)
        self._run_tools(plan)
        figures, clocks = self.flow.figures(self._folder)
        fmax_mhz = self._check_timing(clocks, clock_hz)
        figures |= {"baud": baud, "content": content, "required_mhz": clock_hz / 1e6, "fmax_mhz": fmax_mhz}
        return self._publish(platform, figures)

    def _run_tools(self, plan: BuildPlan) -> None:
        steps = (("synthesis", SYNTHESIS_LOG), ("place and route", LOG), ("packing", ""))
        for (tool, arguments), (doing, log) in zip(self.flow.commands(plan).items(), steps, strict=True):
            _logger.info("%s: %s (%s)", self.board.name, doing, tool)
            try:
                run_tool(tool, arguments, directory=self._folder)
            except ToolError as error:
                raise ToolError(f"{error}; see {self._folder / log}") from None

    def _check_timing(self, clocks: Mapping[str, float], clock_hz: float) -> float:
        """Check that each clock is fast enough; returns what that of the core reaches, in MHz."""
        board_mhz, core_mhz = self.board_hz / 1e6, clock_hz / 1e6
        of_core = {name: mhz for name, mhz in clocks.items() if DIVIDED_CLOCK in name or FAST_CLOCK in name}
        if not clocks or (core_mhz != board_mhz and not of_core):
            raise ToolError(f"the report has no figure for the clock of the core; see {self._folder / LOG}")
        for name, reached in clocks.items():
            required = core_mhz if name in of_core else board_mhz
            if reached < required:
                raise TimingError(reached, required, self._folder / LOG)
        return min((of_core or clocks).values())

    def _publish(self, platform: Any, figures: Mapping[str, Any]) -> BuildReport:
        """Move the bitstream to its place, and write the report beside it."""
        board, packed = self.board, self._folder / f"{NAME}.{self.flow.suffix}"
        bitstream = self._folder.parent / f"{self._folder.name}{packed.suffix}"
        versions = {tool: present_version(tool) for tool in self.flow.tools[:2]}
        report = BuildReport(
            board=board.name,
            device=f"{platform.device}-{platform.package}" if hasattr(platform, "device") else platform.part,
            bitstream=bitstream,
            sha256=hashlib.sha256(packed.read_bytes()).hexdigest(),
            program=shlex.join(board.programming(bitstream)),
            seed=self._seed,
            tools=versions | {package: version(package) for package in ("amaranth", "amaranth-boards")},
            **figures,
        )
        packed.replace(bitstream)
        bitstream.with_suffix(".json").write_text(f"{report.as_json()}\n", encoding="utf-8")
        return report


def _fastest(clock_hz: float) -> float:
    """The fastest of the usual speeds for a clock."""
    for baud in BAUDS:
        with suppress(InvalidArgumentError):
            uart_divisor(clock_hz, baud)
            return baud
    raise InvalidArgumentError(f"no usual speed is possible with a clock of {clock_hz / 1e6:g} MHz: specify --baud")


def _add_uart(platform: Any, pins: tuple[str, str], flow: Flow) -> tuple[str, int]:
    """Add a UART at these pins to the platform; returns its name and number."""
    rx, tx = (_pin(pin, direction) for pin, direction in zip(pins, "io", strict=True))
    attributes = Attrs(**dict([flow.pin]))
    platform.add_resources([Resource("host_uart", 0, Subsignal("rx", rx), Subsignal("tx", tx), attributes)])
    return "host_uart", 0


def _pin(text: str, direction: str) -> Pins:
    """A pin by its name, or as ``connector_number:pin``."""
    connector, colon, pin = text.rpartition(":")
    name, _, number = connector.rpartition("_")
    return Pins(pin, dir=direction, conn=(name, int(number)) if colon else None, assert_width=1)


def require_tools(board: Board) -> None:
    """Check whether the tools and packages for `build_board` are installed.

    Raises:
        ToolError: a tool or amaranth-boards is missing.
    """
    flow = flow_of(board)
    board.create_platform()
    for tool in flow.tools:
        find_tool(tool)


def obstacle(board: Board) -> str:
    """Why no bitstream can be built here for a board; empty where it can."""
    try:
        require_tools(board)
    except UserError as error:
        return str(error).removeprefix(f"board {board.name} cannot be built: ")
    return ""


def require_programmer(board: Board) -> None:
    """Check whether the program that loads a bitstream into a board is installed.

    Raises:
        ToolError: it is missing.
        InvalidArgumentError: none is known.
    """
    if not board.program:
        raise InvalidArgumentError(f"no program is known that loads bitstreams into {board.name}: leave out --program")
    program = board.programming(Path())[0]
    if shutil.which(program) is None:
        raise ToolError(f"{program}, which loads the bitstream, is not installed: docs/boards.md says how to get it")


def program_board(board: Board, bitstream: Path) -> None:
    """Load a bitstream into a board."""
    command = board.programming(bitstream)
    if status := subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode:
        raise ToolError(f"{shlex.join(command)} failed with status {status}: check that the board is connected")
