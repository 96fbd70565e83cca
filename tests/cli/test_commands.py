# SPDX-License-Identifier: BSD-2-Clause
"""The command line: results, messages, exit statuses, and no incomplete files."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from support.builds import stand_in_tools
from support.codecs_oracle import encoded_by_cpython
from support.command import utf8fpga
from support.engines import requires_compiler
from support.processes import run

from utf8fpga.cli.soak import soak_limit
from utf8fpga.hdl import DecoderParameters, SerialDecoder
from utf8fpga.model import TABLE_3_7, EncodingTable
from utf8fpga.sim import Simulation
from utf8fpga.sim.engines import has_compiler

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


def test_decode_from_a_pipe() -> None:
    assert utf8fpga("decode", data=DAMAGED).stdout.decode() == DAMAGED.decode("utf-8", "replace")
    assert utf8fpga("decode", "-", data=b"").stdout == b""


@pytest.mark.smoke
def test_decode_json_lines(damaged: Path) -> None:
    items = [json.loads(line) for line in utf8fpga("decode", "--json", damaged).stdout.splitlines()]
    assert "".join(chr(item["code_point"]) for item in items) == DAMAGED.decode("utf-8", "replace")
    assert items[1] == {"offset": 1, "length": 2, "code_point": 0xE9, "error": None}
    assert items[-1] == {"offset": 18, "length": 2, "code_point": 0xFFFD, "error": "INCOMPLETE"}


def test_decode_strict(damaged: Path, tmp_path: Path) -> None:
    done = utf8fpga("decode", "--strict", "-o", tmp_path / "out.txt", damaged)
    assert_rejected(done, f"{str(damaged)!r} is ill-formed: 5 of 15 items", status=1)
    assert utf8fpga("decode", "--strict", "-o", tmp_path / "out.txt", data="é".encode()).returncode == 0


@pytest.mark.smoke
def test_table_prints_rows_and_dfa() -> None:
    text = utf8fpga("table").stdout.decode()
    assert "U+D000..U+D7FF      ED      80..9F  80..BF" in text
    assert "8 states that are not reject, 12 unit classes" in text


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
    done = utf8fpga("decode", "--table", name, "--practice", "each-unit", path)
    title = {"cesu-8": "CESU-8", "modified-utf-8": "Modified UTF-8"}[name]
    assert_rejected(done, f"--practice each-unit is for tables only, and {title} is a composition: leave it out")


FILES = {f"vectors --format {form}": b"overlong_3_highest" for form in ("json", "readmemh")}


@pytest.mark.smoke
@pytest.mark.parametrize(("command", "part"), {"generate --lanes 1": b"\nmodule utf8_decoder (", **FILES}.items())
def test_standard_output_and_a_file_are_equal(command: str, part: bytes, tmp_path: Path) -> None:
    printed = utf8fpga(*command.split()).stdout
    assert part in printed
    utf8fpga(*command.split(), "-o", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == printed


@pytest.mark.smoke
@pytest.mark.parametrize("optimize", ["area", "speed"])
def test_simulate_a_file(damaged: Path, tmp_path: Path, optimize: str) -> None:
    out, wave = tmp_path / "out.txt", tmp_path / "wave.vcd"
    pauses = ["--input-pauses", "010", "--output-pauses", "1101"]
    done = utf8fpga("simulate", damaged, "--optimize", optimize, "-o", out, "--vcd", wave, *pauses)
    assert done.stdout.decode().splitlines()[0] == "20 bytes, 15 items, 5 ill-formed"
    assert done.stdout.decode().splitlines()[-1] == "the simulated decoder gave exactly the model's items"
    assert out.read_text("utf-8") == DAMAGED.decode("utf-8", "replace")
    assert "$enddefinitions" in wave.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.txt", "out.txt", "wave.vcd"]


def test_simulate_prints_the_items_of_decode(damaged: Path) -> None:
    assert utf8fpga("simulate", "--json", damaged).stdout == utf8fpga("decode", "--json", damaged).stdout
    assert utf8fpga("simulate", "-o", "-", damaged).stdout == utf8fpga("decode", damaged).stdout
    given = utf8fpga("simulate", "--json", "--hex", DAMAGED.hex(" "))
    assert given.stdout == utf8fpga("decode", "--json", damaged).stdout


def test_simulate_several_files_and_standard_input(damaged: Path, tmp_path: Path) -> None:
    (tmp_path / "open").write_bytes(b"\xe2\x82")
    out = tmp_path / "out.txt"
    done = utf8fpga("simulate", "--lanes", "2", damaged, "-", tmp_path / "open", "-o", out, data=b"\xac")
    assert done.stdout.decode().splitlines()[0] == "23 bytes, 17 items, 7 ill-formed"
    # Each file is a text, so no sequence continues in the next one.
    texts = (DAMAGED, b"\xac", b"\xe2\x82")
    assert out.read_text("utf-8") == "".join(text.decode("utf-8", "replace") for text in texts)


NO_COMPILER = {**os.environ, "CC": "no-such-compiler"}


@requires_compiler
@pytest.mark.parametrize("form", ["--json", "--separate-end"])
def test_simulate_gives_the_same_with_both_engines(form: str, damaged: Path) -> None:
    words = ["simulate", form, "--null-beats", "01", "--output-pauses", "110", damaged]
    assert utf8fpga(*words, "--engine", "compiled").stdout == utf8fpga(*words, "--engine", "python").stdout


@pytest.mark.parametrize(("size", "compiled"), [(16_384, False), (16_385, True)])
@pytest.mark.parametrize("name", ["text", "-"])
def test_simulate_selects_the_compiled_engine_for_long_input(
    size: int, compiled: bool, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines = []

    def compare(simulation: Simulation, units: Iterable[int], **options: object) -> None:
        assert sum(1 for _ in units) == size
        engines.append(simulation.engine)

    monkeypatch.setattr("utf8fpga.cli.simulate.compare", compare)
    monkeypatch.chdir(tmp_path)
    Path("text").write_bytes(bytes(size))
    if has_compiler():
        utf8fpga("simulate", "--json", name, data=bytes(size))
        assert engines.pop() == ("compiled" if compiled else "python")
    utf8fpga("simulate", name, data=bytes(size), env=NO_COMPILER)
    assert engines == ["python"]


@requires_compiler
def test_simulate_compares_long_files_in_bulk(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(DAMAGED * 20_000)
    summary = utf8fpga("decode", "--summary", path).stdout.splitlines()
    lines = [line for line in summary if not line.startswith(b"offset")]
    for words in ([], ["--lanes", "4", "--separate-end"]):
        found = utf8fpga("simulate", path, *words).stdout.splitlines()
        assert found == [*lines, b"the simulated decoder gave exactly the model's items"]


@requires_compiler
@pytest.mark.slow
def test_soak_prints_what_was_sent() -> None:
    done = utf8fpga("simulate", "--lanes", "2", "--soak", "1.5MB", "--seed", "7", "--json")
    totals = json.loads(done.stdout)
    assert [totals[name] for name in ("core", "engine", "seed")] == ["decoder-2", "compiled", 7]
    assert totals["symbols"] >= 1_500_000
    again = json.loads(utf8fpga("simulate", "--lanes", "2", "--soak", "1.5MB", "--seed", "7", "--json").stdout)
    assert again | {"seconds": 0} == totals | {"seconds": 0}
    first, last = utf8fpga("simulate", "--soak", "0.1s").stdout.decode().splitlines()
    assert re.fullmatch(
        r"\d+ code units in \d+ packets, \d+ cycles, \d+ rounds? from seed 0 on, \d+\.\d s, .* per second", first
    )
    assert last == "the simulated decoder gave exactly the model's code points"


WITHOUT_NUMPY = "import sys; sys.modules['numpy'] = None; from utf8fpga.cli.main import main; main(sys.argv[1:])"


@requires_compiler
def test_simulate_without_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long"
    path.write_bytes(DAMAGED * 1000)
    done = run([sys.executable, "-c", WITHOUT_NUMPY, "simulate", path, "--engine", "compiled"], capture_output=True)
    assert done.stdout == utf8fpga("simulate", path).stdout
    monkeypatch.setitem(sys.modules, "numpy", None)
    done = utf8fpga("simulate", "--soak", "1s", env=os.environ | {"PATH": ""})
    assert_rejected(done, f"--soak requires NumPy: {sys.executable} -m pip install 'utf8fpga[arrays]'", status=1)


def test_limits_of_a_soak() -> None:
    assert [soak_limit(text)[0] for text in ("90s", "1.5m", "2h")] == [90, 90, 7200]
    assert [soak_limit(text)[1] for text in ("1.5kB", "2MB", "1GB")] == [1500, 2_000_000, 1_000_000_000]


def test_simulate_without_a_compiler() -> None:
    done = utf8fpga("simulate", "--hex", "41", "--engine", "compiled", env=NO_COMPILER)
    assert_rejected(done, "CC names 'no-such-compiler', which is not a program", status=1)


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert utf8fpga("decode", "--summary", tmp_path / "empty").stdout == b"0 bytes, 0 items, 0 ill-formed\n"
    assert utf8fpga("simulate", tmp_path / "empty").stdout.startswith(b"0 bytes, 0 items, 0 ill-formed\n")


@pytest.mark.smoke
def test_boards() -> None:
    lines = utf8fpga("boards").stdout.decode().splitlines()
    assert lines[0].split("  ")[0] == "board"
    of_arty = next(line for line in lines if line.startswith("arty-a7-35 "))
    shown = ["xilinx", "xc7a35ti", "Vivado", "100", "resource", "no open tools for xilinx"]
    assert re.split("  +", of_arty)[1:] == shown
    known = {each["name"]: each for each in json.loads(utf8fpga("boards", "--json").stdout)}
    assert known["ulx3s-85f"]["family"] == "ecp5"
    assert known["tinyfpga-bx"]["uart"] == "gpio_0:1,gpio_0:2"
    assert known["tinyfpga-ax1"]["obstacle"] == "the platform has no clock"
    assert known["tinyfpga-ax1"]["clock_mhz"] == known["tinyfpga-ax1"]["uart"] == ""
    tools = {name: known[name]["toolchain"] for name in ("icebreaker", "crosslink-nx-evn", "atlys", "de10-nano")}
    assert list(tools.values()) == ["nextpnr-ice40", "nextpnr-nexus", "ISE", "Quartus"]


def test_build_of_a_platform_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from amaranth_boards.icestick import ICEStickPlatform\n\n\nclass Mine(ICEStickPlatform):\n    pass\n"
    )
    environment = os.environ | stand_in_tools(tmp_path / "bin")
    words = ["build", "own-board", "--platform", "mine:Mine", "--family", "ice40", "--leds", "error", "--uart", "1,2"]
    done = utf8fpga(*words, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    report = done.stdout.decode().splitlines()
    assert report[0].startswith("board        own-board: iCE40HX1K-TQ144, 12 MHz, UART at 1,2 1000000 baud 8N1, words")
    assert report[-1] == "program      iceprog build/own-board.bin"
    constraints = (tmp_path / "build" / "own-board" / "top.pcf").read_text(encoding="utf-8")
    assert "led_0__io" in constraints
    assert "led_1__io" not in constraints


@pytest.mark.smoke
def test_script_and_module_are_equivalent() -> None:
    version = utf8fpga("--version").stdout
    assert re.fullmatch(rb"utf8fpga \d+\.\d+\.\d+\n", version)
    script = Path(sys.executable).with_name("utf8fpga")
    if not script.exists():
        pytest.skip("the script utf8fpga is not in the folder of this Python")
    assert run([script, "--version"], capture_output=True, check=True).stdout == version


# Incorrect use.


def test_without_a_command_the_help_is_printed() -> None:
    done = utf8fpga()
    assert (done.returncode, done.stdout, done.stderr) == (0, utf8fpga("--help").stdout, b"")


INCORRECT_USE = """
    frobnicate | there is no command 'frobnicate'; utf8fpga -h lists them
    simulat x | there is no command 'simulat'; did you mean simulate?
    decode /nonexistent | cannot read '/nonexistent': No such file or directory
    decode / | cannot read '/': Is a directory
    generate -o /nonexistent/d.v | cannot write '/nonexistent/d.v': No such file or directory
    table -o / | cannot write '/': Is a directory
    generate --lanes 0 | Invalid value for '--lanes': 0 is not in the range 1<=x<=256
    table UTF-7 | \
