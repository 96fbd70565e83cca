# SPDX-License-Identifier: BSD-2-Clause
"""The command `prove`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from support.command import utf8fpga
from support.faulty_cores import broken_decoder, valid_is_deasserted_while_waiting

from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.hdl import decoder_core
from utf8fpga.model import TABLE_3_7

AREA = ("--optimize", "area")


def test_the_command_prints_a_table() -> None:
    done = utf8fpga("prove", *AREA, "--property", "steady", "--property", "stall")
    assert done.returncode == 0
    out = done.stdout.decode().splitlines()
    assert out[0].split() == ["configuration", "property", "method", "depth", "seconds", "result"]
    assert [line.split()[1] for line in out[1:3]] == ["steady", "stall"]
    assert out[-1] == "2 of 2 hold, on inputs of any length; none is bounded."


def test_each_result_is_printed_when_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next configuration cannot be built."""
    impossible = Configuration("impossible", TABLE_3_7, partial(decoder_core, optimize="x"), "")
    use(monkeypatch, CONFIGURATIONS["serial-area"], impossible)
    done = utf8fpga("prove", "--all", "--property", "stall")
    assert [line.split()[:2] for line in done.stdout.decode().splitlines()[1:]] == [["serial-area", "stall"]]
    assert (done.returncode, done.stderr.startswith(b"utf8fpga: optimize")) == (2, True)


def use(monkeypatch: pytest.MonkeyPatch, *configurations: Configuration) -> None:
    """Let the catalogue have these configurations alone."""
    monkeypatch.setattr("utf8fpga.cli.prove.CONFIGURATIONS", {each.name: each for each in configurations})


def test_the_command_gives_json() -> None:
    done = utf8fpga("prove", *AREA, "--property", "stall", "--json")
    (result,) = json.loads(done.stdout)
    assert done.returncode == 0
    assert (result["configuration"], result["property"], result["proved"]) == ("decoder-area", "stall", True)


def test_a_failure_is_reported_and_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = broken_decoder(valid_is_deasserted_while_waiting)
    use(monkeypatch, broken)
    command = ("prove", "--all", "--property", "steady", "--directory")
    done = utf8fpga(*command, tmp_path)
    assert done.returncode == 1
    err, name = done.stderr.decode().splitlines(), broken.name
    assert err[0].startswith(f"{name}: steady fails in ")
    assert err[-1] == f"utf8fpga: 1 of 1 not proved, the first: {name} steady"
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{name}_steady.vcd", f"test_{name}_steady.py"]
    file = tmp_path / f"{name}_steady.vcd"
    done = utf8fpga(*command, file / "folder")
    assert (done.returncode, done.stderr.decode()) == (2, f"utf8fpga: '{file / 'folder'}': Not a directory\n")
