# SPDX-License-Identifier: BSD-2-Clause
"""The compiled engine is equal to Amaranth's simulator, cycle by cycle, and so are its errors; its cache is robust."""

from __future__ import annotations

import functools
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults import wrap
from support.processes import run, started, wait_until

from utf8fpga.hdl import Decoder, SerialDecoder
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import EncodingTable, InvalidArgumentError
from utf8fpga.model.practices import Practice
from utf8fpga.sim import ContractError, Run, Simulation
from utf8fpga.sim.engines import CompiledModel, Session, Transfers, compiled, gates
from utf8fpga.sim.simulation import Beat, Take, _Bench, beat_payload, text_beats
from utf8fpga.sim.strategies import pauses, stream_patterns, texts

try:
    compiled.find_compiler()
except ToolError as missing:
    pytest.skip(str(missing), allow_module_level=True)


class CompiledSimulation(Simulation):
    """`Simulation` on the compiled engine, with the same checks of the items."""

    @functools.cached_property
    def model(self) -> CompiledModel:
        return CompiledModel(self.decoder)

    def stream(
        self,
        beats: Iterator[Beat],
        take: Take,
        *,
        input_pauses: Sequence[bool] = (False,),
        output_pauses: Sequence[bool] = (False,),
        accepted: Callable[[int], None] | None = None,
        vcd: Path | None = None,
    ) -> int:
        bench = _Bench(self.decoder, self.item, iter(()), take, None)
        session = self.model.session(input_pauses=input_pauses, output_pauses=output_pauses, patience=bench.patience)
        for each in session.stream(beat_payload(self.decoder, beat) for beat in beats):
            for cycle in each.accepted if accepted else ():
                accepted(cycle)
            for payload, bench.clock, bench.shown in zip(each, each.transferred, each.shown, strict=True):
                bench.deliver(payload)
        return session.cycle