unknown table 'UTF-7' (known: utf-8, utf-16, utf-32, utf-8-of-rfc-2279, generalised-utf-8, cesu-8-code-units, \
modified-utf-8-code-units); did you mean utf-8 or utf-32?
    generate --name 2nd | --name '2nd' is not a Verilog identifier: use letters, digits and _, not a digit first
    table CESU-8 | CESU-8 is a composition and has no table of its own: its tables are utf-16 and cesu-8-code-units
    decode '' | Invalid value for '[FILE]': '' is not the name of a file
    bench --dask '' | Invalid value for '--dask': '' is not the name of a scheduler
    build icebreaker --baud 5000000 | baud rate 5000000 is not in 1..3000000: a bit has at least 4 cycles of 12 MHz
    build icebreaker --uart p:1,4 | pin 'p:1': there is no connector 'p' (known: pmod_0, pmod_1, pmod_2)
    build icebreaker --uart 35,4 | \
icebreaker: Resource component clk12_0 uses physical pin 35, but it is already used by resource component \
host_uart_0.rx that was requested earlier: choose other pins with --uart
    build tinyfpga-ax1 | board tinyfpga-ax1 cannot be built: the platform has no clock
    build mine --platform os:getcwd --family ice40 | mine: 'os:getcwd' is not a platform of Amaranth for an FPGA
    build mine --platform amaranth_boards.icestick:ICEStickPlatform --family ecp5 | \
