# SPDX-License-Identifier: BSD-2-Clause
"""The figures and the demo's output in the README and the docs are current. The examples are run in test_docs.py."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.builds import Built

from utf8fpga.bench import tables
from utf8fpga.bench.design import measured_core
from utf8fpga.bench.digest import logic_digest
from utf8fpga.bench.jobs import DEVICES, tool_versions
from utf8fpga.bench.plot import drawn_digest
from utf8fpga.bench.sweep import Point, sweep
from utf8fpga.cli import record
from utf8fpga.hdl import DecoderParameters, axi_rtlil
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import TABLE_3_7, ErrorKind, decode
from utf8fpga.model.render import render

CHECKOUT = Path(__file__).parents[2]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
PERFORMANCE = (CHECKOUT / record.PERFORMANCE_FILE).read_text(encoding="utf-8")
FIGURES: dict[str, Any] = json.loads((CHECKOUT / record.FIGURES_FILE).read_text(encoding="utf-8"))
OVER_LANES: dict[str, Any] = json.loads((CHECKOUT / record.SCALING_FILE).read_text(encoding="utf-8"))
CORES: dict[str, Any] = json.loads((CHECKOUT / record.CORES_FILE).read_text(encoding="utf-8"))
SOFTWARE: dict[str, Any] = json.loads((CHECKOUT / record.SOFTWARE_FILE).read_text(encoding="utf-8"))
BY_NAME = {(row["title"], row["device"]): row for row in FIGURES["figures"]}

CLOCK_NETWORK_MHZ = {"hx8k": 275, "up5k": 185, "ecp5-85k": 257, "ecp5-85k-8": 370}
"""The data sheets' limits; those of the ECP5 are from memory."""

RECORDED = [
    pytest.param(OVER_LANES, tables.SCALING, id="decoders"),
    pytest.param(CORES, tables.CORES_MEASURED, id="cores"),
]

LIMITS = {
    ("smallest", "hx8k"): (68, 130),
    ("pipelined", "hx8k"): (100, 220),
    ("pipelined", "ecp5-85k"): (100, 250),
}
"""For each setting and device an upper bound on the logic cells and a lower bound on MHz."""


def difference_of_tools() -> str | None:
    """The reason why new figures may differ from the recorded ones; None if the tools are the same."""
    try:
        found = tool_versions(DEVICES.values())
    except ToolError as error:
        return str(error)
    recorded = FIGURES["tools"]
    return None if found == recorded else f"the figures are of {recorded}, installed is {found}"


@pytest.fixture
def same_tools() -> None:
    if reason := difference_of_tools():
        pytest.skip(reason)


@pytest.mark.smoke
def test_readme_and_docs_show_the_recorded_figures() -> None:
    assert record.with_block(README, "summary", tables.summary_table(FIGURES, OVER_LANES)) == README
    assert record.with_block(PERFORMANCE, "limits", tables.limits_table()) == PERFORMANCE
    assert record.with_block(PERFORMANCE, "software", tables.software_table(SOFTWARE)) == PERFORMANCE
    assert record.with_block(PERFORMANCE, "figures", tables.figures_table(FIGURES)) == PERFORMANCE
    assert record.with_block(PERFORMANCE, "scaling", record.scaling_block(OVER_LANES)) == PERFORMANCE
    assert record.with_block(PERFORMANCE, "cores", record.scaling_block(CORES, record.CORES_PLOT_FILE)) == PERFORMANCE


def test_all_settings_are_recorded_on_all_devices() -> None:
    assert set(BY_NAME) == {(setting, device) for setting, _ in tables.SETTINGS for device in DEVICES}
    assert all(len(row["speed"]["by_seed"]) == 5 for row in FIGURES["figures"])


@pytest.mark.parametrize(("figures", "points"), RECORDED)
def test_all_points_over_lanes_are_recorded(figures: dict[str, Any], points: Sequence[tables.Scaling]) -> None:
    recorded = [
        (row["device"], row["lanes"], len(row["speed"]["by_seed"]) if row["speed"] else 0) for row in figures["figures"]
    ]
    assert recorded == [(row.device, row.parameters.lanes, row.seeds) for row in points]
    assert not any(row["error"] for row in [*FIGURES["figures"], *figures["figures"]])


