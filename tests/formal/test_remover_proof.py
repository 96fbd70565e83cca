# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of removers, and of decoders whose input may have gaps."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from support.tiers import tiered

from utf8fpga.formal.aiger import Aig, aig_of
from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES, Configuration
from utf8fpga.formal.properties import JUDGES
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import Packer, Remover, RemoverParameters
from utf8fpga.hdl import remover as module
from utf8fpga.sim.engines.compiled import core_rtlil

OF_PARTS = ("remover-2",)
"""Proved by the proofs of their parts."""

PROVED = {f"remover-1-{wanted}": ("remover-1", wanted) for wanted in PROPERTIES}
PROVED |= {f"{name}-{wanted}": (name, wanted) for name, wanted in product(OF_PARTS, (*JUDGES, "independence"))}


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("name", "wanted"),
    tiered(PROVED, [f"remover-1-{wanted}" for wanted in (*JUDGES, "independence")], tier=pytest.mark.proof),
)
def test_proved(name: str, wanted: str) -> None:
    results = prove(CONFIGURATIONS[name], wanted)
    assert [result.verdict for result in results if not result.proved] == []
    assert results


class Wired(wiring.Component):
    """A packer whose streams are connected field by field to those of a core."""

    packed = True

    def __init__(self, remover: Remover) -> None:
        assert isinstance(remover.closer, Packer)
        super().__init__(dict(remover.signature.members))
        self.lanes = remover.lanes
        symbol = remover.closer.sparse.payload.shape()["symbols"].shape.elem_shape
        self.closer = Packer(symbol, remover.lanes, flushes=False)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.closer = packer = self.closer
        for source, target in ((self.input, packer.sparse), (packer.packed, self.output)):
            m.d.comb += [target.valid.eq(source.valid), source.ready.eq(target.ready)]
            given, made = source.payload, target.payload
            m.d.comb += [made.last.eq(given.last), made.keep.eq(given.keep)]
            for lane in range(self.lanes):
                # Either is a number, or a structure with one field.
                m.d.comb += Value.cast(made.symbols[lane]).eq(Value.cast(given.symbols[lane]))
        return m


def graph(core: Any) -> Aig:
    return aig_of(core_rtlil(core), free=False)


@pytest.mark.parametrize("fields", tiered({"user": {"width": 3, "user": 2}, "number": dict[str, int]()}, 1))
def test_a_remover_of_several_lanes_is_its_packer(fields: dict[str, int]) -> None:
    """Gate by gate; so what is proved of the packer is proved of the remover."""
    core = RemoverParameters(lanes=3, **fields).build()
    found, expected = graph(core), graph(Wired(core))
    for name in ("gates", "latches", "outputs", "input_bits", "output_bits"):
        assert getattr(found, name) == getattr(expected, name), name


def null_beats_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_effective", lambda source: source.valid)


def ends_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_effective", lambda source: source.valid & source.payload.keep[0])


@pytest.mark.smoke
@pytest.mark.parametrize("fault", [null_beats_pass, ends_are_lost])
def test_faults_are_refuted(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    (result,) = prove(Configuration.of(RemoverParameters(lanes=1)), "equivalence")
    assert result.proved is False
    assert result.counterexample is not None
    # If no packet follows, a simulation ends before the null beat is at the output.
    assert result.counterexample.reproduced or fault is null_beats_pass


def test_names_and_parts() -> None:
    name = Configuration.of(RemoverParameters(lanes=3, width=16, user=1)).name
    assert name == "remover-3-width-16-user-1"
    assert Configuration.of(RemoverParameters(lanes=4)).verilog
    assert not Configuration.of(RemoverParameters(lanes=8)).verilog
    assert isinstance(CONFIGURATIONS["remover-2"].build(), Remover)
