# SPDX-License-Identifier: BSD-2-Clause
"""The test bench in plain Verilog: it passes with each core, and reports a wrong symbol, a lost one, a wrong flag."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from support.command import generate, utf8fpga
from support.icarus import requires_icarus
from support.lint import verilators
from support.processes import run
from support.tiers import tiered

EVERY_RUN = [
    *("--optimize area", "--lanes 4", "--lanes 2 --sparse --reset-low", "--optimize speed"),
    *("encoder --to utf-16-be --lanes 2", "transcoder", "remover --width 12 --user 3"),
]
LONGER = [
    *("--lanes 2 --sparse --kind", "--lanes 3", "--lanes 2 --reset-low"),
    *(f"--lanes {lanes}" for lanes in (2, 8, 16, 17, 64)),
    *(f"--lanes {lanes} --sparse" for lanes in (2, 3, 8, 16, 17, 64)),
    *("transcoder --to utf-16-le --lanes 2", "transcoder --from utf-16-be --to utf-8 --lanes 2"),
    *("validator", "validator --lanes 2"),
]


def simulated(directory: Path, *plus: str) -> str:
    """What the compiled bench prints; its exit status is 0 if it passes."""
    done = run(["vvp", "-N", "bench.vvp", *plus], cwd=directory, capture_output=True, text=True)
    assert done.returncode == (not done.stdout.startswith("PASS: ")), done.stdout + done.stderr
    return str(done.stdout)


PAUSES = [[], ["+pause_in=0", "+pause_out=0"], ["+seed=7", "+pause_in=80", "+pause_out=60"]]


@requires_icarus
@pytest.mark.parametrize(
    "options", tiered({each: each for each in [*EVERY_RUN, *LONGER]}, EVERY_RUN, smoke=EVERY_RUN[:2])
)
def test_every_core_passes_with_any_pauses_and_a_wrong_vector_is_reported(options: str, tmp_path: Path) -> None:
    generate(options, tmp_path)
    # The commands are those in the comment of the bench.
    commands = re.search(r"With Icarus: +(iverilog .*) && (vvp .*)", (tmp_path / "core_bench.v").read_text("utf-8"))
    assert commands
    command = commands[1].replace("THIS_FILE", "core_bench.v").split()
    assert not run([*command, "-Wall"], cwd=tmp_path, capture_output=True, text=True, check=True).stderr
    assert commands[2] == "vvp -N bench.vvp"
    for program, setting in verilators().items():
        lint = [program, "--lint-only", "--timing", "--assert", "core.v", "core_bench.v", "core.sv"]
        done = run(lint, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, **setting})
        assert (done.returncode, done.stderr) == (0, "")
    vectors = (tmp_path / "vectors.hex").read_text("ascii")
    packets = vectors.count("// ") - 2
    assert packets > 10
    for plus in PAUSES:
        assert re.fullmatch(rf"PASS: {packets} packets, \d+ [a-z ]+ in \d+ cycles\n", simulated(tmp_path, *plus))
    # The last entry of each tag with another bit of its data, with another flag, and in place of an end without symbol.
    for entry in {line[0]: line for line in vectors.splitlines() if line[0] in "89ABCD"}.values():
        wrong = [f"{entry[:-1]}{int(entry[-1], 16) ^ 1:X}"] if entry[0] != "C" else [f"9{entry[1:]}"]
        wrong += [f"{int(entry[0], 16) ^ 2:X}{entry[1:]}"] if entry[0] in "89AB" else []
        for each in wrong:
            (tmp_path / "vectors.hex").write_text(each.join(vectors.rsplit(entry, 1)), encoding="ascii")
            printed = simulated(tmp_path).lower()
            assert printed.startswith("fail: ")
            assert f"expected {each[0]} {each[1:]}".lower() in printed


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
