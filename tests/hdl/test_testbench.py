# SPDX-License-Identifier: BSD-2-Clause
"""The test bench in plain Verilog: it passes with each core, and reports a wrong symbol, a lost one, a wrong flag."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command import generate, utf8fpga
from support.icarus import requires_icarus
from support.lint import verilators
from support.processes import run
from support.tiers import tiered

from utf8fpga.hdl import DecoderParameters, bench_vectors, build
from utf8fpga.model.vectors import vectors

CONFIGURATIONS = ["--optimize area", "--lanes 4", "--lanes 2 --sparse --reset-low", "--optimize speed"]
SMOKE = CONFIGURATIONS[:2]
LONGER = [
    *(
        "--lanes 2 --sparse --kind",
        "--lanes 3",
        "--lanes 2 --reset-low",
    ),
    *(f"--lanes {lanes}" for lanes in (2, 8, 16, 17, 64)),
    *(f"--lanes {lanes} --sparse" for lanes in (2, 3, 8, 16, 17, 64)),
]


def assert_no_warnings(directory: Path) -> None:
    """Check that no Verilator warns of the bench or of the contract."""
    for program, setting in verilators().items():
        command = [program, "--lint-only", "--timing", "--assert", "core.v", "core_bench.v", "core.sv"]
        done = run(command, cwd=directory, capture_output=True, text=True, env={**os.environ, **setting})
        assert (done.returncode, done.stderr) == (0, "")


def run_bench(options: str, directory: Path, *, vectors: str | None = None) -> str:
    """What the bench prints for a core with these options, and its vectors or other ones."""
    generate(options, directory)
    if vectors is not None:
        (directory / "vectors.hex").write_text(vectors, encoding="ascii")
    # The commands are those in the comment of the bench.
    comment = (directory / "core_bench.v").read_text(encoding="utf-8")
    commands = re.search(r"With Icarus: +(iverilog .*) && (vvp .*)", comment)
    assert commands
    command = commands[1].replace("THIS_FILE", "core_bench.v").split()
    compiled = run([*command, "-Wall"], cwd=directory, capture_output=True, text=True, check=True)
    assert not compiled.stderr
    assert commands[2] == "vvp -N bench.vvp"
    return simulated(directory)


def simulated(directory: Path, *plus: str) -> str:
    """What the compiled bench prints; its exit status is 0 if it passes."""
    done = run(["vvp", "-N", "bench.vvp", *plus], cwd=directory, capture_output=True, text=True)
    assert done.returncode == (not done.stdout.startswith("PASS: ")), done.stdout + done.stderr
    return str(done.stdout)


PAUSES = [["+pause_in=0", "+pause_out=0"], ["+seed=7", "+pause_in=80", "+pause_out=60"]]


@requires_icarus
@pytest.mark.parametrize(
    "options",
    tiered({options: options for options in [*CONFIGURATIONS, *LONGER]}, CONFIGURATIONS, smoke=SMOKE),
)
def test_every_decoder_passes_with_and_without_pauses(options: str, tmp_path: Path) -> None:
    packets = len(vectors())
    printed = [run_bench(options, tmp_path), *(simulated(tmp_path, *plus) for plus in PAUSES)]
    for each in printed:
        assert re.fullmatch(rf"PASS: {packets} packets, \d+ words in \d+ cycles\n", each)
    assert_no_warnings(tmp_path)


CORES = [
    "encoder --to utf-16-be --lanes 2",
    "transcoder",
    "remover --width 12 --user 3",
    "transcoder --to utf-16-le --lanes 2",
    "transcoder --from utf-16-be --to utf-8 --lanes 2",
    "validator",
    "validator --lanes 2",
]


@requires_icarus
@pytest.mark.parametrize("options", tiered({options: options for options in CORES}, 3))
def test_every_other_core_passes(options: str, tmp_path: Path) -> None:
    printed = [run_bench(options, tmp_path), *(simulated(tmp_path, *plus) for plus in PAUSES)]
    vectors = (tmp_path / "vectors.hex").read_text(encoding="ascii")
    packets = list(packets_of(vectors))
    for each in printed:
        assert re.fullmatch(rf"PASS: {len(packets)} packets, \d+ [a-z ]+ in \d+ cycles\n", each)
    assert_no_warnings(tmp_path)
    assert len(packets) > 10
    # The last entry of each tag with another bit of its data.
    for entry in {line[0]: line for line in vectors.splitlines() if line[0] in "89ABDE"}.values():
        wrong = f"{entry[:-1]}{int(entry[-1], 16) ^ 1:X}"
        (tmp_path / "vectors.hex").write_text(wrong.join(vectors.rsplit(entry, 1)), encoding="ascii")
        assert f"expected {wrong[0]} {wrong[1:]}".lower() in simulated(tmp_path).lower()


def packets_of(vectors: str) -> Iterator[tuple[list[int], list[tuple[int, int]]]]:
    """For each packet of a file of vectors its symbols, and the tags and data of the expected output."""
    for text in vectors.split("// ")[3:]:
        entries = [(int(line[0], 16), int(line[1:], 16)) for line in text.splitlines()[1:] if line[0] != "F"]
        yield [data for tag, data in entries if tag in (1, 3)], [entry for entry in entries if entry[0] >= 8]


@pytest.mark.smoke
@requires_icarus
@pytest.mark.parametrize(
    ("entry", "wrong"),
    [("90010FFFF", "90010FFFE"), ("B0000FFFD", "90000FFFD"), ("C00000000", "9000000C3")],
    ids=["data", "flag", "end"],
)
def test_a_difference_is_reported(entry: str, wrong: str, tmp_path: Path) -> None:
    text = bench_vectors(build(DecoderParameters(lanes=4)))
    assert entry in text
    printed = run_bench("--lanes 4", tmp_path, vectors=text.replace(entry, wrong, 1))
    assert re.search("^FAIL: ", printed, re.M)
    assert f"{wrong[0].lower()} {wrong[1:].lower()}" in printed.lower()
    assert "packet" in printed


FILES = ["-o", "utf8_decoder.v", "--testbench", "bench.v", "--vectors", '100% "a".hex']


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("program", verilators(), ids=lambda program: Path(program).name)
def test_the_command_for_verilator_compiles_a_bench_whose_status_is_its_result(
    program: str, lanes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert utf8fpga("generate", f"--lanes={lanes}", *FILES).returncode == 0
    found = re.search(r"With Verilator: (.*) && (.*)", Path("bench.v").read_text(encoding="utf-8"))
    assert found
    command = shlex.split(found[1].replace("THIS_FILE", "bench.v"))
    environment = {**os.environ, **verilators()[program]}
    environment["PATH"] = os.pathsep.join([str(Path(program).parent), environment["PATH"]])
    run(command, env=environment, capture_output=True, check=True)
    assert run([found[2]], capture_output=True, text=True).stdout.startswith("PASS: ")
    vectors = Path(FILES[-1])
    vectors.write_text(vectors.read_text(encoding="ascii").replace("90010FFFF", "90010FFFE", 1), encoding="ascii")
    done = run([found[2]], capture_output=True, text=True)
    assert done.stdout.startswith("FAIL: ")
    assert done.returncode != 0


@requires_icarus
def test_the_bench_reads_the_vectors_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert utf8fpga("generate", *FILES).returncode == 0
    found = re.search(r"The vectors: +(.*)\n", Path("bench.v").read_text(encoding="utf-8"))
    assert found
    run(["iverilog", "-g2005", "-s", "utf8_decoder_bench", "-o", "bench.vvp", "utf8_decoder.v", "bench.v"], check=True)
    assert simulated(tmp_path).startswith("PASS: ")
    Path(FILES[-1]).unlink()
    assert f"write them with: {found[1]}\n" in simulated(tmp_path)
    assert utf8fpga(*shlex.split(found[1])[1:]).returncode == 0
    assert simulated(tmp_path).startswith("PASS: ")


def test_both_files_are_written_or_none(tmp_path: Path) -> None:
    core, bench = tmp_path / "decoder.v", tmp_path / "missing" / "bench.v"
    assert utf8fpga("generate", "-o", core, "--testbench", bench).returncode == 2
    assert not core.exists()
