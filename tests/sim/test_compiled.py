# SPDX-License-Identifier: BSD-2-Clause
"""The compiled engine is equal to Amaranth's simulator, cycle by cycle, and so are its errors; its cache is robust."""

from __future__ import annotations

import functools
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engines import assert_equal_runs, requires_compiler
from support.faulty_cores import VIOLATIONS, FaultyCore, PortFault
from support.oracle import refusal
from support.processes import run, started, wait_until
from support.tiers import tiered
from support.variants import variants

from utf8fpga.hdl import CORES, CoreParameters, DecoderParameters, SerialDecoder, decoder_core
from utf8fpga.hdl.decoder.parameters import Word
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import TABLE_3_7, EncodingTable, InvalidArgumentError, decode
from utf8fpga.sim import ContractError, Simulation, compare, simulate
from utf8fpga.sim.beats import BeatEncoder, StreamOptions, output_fields, patience_of, text_beats, with_null_beats
from utf8fpga.sim.engines import gates, native
from utf8fpga.sim.engines.compiled import CompiledModel, Gathered, Session, Transfers
from utf8fpga.sim.strategies import pauses, texts

pytestmark = requires_compiler


def model_of(simulation: Simulation) -> CompiledModel:
    return CompiledModel(simulation.core, simulation.parameters)


NINE_BITS = EncodingTable.parse("nine bits", "0..3 104 102..103 102..103", source="made for this test", unit_width=9)


DECODERS = [
    DecoderParameters(optimize="area", kind=True),
    DecoderParameters(optimize="speed"),
    DecoderParameters(lanes=2, packed=False, kind=True),
    DecoderParameters(lanes=4, packed=True),
    DecoderParameters(table=NINE_BITS, lanes=2, packed=False),
    DecoderParameters(lanes=4, kind=True),
]
"""A value of each option of a decoder."""

OTHERS = dict.fromkeys(each for kind in CORES.values() for each in variants(kind))
EXHAUSTIVE = [DecoderParameters(lanes=lanes, packed=packed) for lanes in (8, 16) for packed in (False, True)]


@functools.cache
def both(parameters: CoreParameters) -> tuple[Simulation, Simulation]:
    python = Simulation(parameters.build(), parameters)
    return python, python.on("compiled")


def check_that_engines_agree(parameters: CoreParameters, examples: int) -> None:
    # The texts for a core without a table are bytes.
    assert_equal_runs(*both(parameters), examples, getattr(parameters, "table", TABLE_3_7))


@pytest.mark.parametrize("parameters", tiered({each.name: each for each in DECODERS}, 4))
def test_a_run_is_equal_to_one_in_the_python_engine_in_every_cycle(parameters: CoreParameters) -> None:
    check_that_engines_agree(parameters, 20)


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [*OTHERS, *EXHAUSTIVE], ids=lambda each: each.name)
def test_engines_agree_for_every_core_and_every_value_of_each_option(parameters: CoreParameters) -> None:
    check_that_engines_agree(parameters, 50)


def test_the_registry_is_tested() -> None:
    assert {type(each) for each in OTHERS} == set(CORES.values())
    for kind in CORES.values():
        for name in kind.options():
            assert len({getattr(each, name) for each in OTHERS if type(each) is kind}) > 1, name


def test_beats_are_presented_and_accepted_in_the_order_of_the_cycles() -> None:
    events: dict[str, list[Any]] = {}
    for simulation in both(DECODERS[2]):
        log = events[simulation.engine] = []
        beats = with_null_beats(text_beats(b"\xe2\x82\xacABC\xff\xf0\x90" * 3, 4), [False, True, True])
        simulation.stream(
            beats,
            lambda symbol, last, valid_since, log=log: log.append((symbol, last, valid_since)),
            StreamOptions(input_pauses=[False, True, False], output_pauses=[True, False]),
            accepted=log.append,
            presented=log.append,
        )
    assert events["compiled"] == events["python"]
    assert len(events["python"]) > 40


