# SPDX-License-Identifier: BSD-2-Clause
"""The simulation itself: it detects violations of the stream contract and differences from the model."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from support.decoders import words
from support.faulty_cores import VIOLATIONS, PortFault, faulty_core, valid_is_never_asserted
from support.oracle import refusal

from utf8fpga.hdl import DecoderParameters, Word, build, decoder_core
from utf8fpga.hdl.window import Window
from utf8fpga.model import InvalidArgumentError, Item, decode
from utf8fpga.model.bounds import boundary_units
from utf8fpga.sim import HAS_GRAPH, ContractError, Simulation, compare, simulate
from utf8fpga.sim.simulation import ENGINES

TEXT = b"A\xc3\xa9\xe0\x80Z"


def faulty(fault: PortFault, **options: Any) -> Simulation:
    parameters = DecoderParameters(optimize="speed", kind=True, **options)
    return Simulation(faulty_core(parameters, fault))


def kind_is_lost(m: Module, outer: Any, inner: Any) -> None:
    m.d.comb += outer.output.payload.symbols[0].kind.eq(0)


KINDS = {"flag without kind": (kind_is_lost, r"cycle \d+: the error flag is 1, but the kind is Kind\.NONE")}


@pytest.mark.parametrize(("fault", "message"), (VIOLATIONS | KINDS).values(), ids=VIOLATIONS | KINDS)
def test_violation_of_the_contract_is_detected_by_both_engines(fault: PortFault, message: str) -> None:
    simulation = faulty(fault, lanes=2, packed=False)
    for engine in ENGINES if HAS_GRAPH else ENGINES[:1]:
        with pytest.raises(ContractError, match=f"^{message}$"):
            simulation.on(engine).run([TEXT[1:] * 9] * 2, output_pauses=[True, True, False])


@pytest.mark.smoke
def test_violation_of_the_contract_is_a_mismatch_with_a_reason() -> None:
    found = compare(faulty(valid_is_never_asserted), TEXT)
    assert len(found.units) == 1
    assert re.fullmatch(r"cycle \d+: no beat was transferred for 64 cycles", found.reason)
    assert f"  contract:  {found.reason}" in str(found).splitlines()


@pytest.mark.smoke
def test_missing_last_item_is_detected() -> None:
    def last_item_is_lost(m: Module, outer: Any, inner: Any) -> None:
        with m.If(inner.output.payload.last):
            m.d.comb += [outer.output.payload.keep.eq(0), outer.output.payload.symbols[0].error.eq(0)]

    found = compare(faulty(last_item_is_lost), TEXT)
    assert (found.units, found.expected, found.simulated) == ((0x41,), Word(0x41, None), None)


@pytest.mark.smoke
def test_additional_item_is_detected() -> None:
    def end_is_an_item(m: Module, outer: Any, inner: Any) -> None:
        m.d.comb += outer.output.payload.keep.eq(1)
        with m.If(~inner.output.payload.keep):
            m.d.comb += outer.output.payload.symbols[0].kind.eq(0)

    found = compare(faulty(end_is_an_item), b"A", separate_ends=[True])
    assert (found.units, found.expected, found.reason) == ((0x41,), None, "")


# What is given.


def test_decoder_that_reads_lanes_without_a_unit_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    classify = Window._classify

    def without_keep(self: Window, lanes: Any) -> None:
        classify(self, lanes)
        lanes.add("trail", self._each(lanes, self.control.is_trail))

    monkeypatch.setattr(Window, "_classify", without_keep)
    assert compare(Simulation(decoder_core(lanes=2, packed=False)), b"\xc2") is not None


@pytest.mark.smoke
def test_simulate_accepts_one_text_or_several(tmp_path: Path) -> None:
    texts = [TEXT, b"", b"\xc2"]
    assert simulate(TEXT) == [words(TEXT)]
    assert simulate(texts, separate_ends=[True]) == [words(text) for text in texts]
    assert simulate(texts, optimize="speed", vcd=tmp_path / "w.vcd") == [words(text) for text in texts]
    assert "$enddefinitions" in (tmp_path / "w.vcd").read_text()


def separated(text: bytes) -> memoryview:
    return memoryview(b"-".join(text[n : n + 1] for n in range(len(text))))[::2]


@pytest.mark.parametrize("make", [bytearray, memoryview, separated, lambda text: array("B", text)])
def test_any_bytes_like_object_is_one_text(make: Callable[[bytes], Any]) -> None:
    assert simulate(make(TEXT)) == [words(TEXT)]
    assert simulate([make(TEXT), make(b"")]) == [words(TEXT), []]


def test_what_is_no_symbol_or_no_core_is_rejected() -> None:
    for symbol in (300, -1):
        said = refusal(InvalidArgumentError, simulate, [[0x41], [0x41, symbol]], lanes=2)
        assert said == f"code unit {symbol} has more than 8 bits, or is negative"
    for other in (0.5, "e"):
        with pytest.raises(TypeError):
            simulate([[other]])
    said = refusal(InvalidArgumentError, build, "sanitizer")
    assert said.startswith("the parameters 'sanitizer' are those of no core: pass one of DecoderParameters(), ")


@pytest.mark.parametrize("name", ["input_pauses", "output_pauses", "null_beats"])
def test_patterns_of_pauses_only_are_rejected(name: str) -> None:
    run = Simulation().run
    assert refusal(InvalidArgumentError, run, [TEXT], **{name: [True]}) == f"{name} [True] has no False: include one"
    assert refusal(InvalidArgumentError, run, [TEXT], **{name: []}) == f"{name} [] has no False: include one"


def test_run_after_a_failed_run_is_correct() -> None:
    wrong = faulty(valid_is_never_asserted)
    for _ in range(2):
        with pytest.raises(ContractError):
            wrong.run([TEXT])
    once = Simulation()
    assert once.run([TEXT]).texts == once.run([TEXT]).texts == [words(TEXT)]


def test_compare_calls_back_with_each_item_and_each_unit() -> None:
    items: list[Item] = []
    counts: list[int] = []
    assert compare(Simulation(), iter(TEXT), on_item=items.append, on_unit=counts.append) is None
    assert items == list(decode(TEXT))
    assert counts == list(range(1, len(TEXT) + 1))


def test_boundary_units_are_every_bound_and_the_units_next_to_it() -> None:
    bounds = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0]
    bounds += [0xF1, 0xF3, 0xF4]
    near = {unit for bound in bounds for unit in (bound - 1, bound, bound + 1)} & set(range(256))
    assert boundary_units() == sorted(near | {0xFF})
