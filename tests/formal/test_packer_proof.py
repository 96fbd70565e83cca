# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of the packer: they succeed, and they reject packers with a fault."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, ResetSignal, Signal, Value
from support.engines import requires_solver
from support.faults import Fault, combinational, no_fault, registered, with_fault, with_registers

from utf8fpga.formal.packer_proof import (
    PACKER_COVERS,
    PACKER_PROPERTIES,
    PackerKind,
    PackerProof,
    prove_packer,
)
from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.hdl.packer.store import RowMemory
from utf8fpga.hdl.payloads import item_layout
from utf8fpga.model import TABLE_3_7

pytestmark = requires_solver

WORD = item_layout(TABLE_3_7)


def kind_of(packer: type[Packer]) -> PackerKind:
    """The packer of a decoder with two lanes."""
    return PackerKind.of(packer(WORD, 2))


@pytest.mark.proof
def test_proved() -> None:
    """All properties in one test, since they share the induction."""
    for wanted in PACKER_PROPERTIES:
        results = prove_packer(kind_of(Packer), wanted)
        assert [result.verdict for result in results if not result.proved] == []
        assert len(results) == (len(PACKER_COVERS) if wanted == "cover" else 1)


@pytest.mark.proof
def test_without_the_solver_only_what_needs_it_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    # A class of its own, whose induction has not been made by another test.
    packer = with_fault(Packer, no_fault)
    (result,) = prove_packer(kind_of(packer), "steady")
    assert (result.proved, result.note) == (None, "python-sat is not installed: pip install 'utf8fpga[proofs]'")
    (result,) = prove_packer(kind_of(packer), "independence")
    assert result.proved


def test_an_unknown_property_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^unknown property 'recovery' "):
        prove_packer(kind_of(Packer), "recovery")


def test_the_proof_adds_nothing_to_the_packer_but_read_ports() -> None:
    lanes = 2
    proof = PackerProof(Packer(WORD, lanes))
    proved = cells_of(rtlil.convert(proof, name="top", ports=proof.ports), "top.dut.packer")
    shipped = cells_of(rtlil.convert(Packer(WORD, lanes), name="packer"), "packer")
    # One for each row of each memory of marks, and for each lane of the words. Words that wait are in submodules.
    marks = proof.packer.depth * len(proof.packer.store.mark_memories)
    assert proved - shipped == Counter({"$memrd_v2": marks + lanes})
    assert shipped <= proved


def cells_of(design: str, name: str) -> Counter[str]:
    """The cells and processes of a module, by type."""
    found = re.search(rf"^module \\{re.escape(name)}$(.*?)^end$", design, re.MULTILINE | re.DOTALL)
    assert found
    return Counter(re.findall(r"^  (?:cell )?(process|\$\w+) ", found[1], re.MULTILINE))


# Packers that must be rejected.


def switch_blocks(m: Module, packer: Any) -> None:
    """A switch of the first step gives its left word to both lanes."""
    left, right = packer.network.words[1][:2]
    m.d.sync += right.value.eq(packer.pipeline.at(packer.network.words[0][0], left.stage - 1))


FAULTS: dict[str, tuple[Fault, str]] = {
    "a bit of a word is inverted": (
        registered(
            lambda packer: packer.network.words[0][1].value[3].eq(~packer.sparse.payload.symbols[1].as_value()[3])
        ),
        "equivalence",
    ),
    "a switch gives one word to both lanes": (switch_blocks, "equivalence"),
    "the base is kept after a text": (
        registered(
            lambda packer: packer.begin.base[0].value.eq(packer.begin.base[0].value),
            when=lambda packer: packer.closed.pending,
        ),
        "equivalence",
    ),
    "a second row is not announced": (registered(lambda packer: packer.closed.pending.eq(0)), "equivalence"),
    "the end of a text is not marked": (
        combinational(lambda packer: packer.store.mark_memories[-1].banks[-1].write_ports[0].data[-1].eq(0)),
        "equivalence",
    ),
    "a row is at the output before it is complete": (
        combinational(lambda packer: packer.egress.count.up.eq(packer.closed.closed.value)),
        "equivalence",
    ),
    "beats are accepted without room": (
        registered(lambda packer: [packer.ready.eq(1), packer.paused.eq(0)]),
        "equivalence",
    ),
    "rows are not freed": (combinational(lambda packer: packer.egress.count.down.eq(0)), "stall"),
    "rows before a reset are counted": (
        combinational(lambda packer: packer.egress.count.reset.eq(ResetSignal())),
        "equivalence",
    ),
}
"""By name the fault, and the property that a random run violates."""


