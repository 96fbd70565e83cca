# SPDX-License-Identifier: BSD-2-Clause
"""Measurements with stand-ins for the tools: figures, tables, the plot and the command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.command import utf8fpga
from support.processes import run
from support.programs import write_program

from utf8fpga.bench import measure as measuring
from utf8fpga.bench import tables
from utf8fpga.bench.design import Design, circuit_digest
from utf8fpga.bench.measure import DEVICES, Figure, Point, measure
from utf8fpga.bench.plot import drawn_digest, lanes_plot, plotted_lines
from utf8fpga.hdl import DecoderParameters, axi_rtlil, build

HX8K, UP5K, ECP5, ECP5_8 = DEVICES.values()

VERILOG = "module counter(input clk, input up, output reg q);\nalways @(posedge clk) q <= q ^ up;\nendmodule\n"
COUNTER = Design("counter", (("core.v", VERILOG),), "counter", "clk", (("up", 1),), (("q", 1),), bytes_per_clock=0.5)
POINT = Point(COUNTER, HX8K, 3)

# Stand-ins for the tools.
_START = """
import os, sys
if "--version" in sys.argv:
    print("{tool} {version}"); sys.exit()
"""
_YOSYS = """
if "write_json ports.json" in sys.argv[-1]:
    ports = '"%s": {{"direction": "%s", "bits": [0]}}'
    ports = ", ".join(ports % each for each in (("clk", "input"), ("up", "input"), ("q", "output")))
    with open("ports.json", "w") as file:
        module = '{{"attributes": {{"top": "1"}}, "ports": {{%s}}, "cells": {{}}}}' % ports
        file.write('{{"modules": {{"counter": %s}}}}' % module)
    sys.exit()
with open("netlist.json", "w") as file:
    file.write('{{"modules": {{"m": {{"attributes": {{"top": "1"}}, "cells": '
               '{{"a": {{"type": "SB_LUT4"}}, "b": {{"type": "SB_LUT4"}}, "c": {{"type": "SB_DFFE"}}%s}}}}}}}}'
               % (', "d": {{"type": "SB_CARRY"}}' if {carry} and "-nocarry" not in sys.argv[-1] else ""))
"""
_NEXTPNR = """
with open("netlist.json") as file: has_carry = "SB_CARRY" in file.read()
if "--pack-only" in sys.argv:
    print("Info: ICESTORM_LC:    %d/ 7680" % (18 if has_carry else 17))
else:
    {body}
    reached = {{"1": 250.25, "2": 312.5, "3": 284.0}}[sys.argv[sys.argv.index("--seed") + 1]]
    if has_carry: reached += 5
    print("Info: Max frequency for clock 'clk': 999.75 MHz (PASS at 400.00 MHz)")
    print("Info: Routing..")
    print("Info: Max frequency for clock 'clk': %s MHz (FAIL at 400.00 MHz)" % reached)
"""
FULL = "if '--up5k' in sys.argv: print('ERROR: Unable to place cell, no BELs remaining'); sys.exit(1)"
NO_ROOM = "nextpnr-ice40 failed with status 1: ERROR: Unable to place cell, no BELs remaining"


class FakeTools:
    """Yosys and nextpnr-ice40 as scripts."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.setenv("YOSYS", str(folder / "yosys"))
        monkeypatch.setenv("NEXTPNR_ICE40", str(folder / "nextpnr-ice40"))
        self.install()

    def install(self, *, body: str = "pass", carry: bool = False) -> None:
        for tool, version, text in (("yosys", "1.0", _YOSYS), ("nextpnr-ice40", "2.0", _NEXTPNR)):
            given = {"tool": tool, "version": version, "body": body, "carry": carry}
            write_program(self.folder / tool, (_START + text).format_map(given))


