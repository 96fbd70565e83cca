# SPDX-License-Identifier: BSD-2-Clause
"""The compiled engine is equal to Amaranth's simulator, cycle by cycle, and so are its errors."""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from support.engines import assert_equal_runs, requires_compiler
from support.faulty_cores import VIOLATIONS, FaultyCore, PortFault
from support.oracle import refusal
from support.tiers import tiered
from support.variants import variants

from utf8fpga.hdl import CORES, CoreParameters, DecoderParameters, SerialDecoder, build, decoder_core
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import TABLE_3_7, EncodingTable
from utf8fpga.sim import ContractError, Simulation, compare, simulate
from utf8fpga.sim.beats import patience_of
from utf8fpga.sim.engines import native
from utf8fpga.sim.engines.compiled import CompiledModel

pytestmark = requires_compiler


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
    python = Simulation(build(parameters))
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
    python = Simulation(FaultyCore(parameters, fault))
    return python, python.on("compiled")


TEXT = b"\xc3\xa9A\xe0\x80Z"


@pytest.mark.parametrize(("fault", "message"), tiered(VIOLATIONS, 1))
def test_violations_of_the_contract_have_the_same_messages(fault: PortFault, message: str) -> None:
    python, fast = faulty(fault)
    assert_equal_runs(python, fast, 20)
    with pytest.raises(ContractError, match=f"^{message}$"):
        fast.run([TEXT * 3] * 2, output_pauses=[True, True, False])


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