def check_is_rejected(packer: type[Packer], violated: str) -> None:
    """Check that the solver finds a counterexample, and that random runs violate a property."""
    (result,) = prove_packer(kind_of(packer), violated)
    assert result.note.startswith(("not inductive: ", "does not follow from the invariant"))
    assert (result.proved, result.method) == (False, "trace")


@pytest.mark.proof
@pytest.mark.parametrize(("fault", "violated"), FAULTS.values(), ids=FAULTS)
def test_a_packer_with_a_fault_is_rejected(fault: Fault, violated: str) -> None:
    check_is_rejected(with_fault(Packer, fault), violated)


DEPENDENT = {
    "valid on ready": lambda packer: packer.packed.valid.eq(packer.egress.count.more_than[0] & packer.packed.ready),
    "ready on valid": lambda packer: packer.sparse.ready.eq(packer.ready & packer.sparse.valid),
}


@pytest.mark.proof
@pytest.mark.parametrize("dependent", DEPENDENT.values(), ids=DEPENDENT)
def test_a_dependent_handshake_is_rejected(dependent: Any) -> None:
    (result,) = prove_packer(kind_of(with_fault(Packer, combinational(dependent))), "independence")
    assert result.proved is False


class HastyPacker(Packer):
    """A packer that states a latency one cycle too low."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.latency -= 1


@pytest.mark.exhaustive
def test_a_latency_that_is_too_low_is_rejected() -> None:
    check_is_rejected(HastyPacker, "latency")


class ShiftedPacker(Packer):
    """A packer whose first marks at power-up, or after a reset, are written to a row that is read later."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        pointers = self.store.mark_rows
        pointers[0] = Signal.like(pointers[0], name="shifted", init=3)


@pytest.mark.parametrize(
    ("packer", "proved"),
    [
        pytest.param(ShiftedPacker, False, marks=pytest.mark.proof, id="marks"),
        pytest.param(with_registers(Packer, ready={"init": 1}), True, marks=pytest.mark.exhaustive, id="ready"),
    ],
)
def test_initial_values(packer: type[Packer], proved: bool) -> None:
    """Pointers that differ at power-up are rejected; `ready` at power-up is harmless."""
    (result,) = prove_packer(kind_of(packer), "power-up")
    assert bool(result.proved) == proved


@pytest.mark.proof
def test_a_fault_without_effect_is_accepted() -> None:
    """So the injection itself is not the reason for which a packer is rejected."""
    same = with_registers(with_fault(Packer, no_fault, combinational(lambda _: [])), ready={})
    designs = {str(rtlil.convert(packer(WORD, 2), name="packer", emit_src=False)) for packer in (Packer, same)}
    assert len(designs) == 1
    (result,) = prove_packer(kind_of(same), "equivalence")
    assert result.proved


class OverwritingPacker(Packer):
    """A packer that writes its memories in cycles without a beat, too."""

    def elaborate(self, platform: object) -> Module:
        connect = RowMemory.connect

        def always(
            memory: RowMemory, m: Module, name: str, address: Value, entry: Value, read: Value, _: Value
        ) -> None:
            connect(memory, m, name, address, entry, read)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RowMemory, "connect", always)
            return super().elaborate(platform)


@pytest.mark.proof
def test_rows_that_wait_are_not_overwritten_in_cycles_without_a_beat() -> None:
    (result,) = prove_packer(kind_of(OverwritingPacker), "equivalence")
    assert (result.proved, result.note) == (False, "not inductive: marks")