@pytest.fixture
def tools(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> FakeTools:
    return FakeTools(tmp_path_factory.mktemp("bin"), monkeypatch)


def measured(*points: Point) -> list[Any]:
    with ThreadPoolExecutor(2) as threads:
        return list(measure(points, threads))


# Measurements


@pytest.mark.smoke
@pytest.mark.usefixtures("tools")
def test_figure_has_the_area_of_the_core_and_the_median_of_the_seeds() -> None:
    [figure] = measured(POINT)
    assert (figure.cells, figure.luts, figure.flip_flops) == (17, 2, 1)
    assert figure.by_seed == (250.25, 312.5, 284.0), "after routing, not the estimate before it"
    assert (figure.fabric_mhz, figure.usable_mhz, figure.gigabytes_per_second) == (284.0, 275, 0.1375)


def test_figure_has_the_smaller_and_the_faster_netlist_with_or_without_carry_chains(tools: FakeTools) -> None:
    tools.install(carry=True)
    [figure] = measured(POINT)
    assert (figure.cells, figure.by_seed) == (17, (255.25, 317.5, 289.0))


def test_failed_point_is_reported_and_the_others_continue(tools: FakeTools) -> None:
    tools.install(body=FULL)
    other = replace(POINT, seeds=1)
    first, error, last = measured(POINT, replace(POINT, device=UP5K), other)
    assert (first.point, last.point) == (POINT, other)
    assert error == f"counter on up5k: {NO_ROOM}"


# Figures, tables and the plot


def test_the_digest_depends_on_the_logic_and_not_on_names() -> None:
    design = axi_rtlil(build(DecoderParameters()))
    digest = circuit_digest(design)
    assert circuit_digest(re.sub(r"\\(continued|gathered|opens)\b", r"\\\1_renamed", design)) == digest
    assert circuit_digest(re.sub(r"^ +attribute .doc .*\n", "", design, flags=re.MULTILINE)) == digest
    for before, after, count in (
        ("cell $or", "cell $xor", 1),
        ("case 1'1", "case 1'0", 1),
        ("connect \\A \\s_axis_tkeep", "connect \\A \\s_axis_tvalid", 1),
        ("s_axis_tkeep", "s_axis_tkept", -1),
        ("init 1'1", "init 1'0", 1),
    ):
        assert before in design
        assert circuit_digest(design.replace(before, after, count)) != digest, before


def figure(lanes: int, mhz: float, title: str = "parallel, {} lanes", device: measuring.Device = ECP5) -> Figure:
    core = replace(COUNTER, title=title.format(lanes), lanes=lanes, bytes_per_clock=lanes, latency=4, digest="d1")
    return Figure(Point(core, device, 3), 100 * lanes, 77 * lanes, 50 * lanes, (mhz - 1, mhz, mhz + 1.6), "yosys 1.0")


@pytest.mark.parametrize(("device", "limit"), [(HX8K, 275), (UP5K, 185), (ECP5, 257), (ECP5_8, 370)], ids=DEVICES)
def test_usable_clock_is_at_most_that_of_the_clock_network(device: measuring.Device, limit: int) -> None:
    # FPGA-DS-02029 and FPGA-DS-02008, fMAX_GBUF; FPGA-DS-02012-1.9, table 3.22, for speed 8; assumed for speed 6.
    reached = [figure(1, mhz, device=device).usable_mhz for mhz in (limit - 0.5, limit, limit + 0.5)]
    assert reached == [limit - 0.5, limit, limit]
    line = next(line for line in tables.limits_table().splitlines() if line.startswith(f"| {device.title} |"))
    assert line.split(" | ")[1] == str(limit)
    assert ("FPGA-DS-0" in line) == (device.name != "ecp5-85k")


@pytest.mark.smoke
def test_table_of_figures_is_the_same_from_the_csv_file() -> None:
    unknown = replace(figure(1, 120), point=Point(replace(COUNTER, bytes_per_clock=None), HX8K, 3))
    rows = [tables.row_of(each) for each in (figure(64, 280), figure(2, 100.25), unknown)]
    table = tables.figures_table(rows)
    assert table.splitlines()[2:] == [
        "| parallel, 64 lanes | ECP5-85F speed 6 | 6400 | 3200 | 4 | 257 (280) | 3 | 16.45 |",
        "| parallel, 2 lanes | ECP5-85F speed 6 | 200 | 100 | 4 | 100 (100) | 3 | 0.20 |",
        "| counter | iCE40 HX8K | 100 | 50 | - | 120 (120) | 3 | - |",
        "",
        "Latency in cycles. MHz: the usable clock, and in parentheses nextpnr's estimate, the median of the seeds."
        " yosys 1.0.",
    ]
    assert tables.figures_table(tables.read_csv(tables.csv_text(rows))) == table
    assert "| 257 (280) | 1 | 16.45 |" in tables.figures_table([{**rows[0], "seeds": 1}])
    json.dumps(rows)


def test_a_recorded_figure_is_current_while_circuit_device_seeds_and_tools_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = figure(2, 281.5)
    [row] = tables.read_csv(tables.csv_text([tables.row_of(known)]))
    monkeypatch.setattr(tables, "tool_versions", lambda _device: "yosys 1.0")
    assert tables.is_current(row, known.point)
    changed = replace(known.point.core, digest="d2")
    for point in (replace(known.point, **what) for what in ({"core": changed}, {"device": HX8K}, {"seeds": 5})):
        assert not tables.is_current(row, point)
    monkeypatch.setattr(tables, "tool_versions", lambda _device: "yosys 1.0.post1")
    assert not tables.is_current(row, known.point)


PLOTTED = [tables.row_of(figure(lanes, 260 - lanes)) for lanes in (64, 1, 4)]
PLOTTED += [tables.row_of(each) for each in (figure(4, 240, "validator"), figure(4, 240, device=HX8K))]


def test_plot_has_a_line_for_each_kind_of_core_with_several_points() -> None:
    # 257 MHz are usable of 259; 256 and 196 MHz are reached.
    assert plotted_lines(PLOTTED) == {"parallel": [(1, 0.257), (4, 1.024), (64, 12.544)]}


def test_plot_file_has_the_digest_and_is_reproducible() -> None:
    pytest.importorskip("matplotlib", reason="requires the extra 'plots'")
    code = "import sys, json; from utf8fpga.bench.plot import lanes_plot; "
    code += "sys.stdout.buffer.write(lanes_plot(json.load(sys.stdin)))"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "LANG": "C"}
    given = json.dumps(PLOTTED).encode()
    done = run([sys.executable, "-c", code], input=given, stdout=subprocess.PIPE, env=environment, check=True)
    first, second = lanes_plot(PLOTTED).decode(), done.stdout.decode()
    ElementTree.fromstring(first)
    assert "prefers-color-scheme:dark" in first
    assert f"<dc:description>{drawn_digest(PLOTTED)}</dc:description>" in first
    assert "<dc:date>" not in first
    # Only the last digits of coordinates may differ.
    number = r"(?<![\w#])-?\d+(\.\d+)?"
    assert re.sub(number, "0", first) == re.sub(number, "0", second)


