# SPDX-License-Identifier: BSD-2-Clause
"""The README says what the tools say: figures, the demo's output, the examples, the commands."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from utf8fpga.boards import (
    DEVICES,
    SETTINGS,
    design_digest,
    figures_table,
    measure_area,
    measure_speed,
    tool_versions,
)
from utf8fpga.hdl import SerialDecoder
from utf8fpga.model import TABLE_3_7, ErrorKind, decode
from utf8fpga.model.render import render
from utf8fpga.output import CommandError
from utf8fpga.record import FIGURES_FILE, demo_block, with_block

CHECKOUT = Path(__file__).parent.parent
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
FIGURES: dict[str, Any] = json.loads((CHECKOUT / FIGURES_FILE).read_text(encoding="utf-8"))
BY_NAME = {(row["setting"], row["device"]): row for row in FIGURES["figures"]}

BARS = {
    ("smallest", "hx8k"): (68, 130),
    ("smallest, no U+FFFD in the data", "hx8k"): (60, 130),
    ("pipelined", "hx8k"): (100, 220),
    ("pipelined", "ecp5-85k"): (100, 250),
}
"""Per setting and device the most logic cells and the fewest MHz."""


@pytest.fixture
def same_tools() -> None:
    found = tool_versions(DEVICES.values())
    if found != FIGURES["tools"]:
        pytest.skip(f"the figures are of {FIGURES['tools']}, installed is {found}")


def test_the_readme_shows_the_recorded_figures() -> None:
    assert with_block(README, "figures", figures_table(FIGURES)) == README


def test_all_settings_are_recorded_on_all_devices() -> None:
    assert set(BY_NAME) == {(setting, device) for setting, _ in SETTINGS for device in DEVICES}
    assert all(len(row["speed"]["by_seed"]) == 5 for row in FIGURES["figures"])


@pytest.mark.usefixtures("same_tools")
def test_the_figures_are_of_the_present_design() -> None:
    assert design_digest() == FIGURES["design"], f"the design has changed: run {FIGURES['command']}"


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
    decoder = SerialDecoder(**dict(SETTINGS)[setting])
    row = BY_NAME[name]
    area = measure_area(decoder, DEVICES[device])
    assert (area.cells, area.luts, area.flip_flops) == tuple(row["area"][k] for k in ("cells", "luts", "flip_flops"))
    with ThreadPoolExecutor(2) as executor:
        speed = measure_speed(decoder, DEVICES[device], [1, 2, 3], executor=executor)
    assert {str(seed): mhz for seed, mhz in speed.by_seed.items()}.items() <= row["speed"]["by_seed"].items()


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