@pytest.mark.smoke
def test_throughput_is_computed_from_the_usable_clock() -> None:
    """The smaller of the fabric's median frequency and the limit of the clock network."""
    for row in filter(lambda row: row["speed"], [*FIGURES["figures"], *OVER_LANES["figures"], *CORES["figures"]]):
        clocks = sorted(row["speed"]["by_seed"].values())
        assert row["speed"]["mhz"] == clocks[len(clocks) // 2], "an odd number of seeds"
        assert row["usable_mhz"] == min(clocks[len(clocks) // 2], CLOCK_NETWORK_MHZ[row["device"]])
        assert row["gigabytes_per_second"] == pytest.approx(row["bytes_per_clock"] * row["usable_mhz"] / 1000)
        # A sanitizer with one lane makes three bytes of one that is ill-formed.
        sanitized = 1 / 3 if row["lanes"] == 1 else 1
        each = {"utf-8 to utf-8": sanitized}
        assert row["bytes_per_clock"] == pytest.approx(each.get(row["series"], 1) * row["lanes"])


@pytest.mark.parametrize(
    ("figures", "plot"), [(OVER_LANES, record.PLOT_FILE), (CORES, record.CORES_PLOT_FILE)], ids=["decoders", "cores"]
)
def test_the_plot_is_of_the_recorded_figures(figures: dict[str, Any], plot: Path) -> None:
    # The bytes may differ, since the last digits of coordinates depend on the processor.
    digest = drawn_digest(figures, SOFTWARE)
    described = f"<dc:description>{digest}</dc:description>"
    assert described in (CHECKOUT / plot).read_text(encoding="utf-8"), f"run {figures['command']}"


@pytest.mark.smoke
@pytest.mark.usefixtures("same_tools")
@pytest.mark.parametrize(("setting", "parameters"), tables.SETTINGS, ids=[title for title, _ in tables.SETTINGS])
def test_figures_are_of_the_current_design(setting: str, parameters: DecoderParameters) -> None:
    recorded = {BY_NAME[setting, device]["design"] for device in DEVICES}
    assert recorded == {logic_digest(axi_rtlil(parameters.build()))}, (
        f"the design has changed: run {FIGURES['command']}"
    )


def scaling_cases() -> Iterator[Any]:
    """For each core the figures, its parameters and the numbers of its rows."""
    for figures, points in ((OVER_LANES, tables.SCALING), (CORES, tables.CORES_MEASURED)):
        for parameters in dict.fromkeys(point.parameters for point in points):
            numbers = [number for number, point in enumerate(points) if point.parameters == parameters]
            # Wide decoders take seconds each and have the same components as the others.
            marks = [pytest.mark.build] if parameters.lanes >= 8 else []
            yield pytest.param(figures, parameters, numbers, id=parameters.name, marks=marks)


@pytest.mark.usefixtures("same_tools")
@pytest.mark.parametrize(("figures", "parameters", "numbers"), list(scaling_cases()))
def test_figures_over_lanes_are_current(figures: dict[str, Any], parameters: Any, numbers: list[int]) -> None:
    rows = [figures["figures"][number] for number in numbers]
    recorded = {(row["design"], row["series"], row["latency"]) for row in rows}
    core = parameters.build()
    latency = getattr(core, "tap", core).latency
    assert recorded == {(logic_digest(axi_rtlil(parameters.build())), rows[0]["series"], latency)}, (
        f"the design has changed: run {figures['command']}"
    )
    assert figures is CORES or rows[0]["series"] == parameters.series


@pytest.mark.parametrize(("name", "limits"), LIMITS.items(), ids=lambda value: str(value))
def test_figures_meet_their_limits(name: tuple[str, str], limits: tuple[int, int]) -> None:
    row = BY_NAME[name]
    assert row["area"]["cells"] <= limits[0]
    assert row["speed"]["mhz"] >= limits[1]


@pytest.mark.build
@pytest.mark.usefixtures("same_tools")
@pytest.mark.parametrize("name", LIMITS, ids=" on ".join)
def test_repeated_measurement_gives_the_recorded_figures(name: tuple[str, str]) -> None:
    setting, device = name
    core = measured_core(dict(tables.SETTINGS)[setting], setting)
    with ThreadPoolExecutor(2) as threads:
        [figure] = sweep([Point(core, DEVICES[device], (1, 2, 3))], threads)
    again, row = figure.as_dict(), BY_NAME[name]
    assert again["area"] == row["area"]
    assert again["speed"]["by_seed"].items() <= row["speed"]["by_seed"].items()


def test_the_tutorial_shows_the_report_of_the_build(shared_build: Callable[[str], Built]) -> None:
    built = shared_build("icebreaker")
    report, page = str(built.report), (CHECKOUT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    if (tools := re.findall("^tools .*", report, re.MULTILINE)[0]) not in page:
        pytest.skip(f"the page is of other versions than {tools}")
    assert report.replace(str(built.directory), "build") in page


@pytest.mark.build
def test_the_readme_shows_the_demo() -> None:
    assert record.with_block(README, "demo", record.demo_block()) == README


LOGIC_CELLS_OF_ECP5_85F = 83640
"""As nextpnr-ecp5 reports."""


@pytest.mark.smoke
def test_the_claim_and_the_comparison_of_the_readme_have_the_recorded_figures() -> None:
    small = BY_NAME["smallest", "hx8k"]
    sparse = (row for row in OVER_LANES["figures"] if not row["packed"])
    (wide,) = (row for row in sparse if (row["device"], row["lanes"]) == ("ecp5-85k", 64))
    rates = [f"{row['gigabytes_per_second']:.2f}" for row in (small, wide)]
    cells = [row["area"]["cells"] for row in (small, wide)]
    share = f"{cells[1] / LOGIC_CELLS_OF_ECP5_85F:.0%}".replace("%", " %")
    claim = " ".join(README.split("\n\n")[1].split())
    assert f"{rates[1]} GB/s in {share} of an ECP5-85F" in claim
    assert f"a byte per cycle in {cells[0]} logic cells of an iCE40" in claim

    table = README[README.index("| decoder | ill-formed bytes |") :].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    ours = [row[3:6] for row in rows if row[0].startswith("utf8fpga")]
    assert ours == [["1", rates[0], f"{cells[0]}"], ["64", rates[1], f"{cells[1]}"]]
    mixed, damaged = (row["codec"] / 1e9 for row in SOFTWARE["software"])
    expected = [f"{damaged:.2f} damaged, {mixed:.2f} mixed text"]
    assert [row[4] for row in rows if row[0].startswith("CPython")] == expected


def test_recorded_software_is_in_the_docs_and_in_the_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="requires the extra 'plots'")
    for name in ("README.md", "docs", "bench/results"):
        (shutil.copytree if (CHECKOUT / name).is_dir() else shutil.copy)(CHECKOUT / name, tmp_path / name)
    figures = SOFTWARE | {"processor": "another processor"}
    record.record_software(figures, tmp_path)
    assert json.loads((tmp_path / record.SOFTWARE_FILE).read_text(encoding="utf-8")) == figures
    assert tables.software_table(figures) in (tmp_path / record.PERFORMANCE_FILE).read_text(encoding="utf-8")
    for drawn, plot in ((OVER_LANES, record.PLOT_FILE), (CORES, record.CORES_PLOT_FILE)):
        assert drawn_digest(drawn, figures) in (tmp_path / plot).read_text(encoding="utf-8")


def test_drawing_in_the_docs_is_current() -> None:
    assert "(../model/table_3_7.svg)" in (CHECKOUT / "docs" / "model.md").read_text(encoding="utf-8")
    assert (CHECKOUT / "model" / "table_3_7.svg").read_text(encoding="utf-8") == render(TABLE_3_7, "svg")


@pytest.mark.smoke
def test_both_commands_of_the_readme_are_one_line_without_prerequisites() -> None:
    lines = [line for line in README.splitlines() if line.startswith("python3 -m venv ")]
    assert [line.rsplit("/", 1)[-1] for line in lines] == ["utf8fpga demo", "pytest -n auto"]


@pytest.mark.smoke
def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 120


def test_texts_of_the_demo_have_every_cause_and_every_length() -> None:
    folder = CHECKOUT / "package" / "texts"
    causes = {item.error for item in decode((folder / "torture.txt").read_bytes())}
    assert causes == {None, *ErrorKind}
    lengths = {item.length for item in decode((folder / "multilingual.txt").read_bytes()) if item.error is None}
    assert lengths == {1, 2, 3, 4}
