# SPDX-License-Identifier: BSD-2-Clause
"""What a person sees: tables of short texts, and colours."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from support.cases import cases
from support.command import on_terminal, utf8fpga

RED, GREEN, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[0m"
PLAIN_ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}


def in_pipe(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return utf8fpga(*words, env={**PLAIN_ENVIRONMENT, **environment})


# Short texts in hexadecimal.

TABLE = """\
offset  bytes  code point  character or cause
0       E1 80  U+FFFD      TRUNCATED
2       41     U+0041      A  LATIN CAPITAL LETTER A
3       0A     U+000A
4       C3 A9  U+00E9      \N{LATIN SMALL LETTER E WITH ACUTE}  LATIN SMALL LETTER E WITH ACUTE
6 bytes, 4 items, 1 ill-formed
  1 TRUNCATED
"""


@pytest.mark.smoke
def test_text_in_hexadecimal_is_a_table_of_its_items() -> None:
    done = in_pipe("decode", "--hex", "E1 80 41 0A C3 A9")
    assert (done.stdout.decode(), done.stderr, done.returncode) == (TABLE, b"", 0)
    done = in_pipe("simulate", "--hex", "E1 80 41 0A C3 A9")
    assert done.stdout.decode() == f"{TABLE}the simulated decoder gave exactly the model's items\n"


@pytest.mark.parametrize("digits", ["C3A941", "c3 a9 41", "0xC3 0xA9 0x41", r"\xc3\xa9\x41", "0xC3, 0xA9, 0x41"])
def test_notations_of_bytes(digits: str) -> None:
    assert in_pipe("decode", "--hex", digits).stdout == in_pipe("decode", "--hex", "C3 A9 41").stdout


OTHER_CORES = """
    units      | transcoder --to utf-16-le --hex 'F0 9F 98 80 41' | 4 41 0041
    wide units | --table utf-16 --hex '3D D8 00 DE'               | 0 D83D DE00 U+1F600
    same place | sanitizer --lanes 2 --hex 'E2 82 C3 A9'         | 1 82 3F
    report     | validator --hex 'C3 A9 FF'                       | 0 C3 A9 FF invalid byte at 2
    symbols    | remover --hex 07                                 | 0 07 07
"""


@pytest.mark.parametrize(("words", "row"), cases(OTHER_CORES))
def test_output_symbols_of_other_cores_are_a_table(words: str, row: str) -> None:
    lines = in_pipe("simulate", *shlex.split(words)).stdout.decode().splitlines()
    assert any(" ".join(line.split()).startswith(row) for line in lines[1:]), lines
    assert lines[0].startswith("offset  ")


# Colours.


def test_colours_on_a_terminal_alone() -> None:
    shown = on_terminal("simulate", "--hex", "FF")
    assert f"{RED}INVALID_BYTE{PLAIN}\n" in shown
    assert shown.endswith(f"{GREEN}the simulated decoder gave exactly the model's items{PLAIN}\n")
    assert "\x1b[3" not in on_terminal("simulate", "--hex", "FF", NO_COLOR="1")
    assert b"\x1b" not in in_pipe("simulate", "--hex", "FF").stdout
