# SPDX-License-Identifier: BSD-2-Clause
"""The command `prove`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from support.command import utf8fpga
from support.faulty_cores import broken_decoder, valid_is_deasserted_while_waiting

from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES, Configuration
from utf8fpga.hdl import decoder_core
from utf8fpga.model import TABLE_3_7


def test_the_command_prints_a_table() -> None:
    done = utf8fpga("prove", "serial-area", "--property", "steady", "--property", "stall", "--jobs", "1")
    assert done.returncode == 0
    out = done.stdout.decode().splitlines()
    assert out[0].split() == ["configuration", "property", "method", "depth", "seconds", "result"]
    assert [line.split()[1] for line in out[1:3]] == ["steady", "stall"]
    assert out[-1] == "2 of 2 hold, on inputs of any length; none is bounded."


def test_each_result_is_printed_when_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next configuration cannot be built."""
    impossible = Configuration("impossible", TABLE_3_7, partial(decoder_core, optimize="x"), "")
    monkeypatch.setitem(CONFIGURATIONS, "impossible", impossible)
    done = utf8fpga("prove", "serial-area", "impossible", "--property", "stall", "--jobs", "1")
    assert [line.split()[:2] for line in done.stdout.decode().splitlines()[1:]] == [["serial-area", "stall"]]
    assert (done.returncode, done.stderr.startswith(b"utf8fpga: optimize")) == (2, True)


def test_the_command_gives_json() -> None:
    done = utf8fpga("prove", "serial-area", "--property", "stall", "--json")
    (result,) = json.loads(done.stdout)
    assert done.returncode == 0
    assert (result["configuration"], result["property"], result["proved"]) == ("serial-area", "stall", True)


def test_a_failure_is_reported_and_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(CONFIGURATIONS, "broken", broken_decoder(valid_is_deasserted_while_waiting))
    command = ("prove", "broken", "--property", "steady", "--directory")
    done = utf8fpga(*command, tmp_path)
    assert done.returncode == 1
    err = done.stderr.decode().splitlines()
    assert err[0].startswith("broken: steady fails in ")
    assert err[-1] == "utf8fpga: 1 of 1 not proved, the first: broken steady"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken_steady.vcd", "test_broken_steady.py"]
    file = tmp_path / "broken_steady.vcd"
    done = utf8fpga(*command, file / "folder")
    message = f"utf8fpga: cannot write '{file / 'folder'}': Not a directory\n"
    assert (done.returncode, done.stderr.decode()) == (2, message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serial-9"], "there is no configuration 'serial-9'; did you mean serial-"),
        (["--property", "truth"], "--property 'truth' is not one of equivalence, "),
        (["encoder", "--property", "stall"], "no property stall of encoder has a proof"),
    ],
)
def test_unknown_names_are_rejected(arguments: list[str], message: str) -> None:
    done = utf8fpga("prove", *arguments)
    assert (done.returncode, done.stderr.decode().startswith(f"utf8fpga: {message}")) == (2, True)


def test_the_list_has_every_name() -> None:
    done = utf8fpga("prove", "--list")
    assert done.returncode == 0
    out = done.stdout.decode()
    assert out.replace(" (on request)", "").split() == ["configurations", *CONFIGURATIONS, "properties", *PROPERTIES]
    assert "  parallel-8 (on request)\n" in out
    assert "  serial-area\n" in out


def test_a_pattern_selects_configurations_once() -> None:
    names = ["serial-area", "serial-[as]????", "serial-speed"]
    done = utf8fpga("prove", *names, "--property", "independence", "--json")
    assert [result["configuration"] for result in json.loads(done.stdout)] == ["serial-area", "serial-speed"]
