# SPDX-License-Identifier: BSD-2-Clause
"""The catalogue, and bitstreams built with the real tools and with stand-ins; no board is needed."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import pkgutil
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.build.run import LocalBuildProducts
from amaranth.hdl import Fragment
from amaranth.lib.io import SimulationPort
from support.benches import run_benches
from support.builds import STAND_INS, Built, needs_tools, stand_in_tools
from support.oracle import refusal
from test_uart import frame, frames, line

from utf8fpga.boards.build import (
    _add_uart,
    build_board,
    build_self_test,
    program_board,
    require_programmer,
)
from utf8fpga.boards.catalog import BOARDS, SIGNALS, Board
from utf8fpga.boards.flows import FLOWS
from utf8fpga.boards.top import BoardTop
from utf8fpga.boards.uart_core import UartCore
from utf8fpga.hdl import axi_verilog, decoder_core
from utf8fpga.hdl.toolchain import ToolError, run_yosys

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
FakeTool = Callable[[str, str], None]
PAGE = (Path(__file__).parents[2] / "docs" / "boards.md").read_text(encoding="utf-8")
BUILDABLE = [board for board in BOARDS.values() if board.family in FLOWS and not board.obstacle]

# The catalogue


@pytest.mark.smoke
def test_the_catalog_has_every_platform_and_45_boards_can_be_built() -> None:
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
    assert len(BUILDABLE) == 45
    assert "\n45 boards can be built" in PAGE
    with_extras = sum(board.family in ("ice40", "ecp5") for board in BUILDABLE)
    assert f"{with_extras} of them with the extra `boards`" in README


@pytest.mark.parametrize("board", BUILDABLE, ids=lambda board: board.name)
def test_a_row_of_the_catalog_agrees_with_its_platform(board: Board) -> None:
    platform = board.create_platform()
    assert set(board.leds) <= set(SIGNALS)
    assert all(f"\n| `{program}` | " in PAGE for program in shlex.split(board.program)[:1])
    assert (getattr(platform, "device", None) or platform.part).removeprefix("iCE40") in board.device
    assert board.family == ("gowin" if platform.family.startswith("GW") else platform.family.lower())
    assert (("uart", 0) in platform.resources) is (board.uart is None)
    # Each command is the one that the platform itself would run.
    assert [shlex.split(board.program)] == (commands_of(platform, board) or [[]])


class _Products(LocalBuildProducts):
    """The files of a build, by the places that a command of the catalogue has for them."""

    def __init__(self, suffix: str) -> None:
        self._suffix = f".{suffix}"

    @contextmanager
    def extract(self, *names: str) -> Iterator[Any]:
        found = ["{bitstream}" if name.endswith(self._suffix) else f"{{folder}}/{name}" for name in names]
        yield found[0] if len(found) == 1 else found


def commands_of(platform: Any, board: Board) -> list[list[str]]:
    """The commands with which a platform of amaranth-boards loads a bitstream, which are not run."""
    if board.platform.startswith("utf8fpga."):
        return [shlex.split(board.program)]
    recorded: list[list[str]] = []
    with pytest.MonkeyPatch.context() as patch, suppress(NotImplementedError):
        for name in ("ICEPROG", "OPENFPGALOADER", "OPENOCD", "DFU_UTIL"):
            patch.delenv(name, raising=False)
        for name in ("check_call", "run"):
            patch.setattr(
                subprocess, name, lambda command, **_options: recorded.append([str(each) for each in command])
            )
        platform.toolchain_program(_Products(FLOWS[board.family].suffix), "top")
    return recorded


@pytest.mark.parametrize("name", ["versa-ecp5", "supercon19badge", "upduino-v3", "butterstick", "icesugar-nano"])
def test_platforms_with_peculiarities_are_prepared(name: str) -> None:
    # A clock without a reset, options that are passed twice, an RGB LED, pins of connectors, one LED.
    board = BOARDS[name]
    platform = board.create_platform()
    uart = _add_uart(platform, board.uart, FLOWS[board.family]) if board.uart else ("uart", 0)
    top = BoardTop(UartCore(4e6, 1e6), board.leds, uart, 2)
    assert "--seed 1" in platform.prepare(top, "top", emit_src=False, nextpnr_opts="--seed 1").files["build_top.sh"]


# Real builds

# Those of the schematic of the board, whose first LED is red, and the second green.
PINS = {"uart_0__rx": "6", "uart_0__tx": "9", "led_0": "11", "led_1": "37", "clk12_0": "35"}


@pytest.mark.smoke
def test_report_files_and_pins_of_a_build(shared_build: Callable[[str], Built]) -> None:
    built = shared_build("icebreaker")
    report, log = built.report, built.work_file("top.tim")
    [(used, available)] = re.findall(r"^Info:\s+ICESTORM_LC:\s+(\d+)/\s*(\d+)", log, re.MULTILINE)
    assert (report.logic_cells, report.logic_cells_available) == (int(used), int(available))
    *_, (reached, verdict) = re.findall(r"Max frequency for clock '\S+': ([\d.]+) MHz \((PASS|FAIL)", log)
    assert (verdict, f"{report.fmax_mhz:.2f}") == ("PASS", reached)
    assert (report.required_mhz, report.device) == (12, "iCE40UP5K-SG48")
    assert built.work_file("top.json").count('"type": "SB_RAM40_4K"') == 5, "2048 entries of 9 bits"
    assert list(report.tools) == ["yosys", "nextpnr-ice40", "amaranth", "amaranth-boards"]
    figures = (report.logic_cells, f"{report.fmax_mhz:.2f} MHz", report.bitstream)
    assert all(str(figure) in str(report) for figure in figures)

    assert {path.name for path in built.directory.iterdir()} == {"icebreaker", "icebreaker.json", "icebreaker.bin"}
    content = built.bitstream.read_bytes()
    assert content.startswith(bytes.fromhex("ff0000ff7eaa997e")), "comments, then the preamble"
    assert report.sha256 == hashlib.sha256(content).hexdigest()
    assert (built.directory / "icebreaker.json").read_text(encoding="utf-8") == report.as_json() + "\n"
    assert dict(re.findall(r"^set_io (\S+)__io (\S+)$", built.work_file("top.pcf"), re.MULTILINE)) == PINS
    cell = r"^  cell \\top.led_(\w+) .*?connect \\led_(\d)__io .*?^  end"
    leds = re.findall(cell, built.work_file("top.il"), re.MULTILINE | re.DOTALL)
    assert sorted(leds) == [("activity", "1"), ("error", "0")]


SOME_BOARDS = [
    *("icebreaker", "ulx3s-85f", "tang-nano-9k", "machxo2-1200ze-breakout", "upduino-v3"),
    *("crosslink-nx-evn", "gatemate-a1-evb"),
]
"""A board of each family, and one with a divided clock."""


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


@pytest.mark.build
def test_no_block_ram_of_an_ecp5_has_an_output_reset_from_logic(shared_build: Callable[[str], Built]) -> None:
    """On real chips such an output reads zero."""
    core = axi_verilog(decoder_core(lanes=16))
    script = "read_verilog core.v; synth_ecp5 -top utf8_decoder; write_json core.json"
    netlists = [*run_yosys(script, {"core.v": core}, "core.json"), shared_build("ulx3s-85f").work_file("top.json")]
    cells = [cell for text in netlists for module in json.loads(text)["modules"].values() for cell in _cells(module)]
    memories = [cell["connections"] for cell in cells if cell["type"] == "DP16KD"]
    assert memories
    assert all(memory[port][0] in ("0", "x") for memory in memories for port in ("RSTA", "RSTB"))


def _cells(module: Any) -> list[Any]:
    """The cells of a module of a netlist, but not of a model of a cell."""
    return [] if "blackbox" in module["attributes"] else list(module["cells"].values())


# Clocks, LEDs and pins


def test_pins_of_a_connector_are_those_of_the_uart(tmp_path: Path, fake_tool: FakeTool) -> None:
    # Pins 1 and 2 of PMOD 1 are P0 and P2 of the board's edge, at the pins 47 and 48 of the FPGA.
    build_board("icebreaker-bitsy", tmp_path)
    constraints = (tmp_path / "icebreaker-bitsy" / "top.pcf").read_text(encoding="utf-8")
    assert "set_io host_uart_0__rx__io 47\n" in constraints
    assert "set_io host_uart_0__tx__io 48\n" in constraints
    assert (tmp_path / "icebreaker-bitsy" / "top.il").read_text(encoding="utf-8").count("SB_LVCMOS") >= 2


def test_a_clock_that_is_too_fast_for_the_family_is_divided(tmp_path: Path, fake_tool: FakeTool) -> None:
    report = build_board("upduino-v3", tmp_path)
    # 48 MHz; a quarter is the first power of two below 16 MHz, and a bit of 1 Mbaud has 12 cycles.
    assert "set_frequency divided_clock 12.0\n" in (tmp_path / "upduino-v3" / "top.pcf").read_text(encoding="utf-8")
    assert (report.required_mhz, report.baud) == (12.0, 1_000_000)
    fake_tool("nextpnr-ice40", STAND_INS["nextpnr-ice40"].replace("net=divided_clock_", "net=clk"))
    message = refusal(ToolError, build_board, "upduino-v3", tmp_path)
    assert message == f"the report has no figure for the clock of the core; see {tmp_path}/upduino-v3/top.tim"


def test_a_self_test_has_its_own_files_and_a_clock_that_is_reached(tmp_path: Path, fake_tool: FakeTool) -> None:
    build_board("icebreaker", tmp_path)
    fake_tool("nextpnr-ice40", STAND_INS["nextpnr-ice40"].replace("net=clk", "net=fast_clk"))
    # The tools report 50 MHz: 12 MHz times 66, over 16.
    assert build_self_test("icebreaker", tmp_path).required_mhz == 49.5
    assert {path.name for path in tmp_path.glob("*.bin")} == {"icebreaker.bin", "icebreaker-self-test.bin"}


class SimulatedPlatform:
    """The part of a platform that the top module uses, with some LEDs or one of three colours."""

    def __init__(self, leds: int, *, is_rgb: bool = False) -> None:
        self.uart = SimpleNamespace(rx=SimulationPort("i", 1), tx=SimulationPort("o", 1))
        self.leds = [SimulationPort("o", 1) for _ in range(leds)]
        self.rgb = SimpleNamespace(**{colour: SimulationPort("o", 1) for colour in "rgb"})
        self.resources = {("rgb_led", 0)} if is_rgb else {("led", number) for number in range(leds)}
        self.default_clk_frequency = 8000

    def add_clock_constraint(self, _clock: Any, frequency: float) -> None:
        assert frequency == 4000

    def request(self, name: str, number: int, **_options: Any) -> Any:
        return {"uart": self.uart, "rgb_led": self.rgb}.get(name) or self.leds[number]


@pytest.mark.parametrize(
    ("names", "leds", "divide", "expected"),
    [
        # For each event the LEDs that are lit: a byte is received; a frame is damaged; after an overflow.
        (SIGNALS, 8, 1, ["a", "e", "o"]),
        (SIGNALS, 8, 2, ["a", "e", "o"]),
        (SIGNALS, 2, 1, ["a", "e", "e"]),
        (SIGNALS, 1, 1, ["a", "", ""]),
        (("error", "activity"), 2, 1, ["a", "e", "e"]),
        (SIGNALS, 0, 1, ["", "", ""]),
        (SIGNALS, "rgb", 1, ["g", "r", "b"]),
    ],
)
def test_leds_of_boards(names: tuple[str, ...], leds: Any, divide: int, expected: list[str]) -> None:
    platform = SimulatedPlatform(0, is_rgb=True) if leds == "rgb" else SimulatedPlatform(leds)
    lamps = vars(platform.rgb) if leds == "rgb" else dict(zip(names, platform.leds, strict=False))
    top = Fragment.get(BoardTop(UartCore(4000, 1000, depth=4), names, divide=divide), platform)
    events = [frame(0x41), [*frame(0xFF, stop=0), (1, 1)], [*frames(b"A" * 22), (1, 600)]]
    shown = []

    async def testbench(ctx: Any) -> None:
        for event in events:
            for level in line(event, 4 * divide):
                ctx.set(platform.uart.rx.i, level)
                await ctx.tick()
            shown.append("".join(sorted(name[0] for name, led in lamps.items() if ctx.get(led.o))))

    run_benches(top, testbench)
    assert shown == expected


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


NO_REPORT = "nextpnr-ice40 wrote no valid report: "
TOO_SLOW = "timing is not met: 11.90 MHz reached, 12 MHz required (another seed may help); see FOLDER/top.tim"
SILENT = "failed with status 1: it printed nothing"


@pytest.mark.parametrize(
    ("tool", "script", "message"),
    [
        (
            "yosys",
            "echo a; echo 'ERROR: b'; echo c; exit 3",
            "yosys failed with status 3: ERROR: b; see FOLDER/top.rpt",
        ),
        ("yosys", "echo a > top.rpt; exit 1", f"yosys {SILENT}; see FOLDER/top.rpt"),
        ("icepack", "echo a > top.bin; echo b; exit 3", "icepack failed with status 3: b; see FOLDER"),
        # The report of an earlier build, which the test has written, is not used.
        ("nextpnr-ice40", "touch top.asc", NO_REPORT),
        ("nextpnr-ice40", "touch top.asc; echo 'not JSON' > top.report.json", NO_REPORT),
        ("nextpnr-ice40", STAND_INS["nextpnr-ice40"].replace("50.0", "11.9"), TOO_SLOW),
    ],
)
def test_failures_are_reported(tool: str, script: str, message: str, tmp_path: Path, fake_tool: FakeTool) -> None:
    work = tmp_path / "icebreaker"
    build_board("icebreaker", tmp_path)
    (tmp_path / "icebreaker.json").unlink()
    (tmp_path / "icebreaker.bin").write_bytes(b"older")
    fake_tool(tool, script)
    with pytest.raises(ToolError) as error:
        build_board("icebreaker", tmp_path)
    assert (tmp_path / "icebreaker.bin").read_bytes() == b"older"
    assert not (tmp_path / "icebreaker.json").exists()
    assert (work / "top.asc").exists() == (tool != "yosys"), "no file of the earlier build is left"
    found = str(error.value).replace(str(work), "FOLDER")
    assert found == message or (message is NO_REPORT and found.startswith(message))


def test_programming_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bitstream, loader = tmp_path / "icebreaker.bin", tmp_path / "iceprog"
    monkeypatch.setenv("PATH", str(tmp_path))
    board = replace(BOARDS["icebreaker"], program="iceprog {bitstream} {folder}/top.svf")
    message = "iceprog, which loads the bitstream, is not installed: docs/boards.md says how to get it"
    assert refusal(ToolError, require_programmer, board) == message
    loader.write_text('#!/bin/sh\necho "$@" > "$0.arguments"\n', encoding="utf-8")
    loader.chmod(0o755)
    require_programmer(board)
    program_board(board, bitstream)
    arguments = f"{bitstream} {tmp_path}/icebreaker/top.svf"
    assert (tmp_path / "iceprog.arguments").read_text(encoding="utf-8") == f"{arguments}\n"
    loader.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    message = f"iceprog {arguments} failed with status 3: check that the board is connected"
    assert refusal(ToolError, program_board, board, bitstream) == message
    message = "no program is known that loads bitstreams into upduino-v1: leave out --program"
    assert refusal(ValueError, require_programmer, BOARDS["upduino-v1"]) == message
