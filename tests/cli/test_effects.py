# SPDX-License-Identifier: BSD-2-Clause
"""Every option of every command and core has an effect."""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.builds import stand_in_tools
from support.command import options_of, utf8fpga

from utf8fpga.cli.main import COMMANDS
from utf8fpga.hdl import CORES
from utf8fpga.hdl.parameters import Option, option_word
from utf8fpga.model.encodings import encoding_word


def others(how: Option, default: Any) -> list[list[str]]:
    """The words that choose other values than the default, without the option's name."""
    if how.flags:
        return [[how.flags[default]]] if how.flags[default] else []
    if how.choices:
        usual = default if isinstance(default, str) else default.name
        return [[encoding_word(choice)] for choice in how.choices if choice != usual]
    least, most = how.range or (0, 0)
    return [[str(value)] for value in (least, 2, 3) if least <= value <= most and value != default]


CHOICES = [
    (core, base, [*([] if how.flags else [option_word(each.name)]), *words])
    for core, kind in CORES.items()
    for base in ([], ["--lanes", "2"])
    for each in fields(kind)
    for how in [kind.options()[each.name]]
    for words in others(how, each.default)
    if each.name not in ("lanes" if base else "packed",)
]


@cache
def circuit(*words: str) -> str:
    """The Verilog of a core without its comments."""
    lines = utf8fpga("generate", *words).stdout.decode().splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("//"))


@pytest.mark.parametrize(
    ("core", "base", "words"), CHOICES, ids=lambda each: each if isinstance(each, str) else "_".join(each)
)
def test_an_option_of_a_core_changes_the_circuit(core: str, base: list[str], words: list[str]) -> None:
    plain, chosen = circuit(core, *base), circuit(core, *base, *words)
    assert "\nmodule " in plain
    assert "\nmodule " in chosen
    assert chosen != plain


EFFECTS = """\
decode --hex '41 FF' | --json
decode text | --summary
decode text | --practice first-error
decode text | --table modified-utf-8
decode text | --strict
decode text | --output out
decode | --hex 41
table | --table utf-16
table | --format json
table | --output out
vectors | --output out
generate | --name other
generate | --reset-low
generate --output core.v | --testbench bench.v
generate --output core.v | --vectors vectors.hex
generate --output core.v | --sva assertions.sv
generate | --output out
simulate | --hex 41
simulate --hex 41 --vcd wave | --input-pauses 10
simulate --hex 41 --vcd wave | --output-pauses 10
simulate --hex '41 FF' | --json
simulate --hex 41 | --vcd wave
simulate text | --output out
boards | --all
boards | --json
build icebreaker | --directory other
build icebreaker | --form utf-8
build icebreaker | --baud 57600
build icebreaker | --self-test
build icebreaker | --seed 2
build icebreaker | --json
"""
"""Command lines, and an option that changes what they print or write."""

ELSEWHERE = {
    "simulate": "--soak --seed --netlist",
    "prove": "--all --property --dask --directory --record --json",
    "check": "--top --ports --practice --json",
    "bench": "--device --seeds --dask --against --top --ports --record --json",
    "build": "--program",
    "talk": "--baud --form --check",
    "demo": "--directory",
}
"""Options with effects that the tests of the commands compare, since each takes a tool, a board or a long time."""


def test_every_option_is_tested_for_an_effect() -> None:
    here = {
        (plain.split()[0], option.split()[0]) for plain, option in (line.split(" | ") for line in EFFECTS.splitlines())
    }
    elsewhere = {(command, option) for command, words in ELSEWHERE.items() for option in words.split()}
    of_cores = {word for kind in CORES.values() for name, how in kind.options().items() for word in words_of(name, how)}
    every = {(command, option) for command in COMMANDS for option in options_of((command,)) - of_cores}
    assert here | elsewhere == every | {("decode", "--table"), ("table", "--table")}
    assert not here & elsewhere


def words_of(name: str, how: Option) -> tuple[str, ...]:
    """The options of a field of parameters."""
    return how.flags or (option_word(name),)


def outcome(line: str, folder: Path) -> Any:
    (folder / "text").write_bytes(b"A\xed\xa0\xbd\xed\xb8\x80\xff")
    tools = stand_in_tools(folder.with_name("tools")) if line.startswith("build") else {}
    done = utf8fpga(*shlex.split(line), env=os.environ | tools)
    files = {path.relative_to(folder): path.read_bytes() for path in folder.glob("**/*") if path.is_file()}
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return done.returncode, done.stdout, done.stderr, files


@pytest.mark.parametrize("line", EFFECTS.splitlines())
def test_an_option_changes_what_a_command_prints_or_writes(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain, option = line.split(" | ")
    assert outcome(plain, tmp_path) != outcome(f"{plain} {option}", tmp_path)
    assert outcome(f"{plain} {option}", tmp_path)[0] in (0, 1)
