# SPDX-License-Identifier: BSD-2-Clause
"""The README says what the tools say: figures, the demo's output, the examples, the commands."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from utf8fpga.boards import (
    DEVICES,
    SCALING,
    SETTINGS,
    Point,
    chosen_core,
    design_digest,
    drawn_digest,
    figures_table,
    scaling_picture,
    sweep,
    tool_versions,
)
from utf8fpga.hdl import Decoder
from utf8fpga.model import TABLE_3_7, ErrorKind, decode
from utf8fpga.model.render import render
from utf8fpga.output import CommandError
from utf8fpga.record import FIGURES_FILE, PICTURE_FILE, SCALING_FILE, demo_block, scaling_block, with_block

CHECKOUT = Path(__file__).parent.parent
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
FIGURES: dict[str, Any] = json.loads((CHECKOUT / FIGURES_FILE).read_text(encoding="utf-8"))
OVER_LANES: dict[str, Any] = json.loads((CHECKOUT / SCALING_FILE).read_text(encoding="utf-8"))
BY_NAME = {(row["title"], row["device"]): row for row in FIGURES["figures"]}

BARS = {
    ("smallest", "hx8k"): (68, 130),
    ("smallest, no U+FFFD in the data", "hx8k"): (60, 130),
    ("pipelined", "hx8k"): (100, 220),
    ("pipelined", "ecp5-85k"): (100, 250),
}
"""Per setting and device the most logic cells and the fewest MHz."""


def of_other_tools() -> str | None:
    """Why figures made now may be others than those recorded."""
    found = tool_versions(DEVICES.values())
    recorded = FIGURES["tools"]
    return None if found == recorded else f"the figures are of {recorded}, installed is {found}"


@pytest.fixture
def same_tools() -> None:
    if reason := of_other_tools():
        pytest.skip(reason)


def test_the_readme_shows_the_recorded_figures() -> None:
    assert with_block(README, "figures", figures_table(FIGURES)) == README
    assert with_block(README, "scaling", scaling_block(OVER_LANES)) == README


def test_all_settings_are_recorded_on_all_devices() -> None:
    assert set(BY_NAME) == {(setting, device) for setting, _ in SETTINGS for device in DEVICES}
    assert all(len(row["speed"]["by_seed"]) == 5 for row in FIGURES["figures"])


def test_all_points_over_lanes_are_recorded() -> None:
    recorded = [(row["device"], row["lanes"], len(row["speed"]["by_seed"])) for row in OVER_LANES["figures"]]
    assert recorded == [(row.device, row.parameters["lanes"], row.seeds) for row in SCALING]
    assert not any(row["error"] for row in [*FIGURES["figures"], *OVER_LANES["figures"]])


def test_gigabytes_are_those_of_the_median_clock_on_the_worst_input() -> None:
    for row in [*FIGURES["figures"], *OVER_LANES["figures"]]:
        clocks = sorted(row["speed"]["by_seed"].values())
        assert row["speed"]["mhz"] == clocks[len(clocks) // 2], "an odd number of seeds"
        assert row["gigabytes_per_second"] == pytest.approx(row["bytes_per_clock"] * row["speed"]["mhz"] / 1000)
        assert row["bytes_per_clock"] == row["lanes"]


def test_the_picture_is_of_the_recorded_figures() -> None:
    picture = (CHECKOUT / PICTURE_FILE).read_bytes()
    assert drawn_digest(OVER_LANES).encode() in picture, f"run {OVER_LANES['command']}"
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    if matplotlib.__version__ == OVER_LANES["tools"]["matplotlib"]:
        assert scaling_picture(OVER_LANES) == picture


@pytest.mark.usefixtures("same_tools")
@pytest.mark.parametrize(("setting", "parameters"), SETTINGS, ids=lambda value: str(value))
def test_the_figures_are_of_the_present_design(setting: str, parameters: dict[str, Any]) -> None:
    recorded = {BY_NAME[setting, device]["design"] for device in DEVICES}
    assert recorded == {design_digest(parameters)}, f"the design has changed: run {FIGURES['command']}"


@pytest.mark.usefixtures("same_tools")
@pytest.mark.parametrize("number", range(len(SCALING)), ids=lambda number: f"{SCALING[number].parameters}")
def test_the_figures_over_lanes_are_of_the_present_design(number: int) -> None:
    row, parameters = OVER_LANES["figures"][number], SCALING[number].parameters
    assert row["design"] == design_digest(parameters), f"the design has changed: run {OVER_LANES['command']}"
    decoder = Decoder(**parameters)
    assert (row["pipeline"], row["latency"]) == (decoder.pipeline, decoder.latency)


@pytest.mark.parametrize(("name", "bar"), BARS.items(), ids=lambda value: str(value))
def test_the_figures_meet_the_bars(name: tuple[str, str], bar: tuple[int, int]) -> None:
    row = BY_NAME[name]
    assert row["area"]["cells"] <= bar[0]
    assert row["speed"]["mhz"] >= bar[1]


@pytest.mark.build
@pytest.mark.usefixtures("same_tools")
@pytest.mark.parametrize("name", BARS, ids=" on ".join)
def test_measuring_again_gives_the_recorded_figures(name: tuple[str, str]) -> None:
    setting, device = name
    core = chosen_core(dict(SETTINGS)[setting], title=setting)
    [figure] = sweep([Point(core, DEVICES[device], (1, 2, 3))])
    again, row = figure.as_dict(), BY_NAME[name]
    assert again["area"] == row["area"]
    assert again["speed"]["by_seed"].items() <= row["speed"]["by_seed"].items()


@pytest.mark.build
@pytest.mark.usefixtures("same_tools")
def test_the_readme_shows_the_demo() -> None:
    assert with_block(README, "demo", demo_block()) == README


def test_the_picture_in_the_readme_is_the_present_one() -> None:
    assert "(model/table_3_7.svg)" in README
    assert (CHECKOUT / "model" / "table_3_7.svg").read_text(encoding="utf-8") == render(TABLE_3_7, "svg")


def test_a_readme_without_the_marks_is_refused() -> None:
    with pytest.raises(CommandError, match=r"^the README has no lines <!-- demo: begin --> and <!-- demo: end -->$"):
        with_block("# title", "demo", "x")


def test_the_examples_of_the_readme() -> None:
    failed, tried = doctest.testfile(str(CHECKOUT / "README.md"), module_relative=False)
    assert (failed, tried) == (0, 4)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    runnable = [block for block in blocks if "assert" in block]
    assert len(runnable) == 1
    exec(compile(runnable[0], "README.md", "exec"), {})


def test_the_two_commands_are_one_line_each_and_start_from_nothing() -> None:
    lines = [line for line in README.splitlines() if line.startswith("python3 -m venv ")]
    assert [line.rsplit("/", 1)[-1] for line in lines] == ["utf8fpga demo", "pytest -n auto"]
    assert (
        lines[1]
        in subprocess.run(
            ["grep", "-E", "^python3 -m venv .*pytest", CHECKOUT / "README.md"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )


def test_every_command_that_the_readme_names_exists() -> None:
    named = set(re.findall(r"utf8fpga ([a-z]+)", README)) - {"from"}
    assert {"demo", "decode", "simulate", "generate", "build", "bench", "boards", "table"} <= named
    for command in sorted(named):
        subprocess.run([sys.executable, "-m", "utf8fpga", command, "--help"], check=True, capture_output=True)


def test_the_torture_text_has_every_cause_and_the_multilingual_none() -> None:
    folder = CHECKOUT / "cli" / "texts"
    causes = {item.error for item in decode((folder / "torture.txt").read_bytes())}
    assert causes == {None, *ErrorKind}
    lengths = {item.length for item in decode((folder / "multilingual.txt").read_bytes()) if item.error is None}
    assert lengths == {1, 2, 3, 4}
