# SPDX-License-Identifier: BSD-2-Clause
"""What a person sees: tables of short texts, colours, names of written files, hints for this installation."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from support.cases import cases
from support.command import COMMAND, on_terminal, utf8fpga
from support.processes import started

from utf8fpga.cli.output import pip_install

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


def test_text_that_is_typed_needs_no_file() -> None:
    primary, secondary = pty.openpty()
    with started([*COMMAND, "decode"], stdin=secondary, stdout=subprocess.PIPE, stderr=secondary) as process:
        assert b"Ctrl-D" in os.read(primary, 1000)
        os.write(primary, b"h\xc3\xa9\n\x04")
        assert process.communicate() == ("hé\n".encode(), None)
        assert b"decoding" not in os.read(primary, 1000), "a bar would overwrite the text"
    os.close(primary)
    os.close(secondary)


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


# One spelling of encodings.


# Files that were written.


def test_written_files_are_named_on_a_terminal_only(tmp_path: Path) -> None:
    verilog, assertions, wave = (tmp_path / name for name in ("d.v", "d.sv", "w.vcd"))
    generate = ("generate", "-o", verilog, "--sva", assertions)
    shown = on_terminal(*generate)
    assert "writing decoder " in shown, "since many lanes take minutes"
    assert sorted(re.findall("wrote .*", shown)) == [f"wrote {assertions}", f"wrote {verilog}"]
    shown = on_terminal("simulate", "--hex", "41", "--vcd", wave)
    assert re.findall("wrote .*", shown) == [f"wrote {wave}"]
    assert on_terminal("table", "-o", "-") == in_pipe("table").stdout.decode()
    assert on_terminal("decode", "--hex", "41", "-o", "/dev/null") == ""
    for words in (generate, ("simulate", "--hex", "41", "--vcd", wave)):
        assert in_pipe(*words).stderr == b""


# Colours.


def test_colours_on_a_terminal() -> None:
    shown = on_terminal("simulate", "--hex", "FF")
    assert f"{RED}INVALID_BYTE{PLAIN}\n" in shown
    assert shown.endswith(f"{GREEN}the simulated decoder gave exactly the model's items{PLAIN}\n")
    assert f"{RED}utf8fpga:{PLAIN} cannot read '/nonexistent'" in on_terminal("decode", "/nonexistent")
    assert f"{RED}INVALID_BYTE{PLAIN}\n" in on_terminal("decode", "--hex", "FF")


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}])
def test_no_colours_where_they_are_not_wanted(variable: dict[str, str]) -> None:
    for words in (("simulate", "--hex", "FF"), ("decode", "--hex", "FF"), ("decode", "/nonexistent")):
        shown = on_terminal(*words, **variable)
        assert RED not in shown
        assert GREEN not in shown


def test_colours_in_a_pipe_only_if_they_are_required() -> None:
    plain, forced = in_pipe("simulate", "--hex", "FF"), in_pipe("simulate", "--hex", "FF", FORCE_COLOR="1")
    assert b"\x1b" not in plain.stdout + in_pipe("decode", "/nonexistent").stderr
    assert forced.stdout != plain.stdout == click.unstyle(forced.stdout.decode()).encode()
    assert in_pipe("decode", "/nonexistent", FORCE_COLOR="1").stderr.startswith(f"{RED}utf8fpga:{PLAIN}".encode())


# The bar of a soak.


# Hints.


def test_hint_names_the_pip_of_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = "pyserial is not installed: pip install 'utf8fpga[serial]'"
    other, own = tmp_path / "other", tmp_path / "own env"
    for folder in (other, own):
        folder.mkdir()
        (folder / "pip").write_text("#!/bin/sh\n")
        (folder / "pip").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    monkeypatch.setenv("PATH", f"{own}{os.pathsep}{other}")
    assert pip_install(message) == message
    for path in (str(other), ""):
        monkeypatch.setenv("PATH", path)
        expected = f"pyserial is not installed: '{own / 'python'}' -m pip install 'utf8fpga[serial]'"
        assert pip_install(message) == expected
