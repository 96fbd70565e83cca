# SPDX-License-Identifier: BSD-2-Clause
"""The command line: results, messages, exit statuses, and no incomplete files."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.builds import stand_in_tools
from support.codecs_oracle import encoded_by_cpython
from support.command import utf8fpga
from support.engines import requires_graph

from utf8fpga.hdl.decoder.serial import SERIAL, SerialSpeedDecoder
from utf8fpga.model import TABLE_3_7, EncodingTable
from utf8fpga.sim import Simulation

DAMAGED = b"h\xc3\xa9llo \xf0\x9f\x98\x80 \xff \xed\xa0\x80 \xe2\x82"


def assert_rejected(done: subprocess.CompletedProcess[bytes], message: str, status: int = 2) -> None:
    assert done.stderr.decode() == f"utf8fpga: {message}\n"
    assert (done.returncode, done.stdout) == (status, b"")


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = tmp_path / "damaged.txt"
    path.write_bytes(DAMAGED)
    return path


# Results.


@pytest.mark.smoke
def test_decode_writes_the_text_that_cpython_decodes(damaged: Path) -> None:
    done = utf8fpga("decode", damaged)
    assert done.stdout.decode() == DAMAGED.decode("utf-8", "replace")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.smoke
def test_decode_json_summary_has_the_ill_formed_items_and_the_counts(damaged: Path) -> None:
    *items, counts = [
        json.loads(line) for line in utf8fpga("decode", "--json", "--summary", damaged).stdout.splitlines()
    ]
    # The causes of Table 3-7 for FF, ED A0 80 and the truncated E2 82.
    causes = ["INVALID_BYTE", "SURROGATE", "UNEXPECTED_CONTINUATION", "UNEXPECTED_CONTINUATION", "INCOMPLETE"]
    assert [item["error"] for item in items] == causes
    assert [DAMAGED[item["offset"]] for item in items] == [0xFF, 0xED, 0xA0, 0x80, 0xE2]
    assert counts == {
        "bytes": 20,
        "items": 15,
        "ill_formed": 5,
        "causes": {"UNEXPECTED_CONTINUATION": 2, "INVALID_BYTE": 1, "SURROGATE": 1, "INCOMPLETE": 1},
    }


def test_decode_strict(damaged: Path, tmp_path: Path) -> None:
    done = utf8fpga("decode", "--strict", "-o", tmp_path / "out.txt", damaged)
    assert_rejected(done, f"{str(damaged)!r} is ill-formed: 5 of 15 items", status=1)
    assert utf8fpga("decode", "--strict", "-o", tmp_path / "out.txt", data="é".encode()).returncode == 0


@pytest.mark.parametrize("name", ["cesu-8", "modified-utf-8"])
def test_decode_with_a_table(name: str, tmp_path: Path) -> None:
    # Longer than what is decoded at once, so that pairs of surrogates are split.
    text = "A\0é€😀" * 12_000
    path = tmp_path / "text"
    path.write_bytes(encoded_by_cpython(text, name))
    assert utf8fpga("decode", "--table", name, "--strict", path).stdout == text.encode()
    # A surrogate pair, and one that the end cuts off.
    items = utf8fpga("decode", "--table", name, "--hex", "ED A0 BD ED B8 80 ED A0 BD").stdout.decode().splitlines()
    assert [line.split()[:7] for line in items[1:2]] == [["0", "ED", "A0", "BD", "ED", "B8", "80"]]
    assert items[2].split() == ["6", "ED", "A0", "BD", "U+FFFD", "INCOMPLETE"]


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("table", b"U+D000..U+D7FF      ED      80..9F  80..BF"),
        ("generate", b"\nmodule utf8_decoder ("),
        ("vectors", b"overlong_3_highest"),
    ],
)
def test_standard_output_and_a_file_are_equal(command: str, part: bytes, tmp_path: Path) -> None:
    printed = utf8fpga(*command.split()).stdout
    assert part in printed
    utf8fpga(*command.split(), "-o", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == printed


@pytest.mark.smoke
@pytest.mark.parametrize("optimize", ["area", "speed"])
def test_simulate_a_file(damaged: Path, tmp_path: Path, optimize: str) -> None:
    wave, pauses = tmp_path / "wave.vcd", ["--input-pauses", "010", "--output-pauses", "1101"]
    done = utf8fpga("simulate", damaged, "--optimize", optimize, "--vcd", wave, *pauses)
    assert done.stdout.decode().splitlines()[0] == "20 bytes, 15 items, 5 ill-formed"
    assert done.stdout.decode().splitlines()[-1] == "the simulated decoder gave exactly the model's items"
    assert "$enddefinitions" in wave.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.txt", "wave.vcd"]


def test_simulate_prints_the_items_of_decode(damaged: Path) -> None:
    expected = utf8fpga("decode", "--json", damaged).stdout
    assert utf8fpga("simulate", "--json", damaged).stdout == expected
    assert utf8fpga("simulate", "--json", "--hex", DAMAGED.hex(" ")).stdout == expected


def test_simulate_writes_the_output_as_bytes(damaged: Path, tmp_path: Path) -> None:
    utf8fpga("simulate", damaged, "-o", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == utf8fpga("decode", damaged).stdout
    words = ("remover", "--width", "20", "--hex", "41 00 00 42 00 00")
    utf8fpga("simulate", *words, "-o", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"A\0\0B\0\0", "little endian"


def test_simulation_of_a_validator_prints_reports(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes("aé😀".encode() + b"\xe2\x82")
    numbers = {"errors": 1, "units": 9, "code_points": 4}
    report = {"well_formed": False, "offset": 7, "error": "INCOMPLETE", **numbers}
    done = utf8fpga("simulate", "validator", "--lanes", "2", "--json", text)
    assert json.loads(done.stdout) == {"length": 9, "value": report}


@requires_graph
@pytest.mark.parametrize(("size", "is_long"), [(16_384, False), (16_385, True)])
def test_simulate_selects_the_graph_for_long_input(size: int, is_long: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    engines = []

    def compare(simulation: Simulation, units: Iterable[int], **options: object) -> None:
        assert sum(1 for _ in units) == size
        engines.append(simulation.engine)

    monkeypatch.setattr("utf8fpga.cli.simulate.compare", compare)
    utf8fpga("simulate", "-", data=bytes(size))
    assert engines == ["graph" if is_long else "python"]


@requires_graph
@pytest.mark.slow
def test_soak_prints_what_was_sent() -> None:
    totals = json.loads(utf8fpga("simulate", "--lanes", "2", "--soak", "1", "--seed", "7", "--json").stdout)
    assert [totals[name] for name in ("core", "seed")] == ["decoder-2", 7]
    assert totals["symbols"] > 10_000
    first, last = utf8fpga("simulate", "--soak", "1").stdout.decode().splitlines()
    assert re.fullmatch(r"\d+ code units in \d+ packets, \d+ cycles, \d+ rounds? from seed 1 on", first)
    assert last == "the simulated decoder gave exactly the model's code points"


@pytest.mark.smoke
def test_boards_that_can_be_built_here_and_the_others() -> None:
    lines = utf8fpga("boards", "--all").stdout.decode().splitlines()
    of_arty = next(line for line in lines if line.startswith("arty-a7-35 "))
    assert re.split("  +", of_arty)[1:] == ["xilinx", "xc7a35ti", "the board's", "no open tools for xilinx"]
    known = {each["name"]: each for each in json.loads(utf8fpga("boards", "--all", "--json").stdout)}
    assert known["ulx3s-85f"]["family"] == "ecp5"
    assert known["tinyfpga-bx"]["uart"] == "gpio_0:1,gpio_0:2"
    assert known["tinyfpga-ax1"]["obstacle"] == "the platform has no clock"
    here = [each["name"] for each in json.loads(utf8fpga("boards", "--json").stdout)]
    assert here == [name for name, each in known.items() if not each["obstacle"]]
    last = utf8fpga("boards").stdout.decode().splitlines()[-1]
    assert last == f"{len(known) - len(here)} more cannot be built here: --all lists them, and why"


# Incorrect use.


def test_without_a_command_the_help_is_printed() -> None:
    done = utf8fpga()
    assert (done.returncode, done.stdout, done.stderr) == (0, utf8fpga("-h").stdout, b"")


@pytest.mark.parametrize("command", [["demo"], ["build", "icebreaker"]])
def test_missing_tool_is_reported_first(command: list[str], tmp_path: Path) -> None:
    environment = {**os.environ, "NEXTPNR_ICE40": "/nonexistent/nextpnr"}
    done = utf8fpga(*command, "--directory", tmp_path, env=environment)
    message = "NEXTPNR_ICE40 names '/nonexistent/nextpnr', which is not a program"
    assert_rejected(done, message, status=1)
    assert not list(tmp_path.glob("*.bin"))


def test_build_prints_the_report_it_writes(tmp_path: Path) -> None:
    words = ["--json", "--baud", "115200", "--seed", "3", "--directory", tmp_path]
    done = utf8fpga("build", "icebreaker", *words, env={**os.environ, **stand_in_tools(tmp_path / "bin")})
    report = json.loads(done.stdout)
    found = (done.returncode, report["board"], report["content"], report["baud"])
    assert found == (0, "icebreaker", "words, decoder-area", 115200)
    assert json.loads((tmp_path / "icebreaker.json").read_text()) == report
    assert Path(report["bitstream"]).read_text() == "3\n"
    assert [line.split(": ")[1] for line in done.stderr.decode().splitlines()] == ["icebreaker"] * 3


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read and write everything")
def test_no_permission(tmp_path: Path, damaged: Path) -> None:
    damaged.chmod(0)
    assert_rejected(utf8fpga("decode", damaged), f"{str(damaged)!r}: Permission denied")
    tmp_path.chmod(0o500)
    out = tmp_path / "out.v"
    assert_rejected(utf8fpga("generate", "-o", out), f"{str(out)!r}: Permission denied")


def test_replaced_file_keeps_its_mode_and_links(tmp_path: Path) -> None:
    out, link = tmp_path / "out.txt", tmp_path / "link"
    out.touch(mode=0o640)
    out.chmod(0o640)
    link.symlink_to(out)
    assert utf8fpga("decode", "-o", link, data=b"new").returncode == 0
    assert link.is_symlink()
    assert out.read_text() == "new"
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


# A decoder with a fault.


class Faulty(SerialSpeedDecoder):
    """A decoder of a table with surrogates, which has the parameters of one of Table 3-7."""

    def __init__(self, table: EncodingTable, **options: Any) -> None:
        rows = [str(row).replace("U+", "").replace(" as ", "  ") for row in TABLE_3_7.rows]
        rows[4] = "D000..DFFF ED 80..BF 80..BF"
        wrong = EncodingTable.parse("wrong", "\n".join(rows), source="a mutant")
        super().__init__(wrong, **options)


@pytest.fixture
def faulty_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SERIAL, "speed", Faulty)


@pytest.mark.smoke
@pytest.mark.usefixtures("faulty_decoder")
def test_mismatch_is_reported_with_the_shortest_input_and_a_replay_command(tmp_path: Path) -> None:
    source, wave = tmp_path / "long.txt", tmp_path / "w.vcd"
    source.write_bytes("é€ and so on, ".encode() * 30 + b"\xed\xa0\x80" + b" and on" * 10)
    done = utf8fpga("simulate", source, "--kind", "--vcd", wave)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == [
        "utf8fpga: the decoder differs from the model at offset 0 of ED A0",
        "  model:     U+FFFD SURROGATE",
        "  simulated: U+FFFD INCOMPLETE",
        "  replay:    utf8fpga simulate --hex 'ED A0' --kind --vcd mismatch.vcd",
    ]
    assert wave.exists()


@requires_graph
@pytest.mark.usefixtures("faulty_decoder")
def test_soak_reports_the_shortest_input_and_two_replay_commands() -> None:
    done = utf8fpga("simulate", "--soak", "60")
    assert done.returncode == 1
    said = done.stderr.decode().splitlines()
    found = re.fullmatch(r"utf8fpga: the decoder differs from the model at offset \d of (ED [AB][0-9A-F])", said[0])
    assert found
    assert said[3] == f"  replay:    utf8fpga simulate --hex '{found[1]}' --vcd mismatch.vcd"
    assert re.fullmatch(r"  its round: utf8fpga simulate --soak 1 --seed \d+", said[4])
    # The round alone reproduces it.
    again = utf8fpga(*shlex.split(said[4])[3:])
    assert again.stderr.decode().splitlines()[:4] == said[:4]


@pytest.mark.usefixtures("faulty_decoder")
def test_a_counterexample_is_printed_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # In this process, which has the fault.
    monkeypatch.setattr("utf8fpga.cli.prove.job_executor", lambda _: ThreadPoolExecutor(1))
    done = utf8fpga("prove", "--optimize", "speed", "--property", "equivalence", "--directory", tmp_path)
    assert done.returncode == 1
    written = [Path(line.split(": ", 1)[1]) for line in done.stderr.decode().splitlines() if "  written: " in line]
    assert written
    assert all(path.parent == tmp_path and path.exists() for path in written)
    assert "1 of 1 not proved, the first: " in done.stderr.decode().splitlines()[-1]
