# SPDX-License-Identifier: BSD-2-Clause
"""What wrong command lines print: one line on standard error that says what would be right, and exit status 2."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from support.command import utf8fpga

MESSAGES = """\
frobnicate | there is no command 'frobnicate'; utf8fpga -h lists them
simulat x | there is no command 'simulat'; did you mean simulate?
--lanes 4 | there is no option --lanes; utf8fpga -h lists them
help decode | there is no command 'help'; utf8fpga -h lists them
generate --lane 4 | there is no option --lane; did you mean --lanes?
decode --jsn x | there is no option --jsn; did you mean --json?
decode a b | got unexpected extra argument (b): the usage is utf8fpga decode [OPTIONS] [FILE]
decode /nonexistent | '/nonexistent': No such file or directory
decode '' | '': No such file or directory
decode --output | option '--output' requires an argument
decode text --hex 41 | give either FILE or --hex BYTES, not 'text' and --hex '41'
decode text -o ./text | -o './text' is the file that is read: give another name
decode --hex 4G | --hex '4G' is not bytes in hexadecimal: write them as 'C2 41'
decode --practice each-unit --table cesu-8 --hex 41 | --practice has no effect with --table cesu-8: leave it out
decode --table utf-9 x | invalid value for '--table': 'utf-9' is not one of utf-8, cesu-8, modified-utf-8; \
did you mean utf-8?
table utf-16 | got unexpected extra argument (utf-16): the usage is utf8fpga table [OPTIONS]
table --table cesu-8 | invalid value for '--table': 'cesu-8' is not one of utf-8, utf-16, utf-32, utf-8-of-rfc-2279, \
generalised-utf-8, cesu-8-code-units, modified-utf-8-code-units; did you mean cesu-8-code-units?
table -o / | '/': Is a directory
table -o /nonexistent/x | '/nonexistent/x': No such file or directory
generate --lanes 0 | invalid value for '--lanes': 0 is not in the range 1 to 256
generate --lanes x | invalid value for '--lanes': 'x' is not a valid number
generate --lanes 4 validator | got unexpected extra argument (validator): the usage is utf8fpga generate [CORE] \
[OPTIONS]
generate decode | there is no core 'decode'; did you mean decoder?
generate 4 | there is no core '4': it is one of decoder, encoder, transcoder, sanitizer, validator, remover
generate --to utf-16-le | there is no option --to; it belongs to encoder and transcoder
generate encoder --table utf-8 | there is no option --table; utf8fpga generate encoder -h lists them
generate --sparse | --packed/--sparse has no effect with one lane: leave it out
generate --sva - | '-' is given for two outputs: give each a file of its own
generate --name {LONG} | a name of 128 characters: Verilator finds at most 127
generate --name a__b | 'a__b' has __, which the names of inner modules have: use single _
generate --table cesu-8 | invalid value for '--table': 'cesu-8' is not one of utf-8, utf-8-of-rfc-2279, \
generalised-utf-8, utf-16
generate --testbench x.v -o x.v | 'x.v' is given for two outputs: give each a file of its own
generate --name 2nd | '2nd' is not a Verilog identifier: use letters, digits and _, not a digit first
generate --optimize fast | invalid value for '--optimize': 'fast' is not one of area, speed
simulate | give either FILE, --hex BYTES or --soak SECONDS
simulate --hex 41 --output-pauses 11 | --output-pauses '11' must be 0s and 1s with at least one 0
simulate --hex 41 --input-pauses '' | --input-pauses '' must be 0s and 1s with at least one 0
simulate --hex 41 --seed 3 | --seed has no effect without --soak: leave it out
simulate --table utf-16 --hex 41 | 1 byte at offset 0 of the input, but a symbol of 16 bits has 2 bytes
simulate --soak 10 --vcd x | --vcd has no effect with --soak: leave it out
simulate --soak 10m | invalid value for '--soak': '10m' is not a valid number
simulate remover --width 4 --hex '0F 10' | code unit 16 has more than 4 bits, or is negative
prove --all --optimize speed | --optimize has no effect with --all: leave it out
prove encoder --property stall | no property stall of encoder has a proof: simulate --soak compares it with the model
bench --device hx9k | invalid value for '--device': 'hx9k' is not one of hx8k, up5k, ecp5-85k, ecp5-85k-8; \
did you mean hx8k?
bench --top x | --top has no effect without --against: leave it out
bench --against /nonexistent.v | cannot read '/nonexistent.v': No such file or directory
bench --record . --lanes 4 | --lanes has no effect with --record: leave it out
bench --record /nonexistent | '/nonexistent/bench/results/figures.csv': No such file or directory
check text | text: the name of a file must end in .v (Verilog), .sv (SystemVerilog) or .il (RTLIL)
check none.v | cannot read 'none.v': No such file or directory
check none.v --ports none.toml | cannot read 'none.toml': No such file or directory
build | missing argument 'BOARD': the usage is utf8fpga build [OPTIONS] BOARD
build ulx3s | there is no board 'ulx3s'; did you mean ulx3s-12f or ulx3s-25f or ulx3s-45f or ulx3s-85f?
build icebraker | there is no board 'icebraker'; did you mean icebreaker or icebreaker-bitsy?
build arty-a7-35 | board arty-a7-35 cannot be built: no open tools for xilinx
build tinyfpga-ax1 | board tinyfpga-ax1 cannot be built: the platform has no clock
build icebreaker --baud 5000000 | baud rate 5000000 is not in 1..3000000: a bit has at least 4 cycles of 12 MHz
build icebreaker --baud 1 | invalid value for '--baud': 1 is not in the range 300 or more
build icebreaker --self-test --form utf-8 | --form has no effect with --self-test: leave it out
build upduino-v1 --program | no program is known that loads bitstreams into upduino-v1: leave out --program
talk icebreaker x | icebreaker is a board: give the name of its serial port, or virtual:icebreaker to simulate it
talk virtual:icebreakr x | there is no board 'icebreakr'; did you mean icebreaker or icebreaker-bitsy?
talk /nonexistent x | port '/nonexistent': there is no such port
talk virtual:icebreaker /nonexistent | '/nonexistent': No such file or directory
"""
"""Command lines, and the line that each prints."""


@pytest.mark.parametrize("line", MESSAGES.splitlines(), ids=lambda line: line.split(" | ")[0])
@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")  # rejected before its circuit is used
def test_wrong_use_is_one_line_and_status_2(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if line.startswith("talk /"):
        pytest.importorskip("serial", reason="requires the extra 'serial'")
    words, message = line.replace("{LONG}", "a" * 128).split(" | ")
    done = utf8fpga(*shlex.split(words))
    assert (done.stderr.decode(), done.stdout, done.returncode) == (f"utf8fpga: {message}\n", b"", 2)
    assert not list(tmp_path.iterdir())
