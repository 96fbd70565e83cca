# SPDX-License-Identifier: BSD-2-Clause
"""The test bench in plain Verilog: it passes with each decoder, and reports a wrong word, a lost one, a wrong flag."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.command import utf8fpga
from support.icarus import requires_icarus
from support.processes import run
from support.tiers import tiered

from utf8fpga.hdl import Decoder, RemoverParameters, axi_testbench
from utf8fpga.model import RFC_2279, InvalidArgumentError, Practice
from utf8fpga.model.vectors import render_vectors, vectors

CONFIGURATIONS = ["--lanes 1", "--lanes 4", "--lanes 3 --sparse --no-replacement", "--lanes 1 --practice each-unit"]
CONFIGURATIONS += ["--lanes 2 --flags word --reset-low", "--lanes 4 --sparse --flags byte --kind --registered"]
LONGER = [
    *(f"--lanes {lanes}{packed}" for lanes in (2, 3, 8, 16, 17) for packed in ("", " --sparse")),
    "--lanes 4 --compact-input",
    "--lanes 4 --buffer registers",
    "--pipeline 2",
    "--refresh 100",
    "--practice first-error",
]


def run_bench(options: str, directory: Path, *, plus: Sequence[str] = (), practice: str | None = None) -> str:
    """What the bench prints for a decoder with these options, and vectors of its practice or another one."""
    found = re.search(r"--practice (\S+)", options)
    wanted = practice or (found[1] if found else "maximal-subparts")
    names = ["-o", directory / "utf8_decoder.v", "--testbench", directory / "utf8_decoder_bench.v"]
    made = utf8fpga("generate", *options.split(), *names)
    assert made.returncode == 0, made.stderr
    if not (directory / "vectors.hex").exists():
        (directory / "vectors.hex").write_text(render_vectors("readmemh", Practice(wanted)), encoding="ascii")
    # The commands are those in the comment of the bench.
    comment = (directory / "utf8_decoder_bench.v").read_text(encoding="utf-8")
    commands = re.search(r"With Icarus: +(iverilog .*) && (vvp .*)", comment)
    assert commands
    compiled = run([*commands[1].split(), "-Wall"], cwd=directory, capture_output=True, text=True, check=True)
    assert not compiled.stderr
    done = run([*commands[2].split(), *plus], cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout


@requires_icarus
@pytest.mark.parametrize(
    "options",
    tiered({options: options for options in [*CONFIGURATIONS, *LONGER]}, CONFIGURATIONS, smoke=CONFIGURATIONS[:1]),
)
def test_every_decoder_passes_with_and_without_pauses(options: str, tmp_path: Path) -> None:
    packets = len(vectors())
    page = (Path(__file__).parents[2] / "docs" / "integration.md").read_text(encoding="utf-8")
    if options == "--lanes 4":
        assert f"```text\n{run_bench(options, tmp_path)}```" in page
    for plus in ([], ["+pause_in=0", "+pause_out=0"], ["+seed=7", "+pause_in=80", "+pause_out=60"]):
        assert re.fullmatch(
            rf"PASS: {packets} packets, \d+ words in \d+ cycles\n", run_bench(options, tmp_path, plus=plus)
        )


@pytest.mark.smoke
@requires_icarus
@pytest.mark.parametrize(
    ("entry", "wrong"),
    [
        ("90010FFFF", "90010FFFE"),
        ("B0000FFFD", "90000FFFD"),
        ("C00000000", "9000000C3"),
    ],
    ids=["data", "flag", "end"],
)
def test_a_difference_is_reported(entry: str, wrong: str, tmp_path: Path) -> None:
    text = render_vectors("readmemh")
    assert entry in text
    (tmp_path / "vectors.hex").write_text(text.replace(entry, wrong, 1), encoding="ascii")
    printed = run_bench("--lanes 4", tmp_path)
    assert re.search("^FAIL: ", printed, re.M)
    assert f"{wrong[0].lower()} {wrong[1:].lower()}" in printed.lower()
    assert "packet" in printed


@requires_icarus
def test_another_practice_fails(tmp_path: Path) -> None:
    printed = run_bench("--practice each-unit", tmp_path, practice="maximal-subparts")
    assert re.search("^FAIL: ", printed, re.M)


@requires_icarus
def test_missing_vectors_are_reported_with_the_command_that_writes_them(tmp_path: Path) -> None:
    printed = run_bench("--lanes 1", tmp_path, plus=["+vectors=none.hex"])
    assert "utf8fpga vectors --format readmemh -o vectors.hex" in printed


def test_other_cores_and_tables_have_no_bench() -> None:
    for core in (RemoverParameters(lanes=4).build(), Decoder(RFC_2279)):
        with pytest.raises(InvalidArgumentError, match="decoders of UTF-8 only"):
            axi_testbench(core)


def test_nothing_is_written_for_a_core_without_a_bench(tmp_path: Path) -> None:
    files = tmp_path / "remover.v", tmp_path / "bench.v"
    done = utf8fpga("generate", "remover", "-o", files[0], "--testbench", files[1])
    assert done.returncode == 2
    assert b"decoders of UTF-8 only" in done.stderr
    assert not any(file.exists() for file in files)


def test_both_files_are_written_or_none(tmp_path: Path) -> None:
    core, bench = tmp_path / "decoder.v", tmp_path / "missing" / "bench.v"
    done = utf8fpga("generate", "-o", core, "--testbench", bench)
    assert done.returncode == 2
    assert b"cannot write" in done.stderr
    assert not core.exists()
    done = utf8fpga("generate", "-o", core, "--testbench", tmp_path / "." / "decoder.v")
    assert done.returncode == 2
    assert b"are the same file" in done.stderr
    assert not core.exists()