mine: its platform is built with yosys, nextpnr-ice40, icepack, not with nextpnr-ecp5, ecppack: choose another family \
or toolchain
    build ulx3s-85f --check | \
ulx3s-85f has family ecp5, of which routed designs are not simulated, only those of ice40: build it without a check
    prove serial-area --record /nonexistent | cannot read '/nonexistent/README.md': No such file or directory
    simulate | give either FILE, --hex BYTES or --soak LIMIT
    simulate x y --vcd z | --vcd 'z' shows one text, not 2: give one FILE
    simulate x --vcd z --engine compiled | --engine compiled writes no waveform: leave it out, or --vcd 'z'
    simulate x --routed --engine compiled | --routed is for netlists: give --engine netlist, too
    simulate x --engine netlist --family ecp5 --routed | routed designs are simulated for ice40, not for ecp5
    simulate --soak 10m --null-beats 01 | --soak and --null-beats cannot be combined: leave out one of them
    simulate --hex 41 --seed 1 | --seed 1 is that of --soak: give --soak LIMIT, too
    simulate --hex 4G | --hex '4G' is not bytes in hexadecimal: write them as 'C2 41'
    simulate --hex 41 --output-pauses 11 | --output-pauses '11' must be 0s and 1s with at least one 0
    build icebreaker --uart 4 | --uart '4' is not RX,TX: name two pins, such as pmod_0:1,pmod_0:2
    build mine --platform mine:Mine | \