def test_a_waveform_is_written_by_the_python_engine(tmp_path: Path) -> None:
    _, fast = both(DECODERS[0])
    assert fast.run([b"A\xff"], vcd=tmp_path / "wave.vcd") == fast.run([b"A\xff"])
    assert "$enddefinitions" in (tmp_path / "wave.vcd").read_text()


def test_function_and_class_select_the_engine() -> None:
    assert simulate(b"A\xc3", engine="compiled", lanes=2) == simulate(b"A\xc3", lanes=2)
    for call in (lambda: Simulation(engine="fast"), lambda: both(DECODERS[0])[0].on("fast")):
        assert refusal(ValueError, call) == "engine 'fast' is not one of python, compiled, netlist"


# Violations of the contract.


def faulty(fault: PortFault) -> tuple[Simulation, Simulation]:
    parameters = DecoderParameters(lanes=2, packed=False, optimize="speed")
    python = Simulation(FaultyCore(parameters, fault), parameters)
    return python, python.on("compiled")


TEXT = b"\xc3\xa9A\xe0\x80Z"


@pytest.mark.parametrize(("fault", "message"), tiered(VIOLATIONS, 1))
def test_violations_of_the_contract_have_the_same_messages(fault: PortFault, message: str) -> None:
    python, fast = faulty(fault)
    assert_equal_runs(python, fast, 20)
    with pytest.raises(ContractError, match=f"^{message}$") as caught:
        fast.run([TEXT * 3] * 2, output_pauses=[True, True, False])

    # With gathered symbols, the driver checks the lanes.
    session = model_of(fast).session(output_pauses=[True, True, False], gathers=True)
    sent = session.send_symbols(TEXT * 6, [3 * len(TEXT), 6 * len(TEXT)], more=False)
    assert refusal(ContractError, list, sent) == str(caught.value)


@pytest.mark.parametrize(
    "fault", tiered({name: fault for name, (fault, _) in VIOLATIONS.items()}, ["gap", "null beats", "valid deasserted"])
)
def test_differences_from_the_golden_function_are_reported_alike(fault: PortFault) -> None:
    python, _ = faulty(fault)
    options: dict[str, Any] = {"output_pauses": [True, False], "null_beats": [False, True]}
    found = [compare(python.on(engine), TEXT * 30, **options) for engine in ("python", "compiled")]
    assert found[0] is not None
    assert found[1] == found[0]


# Circuits that no decoder has.


class RandomCircuit(SerialDecoder):
    """A decoder's ports with an arbitrary circuit behind them, which transfers a beat in each cycle."""

    def __init__(self, seed: int) -> None:
        super().__init__(DecoderParameters())
        self._seed = seed

    def elaborate(self, platform: object) -> Module:
        m, draw = Module(), random.Random(self._seed)
        widths = [draw.randrange(1, 9) for _ in range(12)]
        registers = [
            Signal(width, name=f"r{n}", init=draw.getrandbits(width), reset_less=draw.random() < 0.3)
            for n, width in enumerate(widths)
        ]
        given: list[Any] = [Value.cast(self.input.payload), *registers]
        for number in range(2):
            depth = draw.choice([2, 3, 5, 8])
            m.submodules[f"memory{number}"] = memory = Memory(
                shape=draw.randrange(1, 9), depth=depth, init=[draw.getrandbits(8) & 1 for _ in range(depth)]
            )
            write = memory.write_port()
            clocked = draw.random() < 0.5
            read = memory.read_port(
                domain="sync" if clocked else "comb",
                transparent_for=(write,) if clocked and draw.random() < 0.5 else (),
            )
            m.d.comb += [write.addr.eq(draw.choice(registers)), write.data.eq(draw.choice(given))]
            m.d.comb += [write.en.eq(draw.choice(registers)), read.addr.eq(draw.choice(registers))]
            if clocked:
                m.d.comb += read.en.eq(draw.choice(registers))
            given.append(Mux(read.addr < depth, read.data, 0) if not clocked else read.data)
        for register in registers:
            source = draw.choice(
                [
                    lambda: draw.choice(registers),
                    lambda: draw.choice(given),
                    lambda: draw.choice(given) + draw.choice(given),
                    lambda: draw.choice(given) ^ draw.choice(given),
                    lambda: Mux(draw.choice(registers)[0], draw.choice(given), draw.choice(given)),
                ]
            )()
            if draw.random() < 0.5:
                with m.If(draw.choice(registers).any()):
                    m.d.sync += register.eq(source)
            else:
                m.d.sync += register.eq(source)
        beat = self.output.payload
        m.d.comb += [
            self.input.ready.eq(self.output.ready),
            self.output.valid.eq(self.input.valid),
            self.output.payload.last.eq(self.input.payload.last),
            beat.keep.eq(1),
            beat.symbols[0].code_point.eq(Value.cast(given[-1]) ^ sum(each << n for n, each in enumerate(registers))),
        ]
        return m


