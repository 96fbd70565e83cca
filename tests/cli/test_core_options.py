# SPDX-License-Identifier: BSD-2-Clause
"""All commands with a core accept its name and all its options in the same way."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from support.command import utf8fpga

from utf8fpga.cli.main import cli
from utf8fpga.hdl import CORES, DecoderParameters

TAKING_A_CORE = ["generate", "simulate", "prove", "build", "bench"]
WORDS = {"simulate": ["--hex", "41"], "build": ["icebreaker"]}
"""The other arguments that a command requires."""


def options(command: str) -> dict[str, str]:
    """The option strings of a command with their help texts."""
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    return {word: each.help or "" for each in found.params if isinstance(each, click.Option) for word in each.opts}


@pytest.mark.parametrize("command", TAKING_A_CORE)
def test_every_command_has_all_options_of_the_core(command: str) -> None:
    found = options(command)
    for name, how in DecoderParameters.options().items():
        word = next(flag for flag in how.flags if flag) if how.flags else f"--{name}"
        assert found[word] == how.help


@pytest.mark.parametrize("command", TAKING_A_CORE)
@pytest.mark.parametrize("words", [(), ("decoder",)], ids=["default", "by_its_name"])
def test_every_command_rejects_invalid_options_with_the_same_message(command: str, words: tuple[str, ...]) -> None:
    done = utf8fpga(command, *words, *WORDS.get(command, []), "--buffer", "memory")
    message = "utf8fpga: a serial decoder has no buffer: leave out buffer memory\n"
    assert (done.returncode, done.stderr.decode()) == (2, message)


def test_name_of_the_core_is_the_first_argument() -> None:
    assert list(CORES) == ["decoder", "encoder", "transcoder", "remover"]
    plain, named = utf8fpga("generate", "--lanes", "2"), utf8fpga("generate", "decoder", "--lanes", "2")
    assert plain.stdout == named.stdout != b""
    assert utf8fpga("generate", "compressor").returncode == 2


def test_file_with_the_name_of_a_core_is_given_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "decoder").write_bytes(b"A")
    done = utf8fpga("simulate", str(tmp_path / "decoder"), "--json")
    assert [json.loads(line)["code_point"] for line in done.stdout.splitlines()] == [0x41]


def test_proof_of_a_core_selected_by_options() -> None:
    done = utf8fpga("prove", "--pipeline", "1", "--no-replacement", "--property", "stall", "--json")
    (result,) = json.loads(done.stdout)
    found = (result["configuration"], result["property"], result["proved"])
    assert found == ("serial-1-no-replacement", "stall", True)


REJECTED = {
    "practice without a proof": (
        ["--practice", "each-unit"],
        "the proofs have no reference for practice each-unit: use maximal-subparts",
    ),
    "configuration with options": (
        ["serial-0", "--pipeline", "1"],
        "configuration 'serial-0' is a whole decoder: leave out the options that choose one",
    ),
}


@pytest.mark.parametrize(("words", "message"), REJECTED.values(), ids=REJECTED)
def test_cores_without_a_proof_are_rejected(words: list[str], message: str) -> None:
    done = utf8fpga("prove", *words)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"utf8fpga: {message}\n")