--platform needs a family: add --family with one of ice40, ecp5, machxo2, gowin, nexus, gatemate
    build mine --platform nothing_here:Mine --family ice40 | \
platform 'nothing_here:Mine': there is no module 'nothing_here'
    build icebreaker --leds red | --leds 'red' must be some of activity, error, overflow, separated by commas
    build icebreaker --family ecp5 | --family ecp5: the family of icebreaker is ice40
    build arty-a7-35 | \
board arty-a7-35 has family 'xilinx', which is not one of ice40, ecp5, machxo2, gowin, nexus, gatemate
    build icebreaker --check --divide 2 | a build with a divided clock cannot be checked: leave out the check
    build icebraker | \
unknown board 'icebraker'; did you mean icebreaker or icebreaker-bitsy? (utf8fpga boards lists them)
    boards icebreakr | \
boards has the command run, not 'icebreakr'; did you mean utf8fpga build icebreaker?
    boards --json run icebreaker | --json has no effect with boards run: leave it out
    prove serial-are | \
unknown configuration 'serial-are'; did you mean serial-area or serial-area-kind? utf8fpga prove --list prints them
    generate --from utf-8 | --from is an option of the core transcoder: generate transcoder --from ...
    bench --device hx9k | \
Invalid value for '--device': 'hx9k' is not one of 'hx8k', 'up5k', 'ecp5-85k', 'ecp5-85k-8'; did you mean hx8k?
    generate encodr --lanes 2 | \
