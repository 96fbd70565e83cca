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
--lanes 4 | there is no option --lanes
generate --lane 4 | there is no option --lane; did you mean --lanes?
decode --jsn x | there is no option --jsn; did you mean --json?
decode a b | unexpected argument 'b': the usage is utf8fpga decode [OPTIONS] [FILE]
decode /nonexistent | cannot read '/nonexistent': No such file or directory
decode / | cannot read '/': Is a directory
decode '' | cannot read '': No such file or directory
decode --output | --output requires a value
decode text --hex 41 | give either FILE or --hex BYTES, not 'text' and --hex '41'
decode --hex 4G | --hex '4G' is not bytes in hexadecimal: write them as 'C2 41'
decode --practice maximal x | --practice 'maximal' is not one of maximal-subparts, start-of-a-sequence, each-unit, \
whole-subsequence, malformed-sequence, first-error
decode --practice each_unit --table cesu-8 --hex 41 | --practice each-unit is for tables only, and CESU-8 is a \
composition: leave it out
decode --table utf-9 x | --table 'utf-9' is not one of utf-8, cesu-8, modified-utf-8; did you mean utf-8?
table -o / | cannot write '/': Is a directory
table utf-16 | unexpected argument 'utf-16': the usage is utf8fpga table [OPTIONS]
table --list --format json | --format has no effect with --list: leave it out
table --format xml | --format 'xml' is not one of text, json, svg
vectors --format jso | --format 'jso' is not one of json, readmemh, schema; did you mean json?
generate --lanes 0 | --lanes '0' is not a number in 1..256
generate --lanes 257 | --lanes '257' is not a number in 1..256
generate --lanes x | --lanes 'x' is not a number in 1..256
generate --lanes | --lanes requires a value
generate --lanes 4 validator | unexpected argument 'validator': the usage is utf8fpga generate [CORE] [OPTIONS]
generate -o a.v -o b.v | -o/--output is given twice: leave out one
generate --lanes 2 --packed --sparse | --packed/--sparse is given twice: leave out one
generate encoder --table utf-8 | --table is an option of the cores decoder, sanitizer, validator: generate decoder \
--table ...
generate --name 2nd | '2nd' is not a Verilog identifier: use letters, digits and _, not a digit first
generate --sparse | --sparse has no effect with lanes 1: leave it out
generate --from utf-8 | --from is an option of the core transcoder: generate transcoder --from ...
generate encodr --lanes 2 | there is no core 'encodr'; did you mean encoder or decoder?
generate frob | there is no core 'frob'; the cores are decoder, encoder, transcoder, sanitizer, validator, remover
generate transcoder --to utf16-le | --to 'utf16-le' is not one of utf-8, utf-16-le, utf-16-be; did you mean \
utf-16-le or utf-16-be?
generate validator --kind | --kind is an option of the core decoder: generate decoder --kind ...
generate decoder extra | unexpected argument 'extra': the usage is utf8fpga generate decoder [OPTIONS]
generate -o d.v --testbench ./d.v | --output and --testbench are the same file './d.v': specify two files
generate --optimize fast | --optimize 'fast' is not one of area, speed
simulate | give either FILE, --hex BYTES or --soak LIMIT
simulate --hex 41 --output-pauses 11 | --output-pauses '11' must be 0s and 1s with at least one 0
simulate --hex 41 --input-pauses '' | --input-pauses '' must be 0s and 1s with at least one 0
simulate x y | unexpected argument 'y': the usage is utf8fpga simulate [CORE] [OPTIONS] [FILE]
simulate x --netlist ecp6 | --netlist 'ecp6' is not one of ice40, ecp5; did you mean ecp5?
simulate x --vcd z --netlist ice40 | --netlist ice40 has no waveform: leave out --vcd z
simulate --soak 10m --vcd x | --vcd has no effect with --soak: leave it out
simulate --soak 0kB | --soak '0kB' compares nothing: give more than 0
simulate --soak 10 | --soak '10' is neither a time such as 10m nor an amount such as 5GB
simulate --hex 41 --seed 1 | --seed has no effect without --soak: leave it out
simulate --hex 41 --dask x:1 | --dask has no effect without --soak: leave it out
simulate text --json -o - | --json and -o - both write to standard output: leave out one of them
simulate text --vcd - | --vcd - is standard output, to which the result is written: name a file
simulate text -o out --vcd ./out | -o and --vcd are the same file './out': specify two files
simulate remover --width 4 --hex '0F 10' | code unit 16 at offset 1 of text 0 is not an integer of 4 bits: give one \
in 0..0xf
simulate encodr | there is no core 'encodr'; did you mean encoder or decoder?
prove serial-are | there is no configuration 'serial-are'; did you mean serial-area or serial-area-kind?
prove frob | there is no configuration 'frob'; prove --list lists them
prove serial-area --optimize speed | configuration 'serial-area' is a whole core: leave out the options that choose \
one
prove serial-area --property stedy | --property 'stedy' is not one of equivalence, steady, stall, latency, \
independence, netlist-ice40, netlist-ecp5, verilog; did you mean steady?
prove --list serial-area | [CONFIG]... has no effect with --list: leave it out
prove serial-area --record /nonexistent | cannot read '/nonexistent/README.md': No such file or directory
prove serial-area --jobs 0 | --jobs '0' is not a number in 1..1024
prove serial-area --jobs 2 --dask x:1 | --jobs 2 has no effect with --dask, where the cluster schedules: leave it \
out
bench --device hx9k | --device 'hx9k' is not one of hx8k, up5k, ecp5-85k, ecp5-85k-8; did you mean hx8k?
bench --seeds 0 | --seeds '0' is not a number in 1..100
bench --top x | --top has no effect without --against: leave it out
bench --against /nonexistent.v | cannot read '/nonexistent.v': No such file or directory
bench --software --lanes 4 | --lanes has no effect with --software: leave it out
bench --record /nonexistent | cannot read '/nonexistent/README.md': No such file or directory
check | FILE... is missing
check none.v | cannot read 'none.v': No such file or directory
check none.v --ports none.toml | cannot read 'none.toml': No such file or directory
boards icebreakr | unexpected argument 'icebreakr': the usage is utf8fpga boards [OPTIONS]
build | BOARD is missing
build icebraker | there is no board 'icebraker'; did you mean icebreaker or icebreaker-bitsy?
build arty-a7-35 | board arty-a7-35 cannot be built: no open tools for xilinx
build tinyfpga-ax1 | board tinyfpga-ax1 cannot be built: the platform has no clock
build icebreaker --baud 5000000 | baud rate 5000000 is not in 1..3000000: a bit has at least 4 cycles of 12 MHz
build icebreaker --baud 0 | --baud '0' is not a number in 1..2147483647
build icebreaker --self-test --form utf-8 | --form has no effect with --self-test: leave it out
build upduino-v1 --program | no command is known that loads a bitstream into upduino-v1: build without --program
build icebreaker --form text | --form 'text' is not one of words, utf-8
build icebreaker --seed -1 | --seed '-1' is not a number in 0..2147483647
talk | PORT is missing
talk virtual:icebreakr x | there is no board 'icebreakr'; did you mean icebreaker or icebreaker-bitsy?
talk virtual:icebreaker x --check --json | --json has no effect with --check, which prints no items: leave it out, or \
give -o FILE
talk /nonexistent x | port '/nonexistent': there is no such port
talk virtual:icebreaker /nonexistent | cannot read '/nonexistent': No such file or directory
demo now | unexpected argument 'now': the usage is utf8fpga demo [OPTIONS]
talk icebreaker x | 'icebreaker' is a board and no port: virtual:icebreaker is this board in simulation
"""
"""Command lines, and the line that each prints."""


@pytest.mark.parametrize("line", MESSAGES.splitlines(), ids=lambda line: line.split(" | ")[0])
@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
def test_wrong_use_is_one_line_and_status_2(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words, message = line.split(" | ")
    done = utf8fpga(*shlex.split(words))
    assert (done.stderr.decode(), done.stdout, done.returncode) == (f"utf8fpga: {message}\n", b"", 2)
    assert not list(tmp_path.iterdir())