class MemoryOfThreeRows(SerialDecoder):
    """A decoder's ports with a memory, in which each unit writes 1 at its address and outputs what was there."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=1, depth=3, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        source, output = self.input, self.output
        m.d.comb += [
            Cat(write.addr, read.addr).eq(source.payload.symbols[0][:2].replicate(2)),
            write.data.eq(1),
            write.en.eq(source.valid & source.ready),
            source.ready.eq(output.ready),
            output.valid.eq(source.valid),
            output.payload.last.eq(source.payload.last),
            output.payload.keep.eq(source.payload.keep),
            output.payload.symbols[0].code_point.eq(read.data),
        ]
        return m


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_memory_has_no_row_beyond_the_last(engine: str) -> None:
    (found,) = Simulation(MemoryOfThreeRows(DecoderParameters()), engine=engine).run([bytes([2, 3, 2, 3])]).texts
    assert [item.code_point for item in found] == [0, 0, 1, 0]


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_the_input_may_pause_for_longer_than_a_core_may_be_stuck(engine: str) -> None:
    simulation = Simulation(decoder_core(), engine=engine)
    pause = [True] * (3 * patience_of(simulation.core))
    assert simulation.run([b"AB"], input_pauses=[False, *pause]).texts == [simulation.expected(b"AB")]


@pytest.mark.parametrize("seed", tiered({f"{seed}": seed for seed in range(8)}, 2))
def test_random_circuits_are_simulated_alike(seed: int) -> None:
    draw = random.Random(seed)
    text = bytes(draw.randrange(256) for _ in range(200))
    python = Simulation(RandomCircuit(seed))
    assert python.on("compiled").run([text]) == python.run([text])


def netlist(**cells: dict[str, Any]) -> dict[str, Any]:
    bit = {"direction": "input", "bits": [2]}
    ports = {"clk": bit, "in_payload": {**bit, "bits": [3]}, "out_payload": {"direction": "output", "bits": [4]}}
    return {"ports": ports, "cells": cells, "netnames": {}}


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({"type": "$_DLATCH_P_", "connections": {}}, "the compiled engine does not know the cell '$_DLATCH_P_' (x)"),
        (
            {"type": "$_DFF_P_", "connections": {"C": [3], "D": [3], "Q": [4]}},
            "the compiled engine simulates one clock only, 'clk', but the circuit has another",
        ),
        (
            {"type": "$_NOT_", "connections": {"A": [4], "Y": [4]}},
            "the compiled engine does not simulate a circuit with a combinational loop",
        ),
    ],
    ids=["cell", "clock", "loop"],
)
def test_what_cannot_be_simulated_is_rejected(cell: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError, match=f"^{re.escape(message)}$"):
        gates.gate_level_c(netlist(x=cell))


# Input in bulk.


def joined(parts: Iterable[Transfers]) -> tuple[bytes, list[int], list[int], list[int]]:
    found = list(parts)
    columns = [
        [n for each in found for n in getattr(each, name)] for name in ("valid_since", "transferred", "accepted")
    ]
    return b"".join(each.payloads for each in found), *columns


def gathered(parts: Iterable[Gathered]) -> list[list[int]]:
    """The symbols of each packet."""
    packets: list[list[int]] = [[]]
    for each in parts:
        symbols = memoryview(each.symbols).cast("Q").tolist()
        for first, after in pairwise([0, *each.ends, len(symbols)]):
            packets[-1] += symbols[first:after]
            packets.append([])
        packets.pop()
    assert packets.pop() == []
    return packets


@pytest.mark.parametrize("number", tiered({DECODERS[number].name: number for number in (0, 2, 3)}, 2))
def test_symbols_in_any_pieces_are_the_same_run_as_beats(number: int) -> None:
    parameters = DECODERS[number]
    _, fast = both(parameters)
    core, size, model = fast.core, 1 if parameters.table.unit_width == 8 else 2, model_of(fast)
    fields = output_fields(core)

    def word(symbol: int) -> Word:
        values = {name: symbol >> first & (1 << width) - 1 for name, (first, width) in fields.items()}
        return Word(values["code_point"], bool(values["error"]))

    @settings(max_examples=100)
    @given(
        given=texts(parameters.table),
        separate=st.lists(st.booleans(), min_size=1, max_size=4),
        null_beats=pauses(),
        cuts=st.lists(st.integers(0, 80), max_size=6),
        input_pauses=pauses(),
        output_pauses=pauses(),
    )
    def check(
        given: list[tuple[int, ...]],
        separate: list[bool],
        null_beats: list[bool],
        cuts: list[int],
        **options: list[bool],
    ) -> None:
        plain = (
            beat
            for position, text in enumerate(given)
            for beat in text_beats(text, core.lanes, separate_end=separate[position % len(separate)])
        )
        beats = map(BeatEncoder(core, core.parameters), with_null_beats(plain, null_beats))
        payloads = b"".join(
            beat.to_bytes(-(-len(Value.cast(core.input.payload)) // 64) * 8, "little") for beat in beats
        )
        by_beats = model.session(**options)
        expected = joined(by_beats.send_payloads(payloads, more=False))
        symbols = [unit for text in given for unit in text]
        ends = list(accumulate(map(len, given)))

        def parts(session: Session) -> Iterator[Any]:
            places = [0, *sorted(min(cut, len(symbols)) for cut in cuts), len(symbols)]
            sent = 0
            for first, after in pairwise(places):
                final = after == len(symbols)
                some = [end for end in ends[sent:] if end <= after]
                sent += len(some)
                data = b"".join(unit.to_bytes(size, sys.byteorder) for unit in symbols[first:after])
                yield from session.send_symbols(data, [end - first for end in some], more=not final)
                if final:
                    break

        by_symbols = model.session(null_beats=null_beats, separate_ends=separate, **options)
        assert joined(parts(by_symbols)) == expected
        by_gathering = model.session(null_beats=null_beats, separate_ends=separate, gathers=True, **options)
        words = [[word(symbol) for symbol in packet] for packet in gathered(parts(by_gathering))]
        assert words == [
            [Word(item.code_point, item.error is not None) for item in decode(text, parameters.table)] for text in given
        ]
        assert by_beats.cycle == by_symbols.cycle == by_gathering.cycle

    check()


def test_long_input_needs_little_room_and_comes_out_in_pieces() -> None:
    draw = random.Random(0)
    text = bytes(draw.choice(b"A\xc3\xa9\xe2\x82\xac\xff") for _ in range(1 << 20))
    session = model_of(both(DECODERS[1])[1]).session(output_pauses=[False, True, True, False, True], gathers=True)
    characters = []
    for start in range(0, len(text), 1 << 16):
        final = start + (1 << 16) == len(text)
        for each in session.send_symbols(text[start : start + (1 << 16)], [1 << 16] * final, more=not final):
            assert len(each.symbols) <= 1 << 20
            characters += [chr(symbol & 0x1FFFFF) for symbol in memoryview(each.symbols).cast("Q")]
    assert "".join(characters) == text.decode(errors="replace")


def test_reset_starts_the_same_run_again() -> None:
    session = model_of(both(DECODERS[3])[1]).session(output_pauses=[False, True])

    def once() -> tuple[bytes, list[int], list[int], list[int]]:
        return joined(session.send_symbols(b"\xe2\x82\xacABC\xff", [7], more=False))

    first = once()
    session.reset()
    list(session.send_symbols(b"\xe2\x82ABCDEFGH\xf0\x90", more=True))
    session.reset()
    assert session.cycle == 0
    assert once() == first


def test_two_sessions_of_a_model_are_independent() -> None:
    model = model_of(both(DECODERS[0])[1])
    first, second = model.session(), model.session()
    list(first.send_symbols(b"\xe2\x82", more=True))
    assert joined(second.send_symbols(b"\x80", [1], more=False)) == joined(
        model.session().send_symbols(b"\x80", [1], more=False)
    )


INVALID: list[tuple[Callable[[CompiledModel], Iterable[Any]], str]] = [
    (lambda model: [model.session(input_pauses=[])], "input_pauses [] has no cycle without a pause"),
    (lambda model: [model.session(output_pauses=[True])], "output_pauses [True] has no cycle without"),
    (lambda model: model.session().send_payloads(b"abc", more=False), "3 bytes are not a multiple of 8"),
    (lambda model: model.session().send_symbols(b"abc", more=False), "the last packet has no end"),
    (lambda model: model.session().send_symbols(b"abc", [2, 1, 3], more=False), "ends [2, 1, 3] are not asc"),
    (lambda model: model.session().send_symbols(b"abc", [4], more=True), "ends [4] are not ascending positions"),
    (lambda model: [model.session(separate_ends=[])], "separate_ends is empty"),
]


@pytest.mark.parametrize(("call", "message"), INVALID, ids=[message for _, message in INVALID])
def test_invalid_arguments_are_rejected(call: Callable[[CompiledModel], Iterable[Any]], message: str) -> None:
    assert message in refusal(InvalidArgumentError, lambda: list(call(model_of(both(DECODERS[0])[1]))))


# The cache and the tools.


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """The libraries that this process has loaded are not used again."""
    monkeypatch.setattr(native, "loaded", {})


def works(model: CompiledModel) -> bool:
    (found,) = model.session(gathers=True).send_symbols(b"AB", [2], more=False)
    return bytes(symbol & 0x7F for symbol in memoryview(found.symbols).cast("Q")) == b"AB"


def build_fails(*arguments: object) -> Path:
    raise AssertionError("the model is built again")


@pytest.mark.usefixtures("forget")
def test_model_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert works(CompiledModel(decoder_core(), cache=tmp_path))
    monkeypatch.setattr(native, "build", build_fails)
    assert works(CompiledModel(decoder_core(), cache=tmp_path))
    monkeypatch.setattr(native, "loaded", {})
    assert works(CompiledModel(decoder_core(), cache=tmp_path))
    assert "the model is built again" in refusal(AssertionError, CompiledModel, decoder_core(kind=True), cache=tmp_path)
    assert len([each for each in tmp_path.iterdir() if each.name != "zig"]) == 1


@pytest.mark.usefixtures("forget")
def test_cache_that_cannot_be_written_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert works(CompiledModel(decoder_core(), cache=tmp_path / "file" / "cache"))


PROGRAM = """
import sys
from pathlib import Path
from utf8fpga.hdl import decoder_core
from utf8fpga.sim.engines.compiled import CompiledModel
CompiledModel(decoder_core(), cache=Path(sys.argv[1]))
print("built")
"""


def rewrite(library: Path, change: Callable[[bytes], bytes]) -> None:
    """Write a library anew; this process has mapped the old file."""
    content = library.read_bytes()
    library.unlink()
    library.write_bytes(change(content))


def replace_by_folder(library: Path) -> None:
    library.unlink()
    (library / "folder").mkdir(parents=True)


@pytest.mark.usefixtures("forget")
def test_a_damaged_library_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CompiledModel(decoder_core(), cache=tmp_path)
    (library,) = tmp_path.glob("*.so")
    intact = library.read_bytes()
    built = []
    monkeypatch.setattr(native, "build", lambda *arguments: built.append(1) or build(*arguments))
    damages: list[Callable[[Path], None]] = [
        *(lambda path, size=size: rewrite(path, lambda whole: whole[:size]) for size in (0, 5000)),
        lambda path: rewrite(path, lambda whole: whole[:7000] + bytes(8) + whole[7008:]),
        replace_by_folder,
    ]
    for number, damage in enumerate(damages):
        damage(library)
        monkeypatch.setattr(native, "loaded", {})
        assert works(CompiledModel(decoder_core(), cache=tmp_path))
        assert len(built) == number + 1
        assert [path.read_bytes() for path in tmp_path.glob("*.so")] == [intact], "compilers are deterministic"


build = native.build

ON_A_SMALL_DISK = """
mount -t tmpfs -o size="$4" none "$1" || { echo no mount; exit; }
exec "$2" -c "$3" "$1"
"""


@pytest.mark.skipif(not shutil.which("unshare"), reason="util-linux's unshare is not installed")
@pytest.mark.parametrize("size", tiered({size: size for size in ("16k", "100k", "130k")}, ["16k", "130k"]))
def test_a_full_disk_is_one_line_with_the_path(size: str, tmp_path: Path) -> None:
    command = ["unshare", "-m", "sh", "-c", ON_A_SMALL_DISK, "sh"]
    command += [str(tmp_path), sys.executable, PROGRAM, size]
    done = run(command, capture_output=True, text=True)
    if (done.returncode and "unshare" in done.stderr) or "no mount" in done.stdout:
        pytest.skip("this user may not mount a file system")
    assert done.returncode == 1
    message = f"ToolError: the model cannot be compiled in {str(tmp_path)!r}: No space left on device"
    assert done.stderr.splitlines()[-1].endswith(message)


def test_several_processes_may_build_the_same_model_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with (
        started(command, stdout=subprocess.PIPE, text=True) as first,
        started(command, stdout=subprocess.PIPE, text=True) as second,
    ):
        assert [each.communicate()[0] for each in (first, second)] == ["built\n"] * 2
    assert [each.suffix for each in tmp_path.iterdir() if each.name != "zig"] == [".so"]


def test_interrupted_build_leaves_nothing(tmp_path: Path) -> None:
    compiler = tmp_path / "slow"
    compiler.write_text(
        f"#!/bin/sh\n[ \"$1\" = --version ] && exit\ntouch '{tmp_path}/begun'\nexec sleep 600\n", encoding="utf-8"
    )
    compiler.chmod(0o755)
    cache = tmp_path / "cache"
    command = ["env", f"CC={compiler}", sys.executable, "-c", PROGRAM, str(cache)]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until((tmp_path / "begun").exists, process, expected="the compiler")
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode != 0
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("forget")
def test_missing_compiler_is_named_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(native, "COMPILERS", ())
    monkeypatch.setattr(native.importlib.util, "find_spec", lambda name: None)
    assert refusal(ToolError, CompiledModel, decoder_core(), cache=tmp_path) == (
        "no C compiler is installed: pip install 'utf8fpga[compiled]', or install gcc or clang"
    )


@pytest.mark.usefixtures("forget")
def test_compiler_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-program -m32")
    with pytest.raises(ToolError, match=r"^CC names 'no-such-program', which is not a program$"):
        CompiledModel(decoder_core(), cache=tmp_path)
    monkeypatch.setenv("CC", "false")
    with pytest.raises(ToolError, match=r"^the C compiler failed with status 1: it printed nothing$"):
        CompiledModel(decoder_core(), cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("forget")
def test_model_compiled_by_zig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(native, "COMPILERS", ())
    assert works(CompiledModel(decoder_core(), cache=tmp_path))