there is no core 'encodr' (known: decoder, encoder, transcoder, sanitizer, validator, remover); \
did you mean encoder or decoder?
    generate transcoder --to utf16-le | \
Invalid value for '--to': 'utf16-le' is not one of 'utf-8', 'utf-16-le', 'utf-16-be'; did you mean utf-16-le or \
utf-16-be?
    decode text --hex 41 | give either FILE or --hex BYTES, not 'text' and --hex '41'
    simulate text --json -o - | --json and -o - both write to standard output: leave out one of them
    simulate text --vcd - | --vcd '-' is standard output, to which the result is written: name a file
    simulate text -o out --vcd ./out | -o and --vcd are the same file './out': specify two files
    simulate --lanes 2 --hex 41 --gaps 01 | \
--gaps 01 is for cores that accept gaps: leave it out
    simulate remover --lanes 1 --hex 41 --gaps 01 | --gaps 01 is for several lanes: with one lane, use --null-beats
    simulate --soak 0kB | --soak '0kB' compares nothing: give more than 0
    simulate remover --width 4 --hex '0F 10' | \
code unit 16 at offset 1 of text 0 is not an integer of 4 bits: give one in 0..0xf
    generate validator --kind | --kind is an option of the core decoder: generate decoder --kind ...
    prove validator --lanes 2 | the proofs have no reference for a validator: it is simulated
    prove serial-area --optimize speed | configuration 'serial-area' is a whole decoder: leave out the options that \
