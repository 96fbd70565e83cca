# SPDX-License-Identifier: BSD-2-Clause
"""All commands with a core accept its name and all its options in the same way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command import utf8fpga

from utf8fpga.hdl import CORES

TAKING_A_CORE = ["generate", "simulate", "prove", "bench"]
WORDS = {"simulate": ["--hex", "41"]}
"""The other arguments that a command requires."""


@pytest.mark.parametrize("command", TAKING_A_CORE)
@pytest.mark.parametrize("words", [(), ("decoder",)], ids=["default", "by_its_name"])
def test_every_command_rejects_invalid_options_with_the_same_message(command: str, words: tuple[str, ...]) -> None:
    done = utf8fpga(command, *words, *WORDS.get(command, []), "--optimize", "x")
    assert (done.returncode, done.stderr.decode()) == (2, "utf8fpga: --optimize 'x' is not one of area, speed\n")


def test_name_of_the_core_is_the_first_argument() -> None:
    assert list(CORES) == ["decoder", "encoder", "transcoder", "sanitizer", "validator", "remover"]
    plain, named = (utf8fpga("generate", *name, "--optimize", "area") for name in ([], ["decoder"]))
    assert plain.stdout == named.stdout != b""
    assert utf8fpga("generate", "compressor").returncode == 2


def test_proof_of_a_core_selected_by_options() -> None:
    done = utf8fpga("prove", "--lanes", "3", "--sparse", "--property", "stall", "--json")
    (result,) = json.loads(done.stdout)
    found = (result["configuration"], result["property"], result["proved"])
    assert found == ("decoder-3-sparse", "stall", True)


def test_output_of_wide_symbols_is_little_endian() -> None:
    done = utf8fpga("simulate", "remover", "--width", "20", "--hex", "41 00 00 42 00 00", "-o", "-")
    assert done.stdout == b"A\0\0B\0\0"


def test_packed_is_the_default_and_sparse_the_other() -> None:
    plain, packed, sparse = (
        utf8fpga("generate", "--lanes", "2", *words).stdout for words in ([], ["--packed"], ["--sparse"])
    )
    assert plain == packed != sparse
    assert b"// m_axis_tdata    2 code points, 32 bits each; contiguous from word 0\n" in packed
    assert b"// m_axis_tdata    2 code points, 32 bits each; in order, with gaps\n" in sparse


def test_simulation_of_a_validator_prints_and_writes_reports(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes("aé😀".encode() + b"\xe2\x82")
    numbers = {"errors": 1, "units": 9, "code_points": 4}
    report = {"well_formed": False, "offset": 7, "kind": 7, **numbers}
    done = utf8fpga("simulate", "validator", "--lanes", "2", "--json", text)
    assert json.loads(done.stdout) == {"length": 9, "value": report}
    done = utf8fpga("simulate", "validator", "-o", "-", text)
    assert json.loads(done.stdout) == report
