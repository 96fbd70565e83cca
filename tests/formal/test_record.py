# SPDX-License-Identifier: BSD-2-Clause
"""The recorded table of what is proved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.command import utf8fpga

from utf8fpga.cli.record import PROVED_FILE
from utf8fpga.formal import runner
from utf8fpga.formal.catalogue import CONFIGURATIONS
from utf8fpga.formal.report import Result, proved_table
from utf8fpga.hdl.toolchain import tool_error

CHECKOUT = Path(__file__).parents[2]


def test_the_table_has_a_row_for_each_core_and_a_column_for_each_property() -> None:
    results = [
        Result("serial-area", "steady", "reachability", 1, 2.04, True),
        Result("serial-area", "verilog", "reachability", 1, 1, None),
        Result("encoder", "verilog", "trace", 1, 1, True),
    ]
    assert proved_table(results).splitlines()[-3:] == [
        "| --- | --- | --- |",
        "| `serial-area` | 2.0 | not proved |",
        "| `encoder` | - | 1.0 |",
    ]


def test_what_is_proved_is_written_into_the_page(tmp_path: Path) -> None:
    shutil.copy(CHECKOUT / "README.md", tmp_path)
    shutil.copytree(CHECKOUT / "docs", tmp_path / "docs")
    command = ["prove", "--property", "independence", "--record", str(tmp_path)]
    assert b"1 of 1 hold" in utf8fpga(*command).stdout
    assert "| core | independence |" in (tmp_path / PROVED_FILE).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "wanted", "part"),
    [
        ("serial-area", "steady", "decide"),
        ("parallel-2", "steady", "SparseProof.unproved"),
        ("serial-area", "netlist-ice40", "equal_netlist"),
        ("serial-area", "verilog", "equal_verilog"),
    ],
)
def test_a_property_for_which_a_tool_fails_is_undecided(
    name: str, wanted: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise tool_error("yosys", 1, "ERROR: call stack exhausted")

    monkeypatch.setattr(f"utf8fpga.formal.runner.{part}", fail)
    (result,) = runner.prove(CONFIGURATIONS[name], wanted)
    assert (result.proved, result.note) == (None, "yosys failed with status 1: ERROR: call stack exhausted")