# The command


def bench(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    done = utf8fpga("bench", *arguments, **options)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.usefixtures("tools")
def test_the_command_measures_a_core() -> None:
    done = bench("--device", "hx8k", "--seeds", "3", "--json")
    assert (done.stderr, done.returncode) == ("", 0)
    [row] = json.loads(done.stdout)
    figures = (row["core"], row["cells"], row["fabric_mhz"], row["usable_mhz"], row["gigabytes_per_second"])
    assert figures == ("", 17, 284.0, 275, 0.275)
    assert row["tools"].endswith("yosys 1.0, nextpnr-ice40 2.0")


@pytest.mark.usefixtures("tools")
def test_an_interrupted_record_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = [replace(POINT, core=replace(COUNTER, title=name, digest=name, core=name)) for name in ("a", "b")]
    monkeypatch.setattr(tables, "recorded_points", lambda: points)
    file = tmp_path / "bench" / "results" / "figures.csv"
    file.parent.mkdir(parents=True)
    asked: list[list[str]] = []

    def interrupted(chosen: list[Point], executor: Any) -> Iterator[Any]:
        asked.append([point.core.title for point in chosen])
        yield from measure(chosen[:1], executor)
        raise KeyboardInterrupt

    monkeypatch.setattr("utf8fpga.cli.bench.measure", interrupted)
    file.write_text("")
    assert [bench("--record", tmp_path).returncode for _ in range(2)] == [130, 130]
    assert asked == [["a", "b"], ["b"]]
    assert [row["core"] for row in tables.read_csv(file.read_text())] == ["a", "b"]


def test_a_missing_tool_is_reported_before_synthesis(tools: FakeTools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEXTPNR_ICE40", str(tools.folder / "none"))
    write_program(tools.folder / "yosys", "import sys\nprint('1.0')\nsys.exit('--version' not in sys.argv)")
    [error] = measured(POINT)
    assert "NEXTPNR_ICE40" in error


@pytest.mark.usefixtures("tools")
def test_the_command_measures_a_core_of_others_beside_it(tmp_path: Path) -> None:
    (tmp_path / "counter.v").write_text(VERILOG)
    (tmp_path / "ports.toml").write_text("bytes_per_clock = 0.5\nlanes = 1\n")
    files = ["--against", tmp_path / "counter.v", "--top", "counter", "--ports", tmp_path / "ports.toml"]
    done = bench("--device", "hx8k", "--optimize", "area", "--seeds", "2", "--json", *files)
    assert (done.stderr, done.returncode) == ("", 0)
    ours, theirs = json.loads(done.stdout)
    assert (ours["core"], ours["bytes_per_clock"]) == ("--optimize area", 1)
    assert (theirs["title"], theirs["core"], theirs["lanes"], theirs["gigabytes_per_second"]) == (
        "counter",
        "",
        1,
        0.1375,
    )


def test_failed_points_have_exit_status_1(tools: FakeTools) -> None:
    tools.install(body=FULL)
    done = bench("--device", "hx8k", "--device", "up5k", "--seeds", "1", "--optimize", "area")
    assert done.returncode == 1
    failed = f"the first serial, 1 lane, area on up5k: {NO_ROOM}"
    assert done.stderr == f"utf8fpga: 1 of 2 points failed, {failed}\n"
    assert "| iCE40 HX8K | 17 |" in done.stdout