choose one
"""


@pytest.mark.parametrize("line", INCORRECT_USE.strip().splitlines(), ids=lambda line: line.split(" | ")[0].strip())
def test_incorrect_use_is_one_line_and_status_2(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command, message = line.split(" | ")
    assert_rejected(utf8fpga(*shlex.split(command)), message)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", [["demo"], ["build", "icebreaker"]])
def test_missing_tool_is_reported_first(command: list[str], tmp_path: Path) -> None:
    environment = {**os.environ, "NEXTPNR_ICE40": "/nonexistent/nextpnr"}
    done = utf8fpga(*command, "--directory", tmp_path, env=environment)
    message = "icebreaker: NEXTPNR_ICE40 names '/nonexistent/nextpnr', which is not a program"
    assert_rejected(done, message, status=1)
    assert not list(tmp_path.glob("*.bin"))


def test_build_prints_the_report_it_writes(tmp_path: Path) -> None:
    words = ["--json", "--baud", "115200", "--seed", "3", "--directory", tmp_path]
    done = utf8fpga("build", "icebreaker", *words, env={**os.environ, **stand_in_tools(tmp_path / "bin")})
    report = json.loads(done.stdout)
    found = (done.returncode, report["board"], report["core"], report["baud"])
    assert found == (0, "icebreaker", "decoder-area", 115200)
    assert json.loads((tmp_path / "icebreaker.json").read_text()) == report
    assert Path(report["bitstream"]).read_text() == "3\n"
    assert [line.split(": ")[0] for line in done.stderr.decode().splitlines()] == ["icebreaker"] * 3


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read and write everything")
def test_no_permission(tmp_path: Path, damaged: Path) -> None:
    damaged.chmod(0)
    assert_rejected(utf8fpga("decode", damaged), f"cannot read {str(damaged)!r}: Permission denied")
    tmp_path.chmod(0o500)
    out = tmp_path / "out.v"
    assert_rejected(utf8fpga("generate", "-o", out), f"cannot write {str(out)!r}: Permission denied")


def test_failure_does_not_change_an_existing_file(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("older")
    done = utf8fpga("decode", "-o", out, "/nonexistent")
    assert done.returncode == 2
    assert out.read_text() == "older"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_replaced_file_keeps_its_mode_and_links(tmp_path: Path) -> None:
    out, link = tmp_path / "out.txt", tmp_path / "link"
    out.touch(mode=0o640)
    out.chmod(0o640)
    link.symlink_to(out)
    assert utf8fpga("decode", "-o", link, data=b"new").returncode == 0
    assert link.is_symlink()
    assert out.read_text() == "new"
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


def test_input_file_as_output_file(damaged: Path) -> None:
    assert utf8fpga("decode", "-o", damaged, damaged).returncode == 0
    assert damaged.read_text("utf-8") == DAMAGED.decode("utf-8", "replace")


# A decoder with a fault.


class Faulty(SerialDecoder):
    """A decoder of a table with surrogates, which has the parameters of one of Table 3-7."""

    def __init__(self, parameters: DecoderParameters) -> None:
        rows = [str(row).replace("U+", "").replace(" as ", "  ") for row in TABLE_3_7.rows]
        rows[4] = "D000..DFFF ED 80..BF 80..BF"
        wrong = EncodingTable.parse("wrong", "\n".join(rows), source="a mutant")
        super().__init__(replace(parameters, table=wrong))
        self.parameters = parameters


@pytest.fixture
def faulty_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("utf8fpga.hdl.cores.SerialDecoder", Faulty)


@pytest.mark.smoke
@pytest.mark.usefixtures("faulty_decoder")
def test_mismatch_is_reported_with_the_shortest_input_and_a_replay_command(tmp_path: Path) -> None:
    source, out, wave = tmp_path / "long.txt", tmp_path / "out.txt", tmp_path / "w.vcd"
    source.write_bytes("é€ and so on, ".encode() * 30 + b"\xed\xa0\x80" + b" and on" * 10)
    done = utf8fpga("simulate", source, "-o", out, "--vcd", wave)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == [
        "utf8fpga: the decoder differs from the model at offset 0 of ED A0",
        "  model:     U+FFFD SURROGATE",
        "  simulated: U+FFFD INCOMPLETE",
        "  replay:    utf8fpga simulate --hex 'ED A0' --kind --vcd mismatch.vcd",
    ]
    assert not out.exists()
    assert wave.exists()


@requires_compiler
@pytest.mark.usefixtures("faulty_decoder")
def test_soak_reports_the_shortest_input_and_two_replay_commands() -> None:
    done = utf8fpga("simulate", "--soak", "1m")
    assert done.returncode == 1
    said = done.stderr.decode().splitlines()
    found = re.fullmatch(r"utf8fpga: the decoder differs from the model at offset \d of (ED [AB][0-9A-F])", said[0])
    assert found
    assert said[3] == f"  replay:    utf8fpga simulate --hex '{found[1]}' --vcd mismatch.vcd"
    assert re.fullmatch(r"  its round: utf8fpga simulate --soak 1s --seed \d+", said[4])
    # The round alone reproduces it.
    again = utf8fpga(*shlex.split(said[4])[3:])
    assert again.stderr.decode().splitlines()[:4] == said[:4]
