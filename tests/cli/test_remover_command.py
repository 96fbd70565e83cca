# SPDX-License-Identifier: BSD-2-Clause
"""The remover, and gaps at the input, on the command line."""

from __future__ import annotations

import pytest
from support.command import utf8fpga

GOOD = {
    "a remover": (["remover", "--hex", "01 02 03 04 05", "--gaps", "011", "--null-beats", "10"], "5 symbols in"),
    "one lane": (["remover", "--lanes", "1", "--hex", "01 02"], "2 symbols in, 2 symbols out"),
    "a decoder": (
        ["--lanes", "4", "--compact-input", "--hex", "61 C3 A9 62 63 64", "--gaps", "0011000"],
        "6 bytes, 5 items, 0 ill-formed",
    ),
}


@pytest.mark.parametrize(("words", "first"), GOOD.values(), ids=GOOD)
def test_simulation_with_gaps(words: list[str], first: str) -> None:
    done = utf8fpga("simulate", *words)
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (0, b"")
    assert lines[0].startswith(first)
    assert lines[1].startswith("the simulated ")


def test_output_of_wide_symbols_is_little_endian() -> None:
    done = utf8fpga("simulate", "remover", "--width", "20", "--hex", "41 00 00 42 00 00", "--gaps", "10", "-o", "-")
    assert done.stdout == b"A\0\0B\0\0"


BAD = {
    "gaps that are not accepted": (
        ["simulate", "--lanes", "2", "--hex", "41", "--gaps", "01"],
        "--gaps 01 is for cores that accept gaps: leave it out, or use --compact-input",
    ),
    "only gaps": (
        ["simulate", "remover", "--hex", "41", "--gaps", "11"],
        "--gaps '11' must be 0s and 1s with at least one 0",
    ),
    "gaps of a soak": (
        ["simulate", "remover", "--soak", "1kB", "--gaps", "01"],
        "--soak and --gaps cannot be combined: leave out one of them",
    ),
    "wide symbols": (
        ["simulate", "remover", "--width", "4", "--hex", "0F 10"],
        "code unit 16 at offset 1 of text 0 is not an integer of 4 bits: give one in 0..0xf",
    ),
    "compact input and refresh": (
        ["generate", "--lanes", "4", "--compact-input", "--refresh", "100"],
        "refresh 100 would not reset the remover of compact_input: leave out one of them",
    ),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_bad_use(words: list[str], message: str) -> None:
    done = utf8fpga(*words)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"utf8fpga: {message}\n")


def test_packed_is_the_default_and_sparse_the_other() -> None:
    plain, packed, sparse = (
        utf8fpga("generate", "--lanes", "2", *words).stdout for words in ([], ["--packed"], ["--sparse"])
    )
    assert plain == packed != sparse
    assert b"// m_axis_tdata    2 code points, 32 bits each; contiguous from word 0\n" in plain
    assert b"// m_axis_tdata    2 code points, 32 bits each; in order, with gaps\n" in sparse
