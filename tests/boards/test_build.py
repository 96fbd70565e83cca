# SPDX-License-Identifier: BSD-2-Clause
"""The catalogue, and bitstreams built with the real tools; no board is needed."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from subprocess import PIPE, STDOUT
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Fragment
from amaranth.lib.io import SimulationPort
from support.benches import run_benches
from support.builds import STAND_INS, Built, needs_tools, stand_in_tools
from support.engines import requires_graph
from support.oracle import refusal
from support.processes import run
from test_uart import frame, frames, line

from utf8fpga.boards.build import BuildError, BuildReport, build_board, facts_of, obstacle, require_tools
from utf8fpga.boards.catalog import BOARDS, Board
from utf8fpga.boards.flows import FLOWS
from utf8fpga.boards.programming import program_board, programming_command, require_programmer
from utf8fpga.boards.top import BoardTop
from utf8fpga.boards.uart_core import UartCore
from utf8fpga.boards.virtual import SimulatedPlatform
from utf8fpga.hdl import DecoderParameters
from utf8fpga.hdl.toolchain import ToolError

FakeTool = Callable[[str, str], None]
BOTH = ["icebreaker", pytest.param("ulx3s-85f", marks=pytest.mark.build)]

FACTS: dict[str, dict[str, Any]] = {
    # The pins are those of the schematics of the boards; the first LED of the iCEBreaker is red, the second green.
    "icebreaker": {
        "tools": ["yosys", "nextpnr-ice40", "icepack"],
        "cells": ("ICESTORM_LC", "ICESTORM_RAM"),
        "block_rams": 5,
        "clock_mhz": 12,
        "device": "iCE40UP5K-SG48",
        "mark": bytes.fromhex("7eaa997e"),
        "constraints": ("top.pcf", r"^set_io (\S+)__io (\S+)$"),
        "pins": {"uart_0__rx": "6", "uart_0__tx": "9", "led_0": "11", "led_1": "37", "clk12_0": "35"},
        "leds": {"0": "error", "1": "activity"},
    },
    "ulx3s-85f": {
        "tools": ["yosys", "nextpnr-ecp5", "ecppack"],
        "cells": ("TRELLIS_COMB", "DP16KD"),
        "block_rams": 1,
        "clock_mhz": 25,
        "device": "LFE5U-85F-BG381",
        "mark": b"Part: LFE5U-85F-6CABGA381\0",
        "constraints": ("top.lpf", r'^LOCATE COMP "(\S+)__io" SITE "(\S+)";$'),
        "pins": {"uart_0__rx": "M1", "uart_0__tx": "L4", "clk25_0": "G2", "led_0": "B2", "led_1": "C2", "led_2": "C1"},
        "leds": {"0": "activity", "1": "error", "2": "overflow"},
    },
}


# Real builds


@pytest.mark.smoke
@pytest.mark.parametrize("board", BOTH)
def test_figures_equal_those_of_the_tools(board: str, shared_build: Callable[[str], Built]) -> None:
    built, facts = shared_build(board), FACTS[board]
    report, log = built.report, built.work_file("top.tim")

    def utilisation(cell: str) -> tuple[int, int]:
        [(used, available)] = re.findall(rf"^Info:\s+{cell}:\s+(\d+)/\s*(\d+)", log, re.MULTILINE)
        return int(used), int(available)

    logic, ram = facts["cells"]
    assert (report.logic_cells, report.logic_cells_available) == utilisation(logic)
    assert (report.block_rams, report.block_rams_available) == utilisation(ram)
    assert report.block_rams == facts["block_rams"], "2048 entries of 9 bits"
    *_, (reached, verdict) = re.findall(r"Max frequency for clock '\S+': ([\d.]+) MHz \((PASS|FAIL)", log)
    assert (verdict, f"{report.fmax_mhz:.2f}") == ("PASS", reached)
    assert report.required_mhz == facts["clock_mhz"]
    netlist = built.work_file("top.json")
    assert report.flip_flops == len(re.findall(r'"type": "(?:SB_DFF\w*|TRELLIS_FF)"', netlist))
    assert report.device == facts["device"]
    assert list(report.tools) == [*facts["tools"][:2], "amaranth", "amaranth-boards"]
    assert all(re.fullmatch(r"\d+(\.\d+)+\S*", number) for number in report.tools.values())
    figures = (report.logic_cells, report.flip_flops, f"{report.fmax_mhz:.2f} MHz", report.bitstream)
    assert all(str(figure) in str(report) for figure in figures)


@pytest.mark.smoke
@pytest.mark.parametrize("board", BOTH)
def test_files_pins_and_progress_of_a_build(board: str, shared_build: Callable[[str], Built]) -> None:
    built, facts = shared_build(board), FACTS[board]
    assert built.report.bitstream == built.bitstream
    assert {path.name for path in built.directory.iterdir()} == {board, f"{board}.json", built.bitstream.name}
    content = built.bitstream.read_bytes()
    assert facts["mark"] in content[:64]
    assert len(content) > 100_000
    written = json.loads((built.directory / f"{board}.json").read_text(encoding="utf-8"))
    assert written == built.report.as_dict()
    assert list(written) == [field.name for field in fields(BuildReport)]
    file, pattern = facts["constraints"]
    assert dict(re.findall(pattern, built.work_file(file), re.MULTILINE)) == facts["pins"]
    cell = r"^  cell \\top.led_(\w+) .*?connect \\led_(\d)__io .*?^  end"
    leds = re.findall(cell, built.work_file("top.il"), re.MULTILINE | re.DOTALL)
    assert {number: name for name, number in leds} == facts["leds"]
    doing = ("synthesis", "place and route", "packing")
    assert built.said == [f"{board}: {what} ({tool})" for what, tool in zip(doing, facts["tools"], strict=True)]


@pytest.mark.usefixtures("fake_tool")
def test_parameters_reach_the_tools(tmp_path: Path) -> None:
    report = build_board("icebreaker", tmp_path, baud=115_200, core=DecoderParameters(optimize="speed"), seed=7)
    assert (report.baud, report.content, report.seed) == (115_200, "words, decoder", 7)
    assert "--seed 7 " in (tmp_path / "icebreaker" / "build_top.sh").read_text(encoding="utf-8")


@pytest.mark.parametrize(("divide", "frequency"), [(1, "27.000000"), (4, "6.750000")])
def test_the_clock_frequency_reaches_a_tool_without_constraints(
    divide: int, frequency: str, tmp_path: Path, fake_tool: FakeTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("utf8fpga.boards.build.require_tools", lambda _: None)
    fake_tool("yosys", "exit 1")
    board = replace(BOARDS["tang-nano-9k"], divide=divide)
    assert "yosys failed with status 1" in refusal(BuildError, build_board, board, tmp_path)
    assert f" --freq {frequency} " in (tmp_path / "tang-nano-9k" / "build_top.sh").read_text(encoding="utf-8")


# The LEDs


@pytest.mark.parametrize(
    ("names", "leds", "expected"),
    [
        # For each event the LEDs that are lit: a byte is received; a frame is damaged; long after an overflow.
        (("activity", "error", "overflow"), 8, ["a", "ae", "o"]),
        (("activity", "error", "overflow"), 2, ["a", "ae", "e"]),
        (("activity", "error", "overflow"), 1, ["a", "a", ""]),
        (("error", "activity"), 2, ["a", "ae", "e"]),
        (("activity", "error", "overflow"), 0, ["", "", ""]),
    ],
)
def test_leds_of_boards(names: tuple[str, ...], leds: int, expected: list[str]) -> None:
    platform = SimulatedPlatform(leds)
    shown = lit_by_events(platform, names, dict(zip(names, platform.leds, strict=False)))
    assert shown == expected


class OneRgbLed(SimulatedPlatform):
    """A platform whose only LED has three colours."""

    def __init__(self) -> None:
        super().__init__(0)
        self.rgb = {colour: SimulationPort("o", 1) for colour in "rgb"}
        self.resources = {("rgb_led", 0)}

    def request(self, name: str, number: int, *, dir: str) -> Any:  # noqa: A002  (the name that Amaranth calls it by)
        return SimpleNamespace(**self.rgb) if name == "rgb_led" else super().request(name, number, dir=dir)


def test_colours_of_an_rgb_led() -> None:
    platform = OneRgbLed()
    shown = lit_by_events(platform, ("activity", "error", "overflow"), platform.rgb)
    assert shown == ["g", "gr", "b"]


def lit_by_events(platform: SimulatedPlatform, names: tuple[str, ...], leds: dict[str, Any]) -> list[str]:
    """The first letters of the LEDs that are lit when a byte is received, a frame is damaged, after an overflow."""
    top = Fragment.get(BoardTop(UartCore(4000, 1000, depth=4), Board("mine", "", "", "", names)), platform)
    events = [frame(0x41), [*frame(0xFF, stop=0), (1, 1)], [*frames(b"A" * 20), (1, 600)]]
    shown = []

    async def testbench(ctx: Any) -> None:
        for event in events:
            for level in line(event, 4):
                ctx.set(platform.uart.rx.i, level)
                await ctx.tick()
            shown.append("".join(sorted(name[0] for name, led in leds.items() if ctx.get(led.o))))

    run_benches(top, testbench)
    return shown


# Builds that fail


@pytest.fixture
def fake_tool(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> FakeTool:
    """Stand-ins for the tools for iCE40; the function replaces the script of one."""
    folder, scripts = tmp_path_factory.mktemp("bin"), dict(STAND_INS)

    def install(tool: str, script: str) -> None:
        scripts[tool] = script
        for variable, program in stand_in_tools(folder, scripts).items():
            monkeypatch.setenv(variable, program)

    install("yosys", STAND_INS["yosys"])
    return install


def fails(directory: Path, board: str | Board = "icebreaker", **options: Any) -> str:
    """The message of a build that fails; checks that the bitstream of an earlier build is unchanged."""
    (directory / "icebreaker.bin").write_bytes(b"older")
    message = refusal(BuildError, build_board, board, directory, **options)
    assert (directory / "icebreaker.bin").read_bytes() == b"older"
    assert not (directory / "icebreaker.json").exists()
    assert not list(directory.glob(".*")), "no working folder is left"
    return message


@pytest.mark.parametrize("tool", STAND_INS)
@pytest.mark.usefixtures("fake_tool")
def test_missing_tool_is_reported(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = tool.upper().replace("-", "_")
    monkeypatch.setenv(variable, "/nonexistent/program")
    message = f"icebreaker: {variable} names '/nonexistent/program', which is not a program"
    assert fails(tmp_path) == message
    assert not (tmp_path / "icebreaker").exists()
    assert refusal(BuildError, require_tools, "icebreaker") == message


def reaching(core: float, board: float | None = None) -> str:
    """A stand-in for place and route with what the core's clock, divided or not, and the board's clock reach."""
    clocks = f'{{"achieved": {core}}}' + (f', "before": {{"achieved": {board}}}' if board else "")
    return STAND_INS["nextpnr-ice40"].replace('{"achieved": 50.0}', clocks)


def not_met(reached: str, required: str) -> str:
    said = f"timing is not met: {reached} MHz reached, {required} MHz required"
    return f"{said} (another seed may help); see FOLDER/top.tim"


NO_CORE_CLOCK = STAND_INS["nextpnr-ice40"].replace("net=divided_clock_", "net=clk")
NO_REPORT = "nextpnr-ice40 wrote no valid report: "
SILENT = "failed with status 1: it printed nothing"


@pytest.mark.parametrize(
    ("tool", "script", "divide", "message"),
    [
        ("yosys", "echo a; echo 'ERROR: b'; echo c; exit 3", 1, "yosys failed with status 3: ERROR: b; see FOLDER"),
        ("yosys", "echo a > top.rpt; exit 1", 1, f"yosys {SILENT}; see FOLDER/top.rpt"),
        ("icepack", "echo a > top.bin; echo b; exit 3", 1, "icepack failed with status 3: b; see FOLDER"),
        ("icepack", "true", 1, "icepack wrote no bitstream; see FOLDER"),
        # The report of an earlier build, which the test has written, is not used.
        ("nextpnr-ice40", "touch top.asc", 1, NO_REPORT),
        ("nextpnr-ice40", "touch top.asc; echo 'not JSON' > top.report.json", 1, NO_REPORT),
        # An eighth of the clock of 12 MHz is not met, and the clock of the board is not.
        ("nextpnr-ice40", reaching(1.49, 50), 1, not_met("1.49", "1.5")),
        ("nextpnr-ice40", reaching(6, 11), 1, not_met("11.00", "12")),
        (
            "nextpnr-ice40",
            NO_CORE_CLOCK,
            2,
            "the report has no figure for the clock of the core; see FOLDER/top.tim",
        ),
    ],
)
def test_failures_are_reported(
    tool: str, script: str, divide: int, message: str, tmp_path: Path, fake_tool: FakeTool
) -> None:
    work = tmp_path / "icebreaker"
    build_board("icebreaker", tmp_path)
    (tmp_path / "icebreaker.json").unlink()
    fake_tool(tool, script)
    found = fails(tmp_path, replace(BOARDS["icebreaker"], divide=divide)).replace(str(work), "FOLDER")
    assert (work / "top.asc").exists() == (tool != "yosys"), "no file of the earlier build is left"
    assert found == f"icebreaker: {message}" or (message is NO_REPORT and found.startswith(f"icebreaker: {message}"))


@pytest.mark.usefixtures("fake_tool")
def test_directory_that_is_a_file(tmp_path: Path) -> None:
    for where in (tmp_path / "file", tmp_path / "file" / "below"):
        (tmp_path / "file").write_text("", encoding="utf-8")
        reason = "Not a directory" if where.name == "below" else "File exists"
        message = f"icebreaker: cannot write '{where}': {reason}"
        assert refusal(BuildError, build_board, "icebreaker", where) == message


def no_clock() -> Any:
    """A platform without a default clock."""
    from amaranth_boards.icebreaker import ICEBreakerPlatform

    platform = ICEBreakerPlatform()
    platform.default_clk = None
    return platform


def own(platform: str, family: str = "ice40") -> Board:
    return Board("mine", platform, family, "mine")


ICESTICK = "amaranth_boards.icestick:ICEStickPlatform"
OTHER_FAMILY = "which is not one of ice40, ecp5, machxo2, gowin, nexus, gatemate"


@pytest.mark.parametrize(
    ("board", "message"),
    [
        (own(ICESTICK, "abacus"), f"board mine has family 'abacus', {OTHER_FAMILY}"),
        (own(f"{__name__}:no_clock"), "mine: its platform has no default clock, which the core needs"),
    ],
)
@pytest.mark.usefixtures("fake_tool")
def test_arguments_are_checked(board: Board, message: str, tmp_path: Path) -> None:
    assert refusal(ValueError, build_board, board, tmp_path / "build") == message
    assert not (tmp_path / "build").exists()


# The catalogue


@pytest.mark.smoke
def test_the_catalog_has_every_platform() -> None:
    import amaranth_boards

    found = set()
    for module in pkgutil.iter_modules(amaranth_boards.__path__):
        if module.ispkg:
            continue
        name = f"amaranth_boards.{module.name}"
        for kind in vars(importlib.import_module(name)).values():
            is_platform = isinstance(kind, type) and hasattr(kind, "resources") and kind.__module__ == name
            if is_platform and not inspect.isabstract(kind):
                found.add(f"{name}:{kind.__name__}")
    own = {"utf8fpga.boards.platforms:CrossLinkNXEvaluationPlatform", "utf8fpga.boards.platforms:GateMateA1EVBPlatform"}
    assert {board.platform for board in BOARDS.values()} == found | own
    assert all(name == board.name == name.lower() for name, board in BOARDS.items())


FAMILIES_OF_AMARANTH = {
    "iCE40": "ice40",
    "ecp5": "ecp5",
    "machxo2": "machxo2",
    "series7": "xilinx",
    "nexus": "nexus",
    "gatemate": "gatemate",
}


def test_the_catalog_agrees_with_the_platforms() -> None:
    for board in BOARDS.values():
        module, _, name = board.platform.partition(":")
        kind = getattr(importlib.import_module(module), name)
        assert set(board.leds) <= {"activity", "error", "overflow"}
        if board.obstacle:
            continue
        platform = kind()
        if board.family not in FLOWS:
            continue
        device = getattr(platform, "device", None) or platform.part
        assert device.removeprefix("iCE40") in board.device, board.name
        assert FAMILIES_OF_AMARANTH.get(platform.family, "gowin") == board.family
        assert (("uart", 0) in platform.resources) is (board.uart is None), board.name


def test_boards_that_cannot_be_built_say_why() -> None:
    assert obstacle(BOARDS["arty-a7-35"]) == "no open tools for xilinx"
    assert obstacle(BOARDS["machxo3l-sk"]) == "nextpnr does not support MachXO3"
    for board in BOARDS.values():
        if not board.obstacle and board.family in FLOWS:
            assert facts_of(board)["uart"], board.name


# Pins, clocks, and programming


@pytest.mark.usefixtures("fake_tool")
def test_pins_of_the_uart(tmp_path: Path) -> None:
    report = build_board("icebreaker", tmp_path, uart=("pmod_0:1", "2"))
    assert report.uart == "pmod_0:1,2"
    constraints = (tmp_path / "icebreaker" / "top.pcf").read_text(encoding="utf-8")
    assert "set_io host_uart_0__rx__io 4\n" in constraints
    assert "set_io host_uart_0__tx__io 2\n" in constraints
    assert (tmp_path / "icebreaker" / "top.il").read_text(encoding="utf-8").count("SB_LVCMOS") == 5


def test_a_clock_is_divided_until_the_timing_is_met(tmp_path: Path, fake_tool: FakeTool) -> None:
    fake_tool("nextpnr-ice40", reaching(4.0, 50.0))
    said: list[str] = []
    report = build_board("icebreaker", tmp_path, say=said.append)
    assert "set_frequency divided_clock 3.0\n" in (tmp_path / "icebreaker" / "top.pcf").read_text(encoding="utf-8")
    assert (report.required_mhz, report.baud) == (3.0, 500_000)
    # The clock of the board reaches 50 MHz.
    assert report.fmax_mhz == 4.0
    assert [line.rpartition("; again ")[2] for line in said if "again" in line] == [
        *("with the clock divided by 2", "with the clock divided by 4")
    ]


def test_a_divided_clock_runs_the_decoder(tmp_path: Path) -> None:
    platform = SimulatedPlatform(3)
    decoder = UartCore(4000, 1000, depth=4)
    platform.default_clk_frequency, platform.add_clock_constraint = 8000, lambda _clock, _frequency: None
    top = Fragment.get(BoardTop(decoder, Board("mine", "", "", ""), divide=2), platform)
    lit = []

    async def testbench(ctx: Any) -> None:
        for level in line(frame(0x41), 8):
            ctx.set(platform.uart.rx.i, level)
            await ctx.tick()
        lit.extend(ctx.get(led.o) for led in platform.leds)

    run_benches(top, testbench)
    assert lit == [1, 0, 0]


@pytest.mark.parametrize("name", ["versa-ecp5", "supercon19badge"])
def test_platforms_with_peculiarities_are_prepared(name: str) -> None:
    # The first has a clock without a reset, the method of the second passes its options twice.
    board = BOARDS[name]
    plan = board.create_platform().prepare(
        BoardTop(UartCore(4e6, 1e6), board, divide=2), "top", emit_src=False, nextpnr_opts="--seed 1"
    )
    assert "--seed 1" in plan.files["build_top.sh"]


# Each line is that of the method `toolchain_program` of the platform.
LINES = {
    "icebreaker": "iceprog OUT/icebreaker.bin",
    "ulx3s-85f": "openFPGALoader -b ulx3s -m OUT/ulx3s-85f.bit",
    "orangecrab-r0-2": "dfu-util '-a 0' -D OUT/orangecrab-r0-2.bit",
    "tang-nano-9k": "openFPGALoader -b tangnano9k OUT/tang-nano-9k.fs",
    "ecp5-5g-evn": "openocd -f OUT/ecp5-5g-evn/top-openocd.cfg -c "
    "'transport select jtag; init; svf -quiet OUT/ecp5-5g-evn/top.svf; exit'",
    "upduino-v1": "",
}


@pytest.mark.parametrize(("name", "expected"), LINES.items(), ids=LINES)
def test_the_command_that_programs_a_board(name: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ICEPROG", "OPENFPGALOADER", "OPENOCD", "DFU_UTIL"):
        monkeypatch.delenv(variable, raising=False)
    board = BOARDS[name]
    suffix = {"ice40": "bin", "gowin": "fs"}.get(board.family, "bit")
    assert programming_command(board.create_platform(), Path("OUT") / f"{name}.{suffix}") == expected


def test_programming_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    platform, bitstream = BOARDS["icebreaker"].create_platform(), tmp_path / "icebreaker.bin"
    loader = tmp_path / "iceprog"
    monkeypatch.setenv("ICEPROG", str(loader))
    message = f"{loader} is not installed, which loads bitstreams into icebreaker: install it"
    assert refusal(ToolError, require_programmer, BOARDS["icebreaker"]) == message
    loader.write_text('#!/bin/sh\necho "$@" > "$0.arguments"\n', encoding="utf-8")
    loader.chmod(0o755)
    program_board(platform, bitstream)
    assert (tmp_path / "iceprog.arguments").read_text(encoding="utf-8") == f"{bitstream}\n"
    loader.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    message = f"{loader} {bitstream} failed with status 3: check that the board is connected"
    assert refusal(ToolError, program_board, platform, bitstream) == message
    message = "the platform UpduinoV1Platform has no command that programs the board"
    assert refusal(ToolError, program_board, BOARDS["upduino-v1"].create_platform(), bitstream) == message


# The page


PAGE = (Path(__file__).parents[2] / "docs" / "boards.md").read_text(encoding="utf-8")


SOME_BOARDS = [
    *("icebreaker", "ulx3s-85f", "tang-nano-9k", "machxo2-1200ze-breakout", "upduino-v3"),
    *("crosslink-nx-evn", "gatemate-a1-evb"),
]
"""A board of each family, and one with a divided clock."""


def test_the_page_counts_the_boards_that_can_be_built() -> None:
    expected = [name for name, board in BOARDS.items() if not board.obstacle and board.family in FLOWS]
    assert f"\n{len(expected)} boards can be built" in PAGE


@pytest.mark.build
@pytest.mark.parametrize("name", SOME_BOARDS)
def test_a_board_of_each_family_is_built(name: str, tmp_path: Path) -> None:
    needs_tools(name)
    report = build_board(name, tmp_path)
    assert report.fmax_mhz >= report.required_mhz
    assert report.sha256 == build_board(name, tmp_path).sha256, "equal arguments give identical bitstreams"


@pytest.mark.build
@pytest.mark.parametrize("board", ["icebreaker", "ulx3s-85f"])
def test_the_page_has_the_digests_of_the_bitstreams(board: str, shared_build: Callable[[str], Built]) -> None:
    report = shared_build(board).report
    if any(number not in PAGE for number in report.tools.values()):
        pytest.skip(f"the page is of other versions than {report.tools}")
    figures = f"{report.logic_cells} | {report.fmax_mhz:.2f}"
    row = f"| {board} | {report.device} | {figures} | `{report.sha256[:16]}` |"
    assert row in PAGE.splitlines()


def without_times(text: str) -> str:
    return re.sub(r"[\d.]+ s, [\d.]+ kB/s", "TIME", text)


@pytest.mark.slow
@requires_graph
def test_the_page_shows_the_session(tmp_path: Path) -> None:
    [session] = re.findall(r"```text\n(\$ printf .*?)```", PAGE, re.DOTALL)
    command = f'utf8fpga() {{ {shlex.join([sys.executable, "-m", "utf8fpga"])} "$@"; }}'
    for shown in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        line, output = shown.split("\n", 1)
        for _ in range(2):  # The first time may report that a model is compiled.
            done = run(["bash", "-c", f"{command}; {line}"], cwd=tmp_path, stdout=PIPE, stderr=STDOUT)
        assert without_times(done.stdout.decode()) == without_times(output), line
