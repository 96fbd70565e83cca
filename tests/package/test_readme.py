# SPDX-License-Identifier: BSD-2-Clause
"""The figures and the demo's output in the README and the docs are current. The examples are run in test_docs.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.builds import Built
from support.command import utf8fpga

from utf8fpga.bench import tables
from utf8fpga.bench.design import measured_core
from utf8fpga.bench.measure import DEVICES, Figure, Point, measure, tool_versions
from utf8fpga.bench.plot import drawn_digest
from utf8fpga.cli import record
from utf8fpga.hdl import command_words

CHECKOUT = Path(__file__).parents[2]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
PERFORMANCE = (CHECKOUT / record.PERFORMANCE_FILE).read_text(encoding="utf-8")
ROWS = tables.read_csv((CHECKOUT / record.FIGURES_FILE).read_text(encoding="utf-8"))
BY_POINT = {(row["device"], row["core"]): row for row in ROWS}

CLOCK_NETWORK_MHZ = {"hx8k": 275, "up5k": 185, "ecp5-85k": 257, "ecp5-85k-8": 370}
"""The limits in the table of docs/performance.md."""

SMALL, FAST, WIDE = ("hx8k", "--optimize area"), ("hx8k", ""), ("ecp5-85k", "--lanes 64 --sparse")


@pytest.mark.smoke
def test_readme_and_docs_show_the_recorded_figures() -> None:
    pages = {record.README_FILE: README, record.PERFORMANCE_FILE: PERFORMANCE}
    for (page, name), block in record.figure_blocks(ROWS).items():
        assert record.with_block(pages[page], name, block) == pages[page], f"run {COMMAND}"


COMMAND = "utf8fpga bench --record ."


@pytest.mark.smoke
def test_figures_follow_from_the_clocks_of_the_seeds() -> None:
    """The usable clock is the smaller of the fabric's median and the limit of the clock network."""
    for row in ROWS:
        clocks = sorted(map(float, row["fabric_mhz_by_seed"]))
        assert (len(clocks), len(clocks) % 2) == (int(row["seeds"]), 1)
        median = clocks[len(clocks) // 2]
        assert float(row["fabric_mhz"]) == median
        assert float(row["usable_mhz"]) == min(median, CLOCK_NETWORK_MHZ[row["device"]])
        rate = float(row["bytes_per_clock"]) * min(median, CLOCK_NETWORK_MHZ[row["device"]]) / 1000
        assert float(row["gigabytes_per_second"]) == pytest.approx(rate, abs=1e-5)


def test_the_plot_is_of_the_recorded_figures() -> None:
    # The bytes may differ, since the last digits of coordinates depend on the processor.
    described = f"<dc:description>{drawn_digest(ROWS)}</dc:description>"
    assert described in (CHECKOUT / record.PLOT_FILE).read_text(encoding="utf-8"), f"run {COMMAND}"


def recorded_cases() -> list[Any]:
    """The recorded points; wide circuits take seconds each."""
    cases = []
    for device, parameters in tables.RECORDED:
        marks = [pytest.mark.build] if getattr(parameters, "lanes", 1) >= 8 else []
        words = " ".join(command_words(parameters))
        cases.append(pytest.param(device, words, parameters, id=f"{device} {words}", marks=marks))
    return cases


@pytest.mark.parametrize(("device", "words", "parameters"), recorded_cases())
def test_figures_are_of_the_current_circuit(device: str, words: str, parameters: Any) -> None:
    row = BY_POINT.get((device, words))
    if row is None or not row["digest"]:
        pytest.skip(f"not measured yet: run {COMMAND}")
    assert row["digest"] == measured_core(parameters).digest, f"the circuit has changed: run {COMMAND}"


@pytest.mark.build
@pytest.mark.parametrize("number", range(2))
def test_repeated_measurement_gives_the_recorded_figures(number: int) -> None:
    device, parameters = tables.RECORDED[number]
    row = BY_POINT[device, " ".join(command_words(parameters))]
    if (present := tool_versions(DEVICES[device])) != row["tools"]:
        pytest.skip(f"the figures are of {row['tools']}, installed is {present}")
    with ThreadPoolExecutor(2) as threads:
        [figure] = measure([Point(measured_core(parameters), DEVICES[device], seeds=2)], threads)
    assert isinstance(figure, Figure)
    assert [str(figure.cells), str(figure.flip_flops)] == [row["cells"], row["flip_flops"]]
    assert list(figure.by_seed) == [float(mhz) for mhz in row["fabric_mhz_by_seed"][:2]]


@pytest.mark.build
def test_the_tutorial_shows_the_report_of_the_build(shared_build: Callable[[str], Built]) -> None:
    built = shared_build("icebreaker")
    report, page = str(built.report), (CHECKOUT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    if (tools := re.findall("^tools .*", report, re.MULTILINE)[0]) not in page:
        pytest.skip(f"the page is of other versions than {tools}")
    assert report.replace(str(built.directory), "build") in page


@pytest.mark.build
def test_the_readme_shows_the_demo(tmp_path: Path) -> None:
    shown = utf8fpga("demo", "--directory", tmp_path).stdout.decode()
    end = shown[shown.index("6. A virtual") : shown.rindex("\nThe demo took")].rstrip()
    assert f"```text\n{end}\n```" in README


@pytest.mark.smoke
def test_the_claim_is_of_the_recorded_figures() -> None:
    rate, cells = float(BY_POINT[WIDE]["gigabytes_per_second"]), int(BY_POINT[WIDE]["cells"])
    claim = tables.claim(ROWS)
    # The device has 83,640 logic cells.
    assert f"64 bytes per cycle, {rate:.1f} GB/s, in {round(cells / 836.4)} % of an ECP5-85F" in claim
    assert f"a byte per cycle in {BY_POINT[SMALL]['cells']} logic cells of an iCE40" in claim