def outcome(simulation: Simulation, given: Sequence[Sequence[int]], patterns: dict[str, Any]) -> Run | str:
    """The result of a run, or the message of its error."""
    try:
        return simulation.run(given, **patterns)
    except (ContractError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


NINE_BITS = EncodingTable.parse("nine bits", "0..3 104 102..103 102..103", source="made for this test", unit_width=9)

CORES: dict[str, dict[str, Any]] = {
    "serial": {"kind": True, "length": True},
    "serial pipelined": {"pipeline": 2},
    "parallel 1": {"architecture": "parallel", "kind": True, "length": True},
    "parallel 2": {"lanes": 2, "packed": False, "kind": True, "length": True},
    "parallel 4 memory": {"lanes": 4, "packed": False, "buffer": "memory"},
    "parallel 4 registers": {"lanes": 4, "packed": False, "buffer": "registers"},
    "parallel 8": {"lanes": 8, "packed": False},
    "packed 4": {"lanes": 4, "packed": True},
    "refresh serial": {"refresh": 40},
    "refresh 2": {"lanes": 2, "packed": False, "refresh": 40},
    "each unit": {"practice": Practice.EACH_UNIT},
    "whole subsequence": {"practice": Practice.WHOLE_SUBSEQUENCE},
    "first error": {"practice": Practice.FIRST_ERROR},
    "9 bits": {"table": NINE_BITS, "lanes": 2, "packed": False},
}


@functools.cache
def both(name: str) -> tuple[Simulation, CompiledSimulation]:
    options = {**CORES[name]}
    arguments = [options.pop("table")] if "table" in options else []
    return Simulation(Decoder(*arguments, **options)), CompiledSimulation(Decoder(*arguments, **options))


@pytest.mark.parametrize("name", CORES)
def test_a_run_is_equal_to_one_in_the_python_simulator_in_every_cycle(name: str) -> None:
    python, fast = both(name)

    @settings(max_examples=20)
    @given(given=texts(python.decoder.table), patterns=stream_patterns())
    def check(given: list[tuple[int, ...]], patterns: dict[str, list[bool]]) -> None:
        assert outcome(fast, given, patterns) == outcome(python, given, patterns)

    check()


# Violations of the contract.


class FaultyDecoder(SerialDecoder):
    """A decoder with a fault inserted at its ports."""

    def __init__(self, insert_fault: Callable[[Module, SerialDecoder, SerialDecoder], None]) -> None:
        super().__init__(pipeline=1)
        self._insert_fault = insert_fault

    def elaborate(self, platform: object) -> Module:
        inner = SerialDecoder(pipeline=1)
        m = wrap(inner, self)
        self._insert_fault(m, self, inner)
        return m


def payload_changes_while_waiting(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    count = Signal(4)
    m.d.sync += count.eq(count + 1)
    m.d.comb += outer.items.payload.items[0].code_point.eq(inner.items.payload.items[0].code_point ^ count)


def valid_is_deasserted_while_waiting(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    waited = Signal()
    m.d.sync += waited.eq(inner.items.valid & ~outer.items.ready)
    m.d.comb += outer.items.valid.eq(inner.items.valid & ~waited)


def valid_is_never_asserted(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    m.d.comb += [outer.items.valid.eq(0), inner.items.ready.eq(0)]


def last_is_always_set(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    m.d.comb += outer.items.payload.last.eq(1)


def null_beats_are_asserted(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    m.d.comb += outer.items.payload.items[0].keep.eq(0)
    m.d.comb += outer.items.payload.items[0].error.eq(0)


def error_flag_stays(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    m.d.comb += [outer.items.payload.items[0].error.eq(1), outer.items.payload.items[0].keep.eq(0)]


@pytest.mark.parametrize(
    ("insert_fault", "message"),
    [
        (payload_changes_while_waiting, "the payload changed from"),
        (valid_is_deasserted_while_waiting, "valid was deasserted before the transfer of payload"),
        (valid_is_never_asserted, "no beat was transferred for 64 cycles"),
        (last_is_always_set, "last is set at the output before a text has ended"),
        (null_beats_are_asserted, "a beat with neither a word nor last"),
        (error_flag_stays, "the error flag of word 0 is set, but there is no word"),
    ],
)
def test_violations_of_the_contract_have_the_same_messages(
    insert_fault: Callable[[Module, SerialDecoder, SerialDecoder], None], message: str
) -> None:
    python, fast = (kind(FaultyDecoder(insert_fault)) for kind in (Simulation, CompiledSimulation))

    @settings(max_examples=20)
    @given(given=texts(), patterns=stream_patterns())
    def check(given: list[tuple[int, ...]], patterns: dict[str, list[bool]]) -> None:
        assert outcome(fast, given, patterns) == outcome(python, given, patterns)

    check()
    with pytest.raises(ContractError, match=message):
        fast.run([b"A\xc3\xa9\xe0\x80Z"] * 2, output_pauses=[True, True, False])


# Circuits that no decoder has.


class RandomCircuit(SerialDecoder):
    """A decoder's ports with an arbitrary circuit behind them, which transfers a beat in each cycle."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed

    def elaborate(self, platform: object) -> Module:
        m, draw = Module(), random.Random(self._seed)
        widths = [draw.randrange(1, 9) for _ in range(12)]
        registers = [
            Signal(width, name=f"r{n}", init=draw.getrandbits(width), reset_less=draw.random() < 0.3)
            for n, width in enumerate(widths)
        ]
        given: list[Any] = [Value.cast(self.units.payload), *registers]
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
        item = self.items.payload.items[0]
        m.d.comb += [
            self.units.ready.eq(self.items.ready),
            self.items.valid.eq(self.units.valid),
            self.items.payload.last.eq(self.units.payload.last),
            item.keep.eq(1),
            item.code_point.eq(Value.cast(given[-1]) ^ sum(each << n for n, each in enumerate(registers))),
        ]
        return m


@pytest.mark.parametrize("seed", range(8))
def test_random_circuits_are_simulated_alike(seed: int) -> None:
    draw = random.Random(seed)
    text = bytes(draw.randrange(256) for _ in range(200))
    python, fast = (kind(RandomCircuit(seed)) for kind in (Simulation, CompiledSimulation))
    assert fast.run([text]) == python.run([text])


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
    with pytest.raises(ToolError) as caught:
        gates.gate_level_c(netlist(x=cell))
    assert str(caught.value) == message


# Input in bulk.


def joined(parts: Iterator[Transfers]) -> tuple[bytes, list[int], list[int], list[int]]:
    found = list(parts)
    columns = [[n for each in found for n in getattr(each, name)] for name in ("shown", "transferred", "accepted")]
    return b"".join(each.payloads for each in found), *columns


@pytest.mark.parametrize("name", ["serial", "parallel 4 memory", "packed 4", "9 bits"])
def test_symbols_in_any_pieces_are_the_same_run_as_beats(name: str) -> None:
    _, fast = both(name)
    decoder, size = fast.decoder, 2 if name == "9 bits" else 1

    @settings(max_examples=100)
    @given(
        given=texts(decoder.table),
        separate=st.lists(st.booleans(), min_size=1, max_size=4),
        cuts=st.lists(st.integers(0, 80), max_size=6),
        input_pauses=pauses(),
        output_pauses=pauses(),
    )
    def check(given: list[tuple[int, ...]], separate: list[bool], cuts: list[int], **options: list[bool]) -> None:
        beats = [
            beat_payload(decoder, beat)
            for number, text in enumerate(given)
            for beat in text_beats(text, decoder.lanes, separate_end=separate[number % len(separate)])
        ]
        expected, cycles = fast.model.run(beats, **options)
        symbols = [unit for text in given for unit in text]
        ends = list(accumulate(map(len, given)))
        session = fast.model.session(**options)

        def parts() -> Iterator[Transfers]:
            places = [0, *sorted(min(cut, len(symbols)) for cut in cuts), len(symbols)]
            sent = 0
            for first, after in pairwise(places):
                final = after == len(symbols)
                some = [end for end in ends[sent:] if end <= after]
                sent += len(some)
                data = b"".join(unit.to_bytes(size, sys.byteorder) for unit in symbols[first:after])
                yield from session.send_symbols(
                    data, [end - first for end in some], more=not final, separate_ends=separate
                )
                if final:
                    break

        assert joined(parts()) == joined(iter([expected]))
        assert session.cycle == cycles

    check()


def test_long_input_needs_little_room_and_comes_out_in_pieces() -> None:
    _, fast = both("serial pipelined")
    draw = random.Random(0)
    text = bytes(draw.choice(b"A\xc3\xa9\xe2\x82\xac\xff") for _ in range(1 << 20))
    session = fast.model.session(output_pauses=compiled.random_pauses(1))
    characters = []
    for start in range(0, len(text), 1 << 16):
        final = start + (1 << 16) == len(text)
        for each in session.send_symbols(text[start : start + (1 << 16)], [1 << 16] * final, more=not final):
            assert len(each.payloads) <= 1 << 20
            words = memoryview(each.payloads).cast("Q")
            characters += [chr(word & 0x1FFFFF) for word in words if word >> 22 & 1]
    assert "".join(characters) == text.decode(errors="replace")


def test_reset_starts_the_same_run_again() -> None:
    _, fast = both("packed 4")
    session = fast.model.session(output_pauses=[False, True])

    def once() -> tuple[bytes, list[int], list[int], list[int]]:
        return joined(session.send_symbols(b"\xe2\x82\xacABC\xff", [7], more=False))

    first = once()
    session.reset()
    list(session.send_symbols(b"\xe2\x82ABCDEFGH\xf0\x90", more=True))
    session.reset()
    assert session.cycle == 0
    assert once() == first


def test_two_sessions_of_a_model_are_independent() -> None:
    _, fast = both("serial")
    first, second = fast.model.session(), fast.model.session()
    list(first.send_symbols(b"\xe2\x82", more=True))
    assert joined(second.send_symbols(b"\x80", [1], more=False)) == joined(
        fast.model.session().send_symbols(b"\x80", [1], more=False)
    )


def serial_session() -> Session:
    return both("serial")[1].model.session()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: both("serial")[1].model.session(input_pauses=[]), "input_pauses [] has no cycle without a pause"),
        (lambda: both("serial")[1].model.session(output_pauses=[True]), "output_pauses [True] has no cycle without"),
        (lambda: list(serial_session().send_payloads(b"abc", more=False)), "3 bytes are not a multiple of 8"),
        (lambda: list(serial_session().send_symbols(b"abc", more=False)), "the last packet has no end"),
        (lambda: list(serial_session().send_symbols(b"abc", [2, 1, 3], more=False)), r"ends [2, 1, 3] are not asc"),
        (lambda: list(serial_session().send_symbols(b"abc", [4], more=True)), "ends [4] are not ascending positions"),
        (lambda: list(serial_session().send_symbols(b"", more=True, separate_ends=[])), "separate_ends is empty"),
        (lambda: compiled.random_pauses(0, 1.0), "share 1.0 is not in 0..1 without 1"),
        (lambda: compiled.random_pauses(0, 0.5, 0), "length 0 is less than 1"),
    ],
)
def test_invalid_arguments_are_rejected(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        call()
    assert message in str(caught.value)


def test_random_pauses_depend_on_the_seed_only() -> None:
    assert compiled.random_pauses(1) == compiled.random_pauses(1) != compiled.random_pauses(2)
    assert abs(sum(compiled.random_pauses(3, 0.25)) / 65_521 - 0.25) < 0.02
    assert compiled.random_pauses(4, 0.999, 1) == [False]


# The cache and the tools.


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """The libraries that this process has loaded are not used again."""
    monkeypatch.setattr(compiled, "_loaded", {})


def works(model: CompiledModel) -> bool:
    _, cycles = model.run(beat_payload(Decoder(), beat) for beat in text_beats(b"AB", 1))
    return cycles == 3


def build_fails(*arguments: object) -> Path:
    raise AssertionError("the model is built again")


@pytest.mark.usefixtures("forget")
def test_model_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert works(CompiledModel(Decoder(), cache=tmp_path))
    monkeypatch.setattr(compiled, "_build", build_fails)
    assert works(CompiledModel(Decoder(), cache=tmp_path))
    monkeypatch.setattr(compiled, "_loaded", {})
    assert works(CompiledModel(Decoder(), cache=tmp_path))
    with pytest.raises(AssertionError, match="the model is built again"):
        CompiledModel(Decoder(kind=True), cache=tmp_path)
    assert len([each for each in tmp_path.iterdir() if each.name != "zig"]) == 1


@pytest.mark.usefixtures("forget")
def test_cache_that_cannot_be_written_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert works(CompiledModel(Decoder(), cache=tmp_path / "file" / "cache"))


PROGRAM = """
import sys
from pathlib import Path
from utf8fpga.hdl import Decoder
from utf8fpga.sim.engines import CompiledModel
CompiledModel(Decoder(), cache=Path(sys.argv[1]))
print("built")
"""


def test_damaged_library_is_replaced(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    run(command, check=True, stdout=subprocess.DEVNULL)
    (library,) = tmp_path.glob("*.so")
    library.write_bytes(b"damaged")
    run(command, check=True, stdout=subprocess.DEVNULL)
    assert library.stat().st_size > 1000


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
    monkeypatch.setattr(compiled, "_COMPILERS", ())
    monkeypatch.setattr(compiled.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolError) as caught:
        CompiledModel(Decoder(), cache=tmp_path)
    assert str(caught.value) == (
        "no C compiler is installed: pip install 'utf8fpga[compiled]', or install gcc or clang"
    )


@pytest.mark.usefixtures("forget")
def test_compiler_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-program -m32")
    with pytest.raises(ToolError, match=r"^CC names 'no-such-program', which is not a program$"):
        CompiledModel(Decoder(), cache=tmp_path)
    monkeypatch.setenv("CC", "false")
    with pytest.raises(ToolError, match=r"^the C compiler failed with status 1: it printed nothing$"):
        CompiledModel(Decoder(), cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("forget")
def test_model_compiled_by_zig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ziglang")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(compiled, "_COMPILERS", ())
    assert works(CompiledModel(Decoder(), cache=tmp_path))


@pytest.mark.benchmark
@pytest.mark.parametrize(("lanes", "packed", "ratio"), [(1, True, 1000), (16, False, 300), (16, True, 300)])
def test_compiled_model_is_faster(lanes: int, packed: bool, ratio: int) -> None:
    decoder = Decoder(lanes=lanes, packed=packed)
    draw = random.Random(0)
    text = bytes(draw.randrange(256) for _ in range(1 << 22))
    fast = CompiledSimulation(decoder)

    def speed(cycles: Callable[[bytes], int], text: bytes) -> float:
        begun = time.process_time()
        return cycles(text) / (time.process_time() - begun)

    def compiled_cycles(text: bytes) -> int:
        session = fast.model.session()
        for _ in session.send_symbols(text, [len(text)], more=False):
            pass
        return session.cycle

    assert works(CompiledModel(Decoder()))
    compiled_cycles(text[:1000])
    python = Simulation(decoder)
    python.run([text[:10]])
    slow = speed(lambda text: python.run([text]).clocks, text[: 400 * lanes])
    found = speed(compiled_cycles, text) / slow
    print(f"{decoder}: {found:.0f} times")
    assert found > ratio
