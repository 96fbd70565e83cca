# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of the packer: they succeed, and they reject packers with a fault."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib.data import StructLayout
from support.faults import Fault, combinational, no_fault, registered, with_fault, with_registers
from support.tiers import tiered

from utf8fpga.formal.packer_proof import (
    NARROW,
    PACKER_COVERS,
    PACKER_PROPERTIES,
    PackerProof,
    moves_bits_alike,
    prove_packer,
)
from utf8fpga.hdl.packer import packer as module
from utf8fpga.hdl.packer.packer import MovingBeat, Packer, Phase
from utf8fpga.hdl.payloads import item_layout
from utf8fpga.model import TABLE_3_7
from utf8fpga.model.forms import RFC_2279


@pytest.mark.parametrize(
    "lanes",
    [
        pytest.param(2, marks=pytest.mark.proof),
        *(pytest.param(lanes, marks=pytest.mark.exhaustive) for lanes in (3, 4, 8)),
    ],
)
def test_proved(lanes: int) -> None:
    """All properties in one test, since they share the induction."""
    for wanted in PACKER_PROPERTIES:
        results = prove_packer(lanes, wanted)
        assert [result.verdict for result in results if not result.proved] == []
        assert len(results) == (len(PACKER_COVERS) if wanted == "cover" else 1)


WIDE = item_layout(RFC_2279, kind=True, length=True)


@pytest.mark.parametrize(
    "symbol", tiered({"plain": item_layout(TABLE_3_7), "wide": WIDE}, ["wide"], tier=pytest.mark.proof)
)
@pytest.mark.parametrize("lanes", [2, *(pytest.param(lanes, marks=pytest.mark.proof) for lanes in (3, 8))])
def test_each_bit_of_a_word_is_moved_like_that_of_a_narrow_word(lanes: int, symbol: StructLayout) -> None:
    assert moves_bits_alike(Packer, lanes, symbol)


def last_word(packer: Any) -> Value:
    """The register of the first stage for the word in the last lane."""
    return stage_of(packer, Phase.INPUT).words[-1]


def only_if_wide(assignments: Any) -> Fault:
    """A fault in a register that a packer of narrow words does not have."""

    def fault(m: Module, packer: Any) -> None:
        if len(last_word(packer)) > 2:
            m.d.sync += assignments(packer)

    return fault


BIT_FAULTS = {
    "two bits of a word are exchanged": lambda packer: last_word(packer)[3:5].eq(
        Cat(packer.sparse.payload.symbols[-1].as_value()[n] for n in (4, 3))
    ),
    "a bit is inverted": lambda packer: last_word(packer)[3].eq(~packer.sparse.payload.symbols[-1].as_value()[3]),
    "a bit is constant": lambda packer: last_word(packer)[3].eq(0),
    "a bit is taken from another lane": lambda packer: last_word(packer)[3].eq(
        packer.sparse.payload.symbols[0].as_value()[3]
    ),
    "a bit decides whether there is a word": lambda packer: (
        stage_of(packer, Phase.INPUT)
        .present[-1]
        .eq(packer.sparse.payload.keep[-1] & ~packer.sparse.payload.symbols[-1].as_value()[3])
    ),
}


QUICK = ("two bits of a word are exchanged", "a bit decides whether there is a word")
"""The others change the same register in another way."""


@pytest.mark.parametrize("fault", tiered(BIT_FAULTS, QUICK, tier=pytest.mark.proof))
def test_a_packer_that_does_more_than_move_words_is_detected(fault: Any) -> None:
    assert not moves_bits_alike(with_fault(Packer, only_if_wide(fault)), 2, WIDE)


@pytest.mark.proof
def test_nothing_is_proved_of_a_packer_that_does_more_than_move_words() -> None:
    packer = with_fault(Packer, only_if_wide(BIT_FAULTS["a bit is inverted"]))
    (result,) = prove_packer(2, "equivalence", symbol=WIDE, packer=packer)
    assert result.proved is None
    assert result.note == "it does not only move words"


def test_an_unknown_property_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^unknown property 'recovery' "):
        prove_packer(2, "recovery")


@pytest.mark.parametrize("lanes", [2, *(pytest.param(lanes, marks=pytest.mark.proof) for lanes in (3, 8))])
def test_the_proof_adds_nothing_to_the_packer_but_read_ports(lanes: int) -> None:
    proof = PackerProof(Packer(NARROW, lanes))
    proved = cells_of(rtlil.convert(proof, name="top", ports=proof.ports), "top.dut.packer")
    shipped = cells_of(rtlil.convert(Packer(NARROW, lanes), name="packer"), "packer")
    # One for each row of the masks, and for each lane of the words.
    assert proved - shipped == Counter({"$memrd_v2": proof.packer.depth + lanes})
    assert shipped <= proved


def cells_of(design: str, name: str) -> Counter[str]:
    """The cells and processes of a module, by type."""
    found = re.search(rf"^module \\{re.escape(name)}$(.*?)^end$", design, re.MULTILINE | re.DOTALL)
    assert found
    return Counter(re.findall(r"^  (?:cell )?(process|\$\w+) ", found[1], re.MULTILINE))


# Packers that must be rejected.


def stage_of(packer: Any, phase: Phase) -> MovingBeat:
    """The registers of the last stage of a phase."""
    beats: list[MovingBeat] = [stage.beat for stage in packer.stages if stage.phase is phase]
    return beats[-1]


def last_down(packer: Any) -> dict[str, Value]:
    """The scalars of the beat that is about to be rotated."""
    return stage_of(packer, Phase.DOWN).scalars


def stored(packer: Any) -> dict[str, Value]:
    """The scalars of the beat that is written to the memories."""
    return stage_of(packer, Phase.AROUND).scalars


def total(packer: Any) -> Value:
    """The words in the row in which the next beat to be rotated begins, and those of that beat."""
    return packer.base + last_down(packer)["words"]


def rotated_the_wrong_way(m: Module, packer: Any) -> None:
    """The words are rotated down by `base`."""
    before, after = stage_of(packer, Phase.DOWN), stage_of(packer, Phase.AROUND)
    for base in range(packer.lanes):
        with m.If(packer.base == base):
            for lane in range(packer.lanes):
                source = (lane + base) % packer.lanes
                m.d.sync += [
                    after.words[lane].eq(before.words[source]),
                    after.present[lane].eq(before.present[source]),
                ]


def words_without_gaps_before_them_are_lost(m: Module, packer: Any) -> None:
    """A word that stays in its lane is lost."""
    gaps, moved = stage_of(packer, Phase.GAPS), stage_of(packer, Phase.DOWN)
    for lane in range(packer.lanes):
        stays = gaps.present[lane] & ((gaps.counts[lane - 1] == 0) if lane else 1)
        with m.If(stays):
            m.d.sync += moved.present[lane].eq(0)


def masks_written_to_the_other_memory(packer: Any) -> Any:
    """The write enables of the two memories are exchanged."""
    given = stored(packer)
    return [
        rows.write_ports[0].en.eq(Mux(given["row"][0] == parity, given["closes_next"], given["closes"]))
        for parity, rows in enumerate(packer.mask_memories)
    ]


def last_in_the_mask(value: Any) -> Fault:
    """The bit for the end of the text in the row in which a beat begins has this value, given the beat's scalars."""

    def fault(m: Module, packer: Any) -> None:
        given = stored(packer)
        for parity, rows in enumerate(packer.mask_memories):
            with m.If(given["row"][0] == parity):
                m.d.comb += rows.write_ports[0].data[packer.lanes].eq(value(given))

    return fault


def error_without_keep(packer: Any) -> Any:
    """The flag `error` at the output is that of the memory, even in lanes without a word."""
    symbols = packer.packed.payload.symbols
    at = symbols[0].shape()["error"].offset
    return [symbols[lane].error.eq(rows.read_ports[0].data[at]) for lane, rows in enumerate(packer.word_memories)]


def an_open_row_at_the_output(m: Module, packer: Any) -> None:
    """A beat is at the output, and is transferred, although no row is closed."""
    valid = (packer.rows_closed != packer.rows_read) | (stored(packer)["row"] == 5)
    m.d.comb += packer.packed.valid.eq(valid)
    with m.If(valid & packer.packed.ready):
        m.d.sync += packer.rows_read.eq(packer.rows_read + 1)


FAULTS: dict[str, tuple[Fault, str | None]] = {
    # Faults in the pipeline.
    "words are rotated the wrong way": (rotated_the_wrong_way, "equivalence"),
    "a gap in the first lane is not counted": (
        registered(lambda packer: stage_of(packer, Phase.GAPS).counts[0].eq(0)),
        "equivalence",
    ),
    "words without gaps before them are lost": (words_without_gaps_before_them_are_lost, "equivalence"),
    # Faults in the decision which rows are closed.
    "the second row is not closed": (
        registered(lambda packer: stored(packer)["closes_next"].eq(0)),
        "equivalence",
    ),
    "the base is kept after a flush": (
        registered(lambda packer: packer.base.eq(packer.base), when=lambda packer: last_down(packer)["idle"]),
        "equivalence",
    ),
    "the base is kept after a text": (
        registered(
            lambda packer: packer.base.eq(
                Mux(total(packer) >= packer.lanes, total(packer) - packer.lanes, total(packer))
            ),
            when=lambda packer: last_down(packer)["valid"] & last_down(packer)["last"],
        ),
        "equivalence",
    ),
    "no row is closed while the input is idle": (
        registered(
            lambda packer: [stored(packer)["closes"].eq(0), packer.row.eq(packer.row)],
            when=lambda packer: last_down(packer)["idle"],
        ),
        "latency",
    ),
    "idle while not ready": (
        registered(lambda packer: packer.stages[0].beat.scalars["idle"].eq(~packer.sparse.valid)),
        None,
    ),
    "every beat closes its row": (
        registered(
            lambda packer: [stored(packer)["closes"].eq(1), packer.row.eq(packer.row + 1)],
            when=lambda packer: (
                last_down(packer)["valid"] & ~last_down(packer)["last"] & (total(packer) < packer.lanes)
            ),
        ),
        "equivalence",
    ),
    # Faults in the memories.
    "the end of a text in a full row is lost": (
        last_in_the_mask(lambda given: given["last"] & ~given["closes_next"] & ~given["full"]),
        "equivalence",
    ),
    "the end of a text in both of its rows": (last_in_the_mask(lambda given: given["last"]), "equivalence"),
    "masks are written to the other memory": (combinational(masks_written_to_the_other_memory), "equivalence"),
    "words of the next row are written to this row": (
        combinational(
            lambda packer: [rows.write_ports[0].addr.eq(stored(packer)["row"]) for rows in packer.word_memories]
        ),
        "equivalence",
    ),
    "more rows are reserved than there are": (
        registered(lambda packer: packer.ready.eq(packer.rows_reserved < packer.depth + 1)),
        "equivalence",
    ),
    "rows are freed twice": (
        registered(lambda packer: packer.merged.eq(last_down(packer)["valid"])),
        "equivalence",
    ),
    "rows are not freed": (registered(lambda packer: packer.merged.eq(0)), "stall"),
    "error without keep": (combinational(error_without_keep), "equivalence"),
    # Violations of the streams' contract.
    "an open row at the output": (an_open_row_at_the_output, "equivalence"),
    "a beat is dropped that was not transferred": (
        registered(lambda packer: packer.rows_read.eq(packer.rows_read + 1), when=lambda packer: packer.packed.valid),
        "steady",
    ),
    "only a quarter of the rows is used": (
        registered(lambda packer: packer.ready.eq(packer.rows_reserved < packer.depth // 4)),
        "stall",
    ),
}
"""By name the fault, and the property that a random run violates, if one does."""


def check_is_rejected(packer: type[Packer], violated: str | None) -> None:
    """Check that the proof rejects a packer, with a trace if random runs violate a property."""
    (result,) = prove_packer(3, violated or "equivalence", packer=packer)
    assert not result.proved
    if violated:
        assert (result.proved, result.method) == (False, "trace")


@pytest.mark.parametrize(
    ("fault", "violated"),
    [
        pytest.param(*case, id=name, marks=pytest.mark.proof if n < 3 else pytest.mark.exhaustive)
        for n, (name, case) in enumerate(FAULTS.items())
    ],
)
def test_a_packer_with_a_fault_is_rejected(fault: Fault, violated: str | None) -> None:
    check_is_rejected(with_fault(Packer, fault), violated)


@pytest.mark.exhaustive
def test_a_latency_that_is_too_low_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    hasty, latency = with_fault(Packer, no_fault), Packer(NARROW, 3).latency
    monkeypatch.setattr(hasty, "latency", latency - 1)
    check_is_rejected(hasty, "latency")


@pytest.mark.exhaustive
@pytest.mark.parametrize("strobe", ["valid", "idle"])
def test_a_strobe_that_a_reset_does_not_clear_is_rejected(monkeypatch: pytest.MonkeyPatch, strobe: str) -> None:
    strobes = ("valid", "idle", "closes", "closes_next")
    monkeypatch.setattr(module, "_STROBES", [name for name in strobes if name != strobe])
    check_is_rejected(with_fault(Packer, no_fault), None)


@pytest.mark.exhaustive
def test_a_base_that_a_reset_does_not_clear_is_rejected() -> None:
    check_is_rejected(with_registers(Packer, base={"reset_less": True}), "equivalence")


@pytest.mark.proof
def test_valid_that_depends_on_ready_is_rejected() -> None:
    dependent = combinational(
        lambda packer: packer.packed.valid.eq((packer.rows_closed != packer.rows_read) & packer.packed.ready)
    )
    (result,) = prove_packer(2, "independence", packer=with_fault(Packer, dependent))
    assert result.proved is False


@pytest.mark.proof
def test_ready_that_depends_on_valid_is_rejected() -> None:
    dependent = combinational(lambda packer: packer.sparse.ready.eq(packer.ready & packer.sparse.valid))
    (result,) = prove_packer(2, "independence", packer=with_fault(Packer, dependent))
    assert result.proved is False


@pytest.mark.parametrize(
    ("register", "init", "proved"),
    [
        pytest.param("row", 3, False, marks=pytest.mark.proof),
        pytest.param("ready", 1, True, marks=pytest.mark.exhaustive),
    ],
)
def test_initial_values(register: str, init: int, proved: bool) -> None:
    """Row counters that differ at power-up are rejected; `ready` at power-up is harmless."""
    packer = with_registers(Packer, **{register: {"init": init}})
    (result,) = prove_packer(2, "power-up", packer=packer)
    assert bool(result.proved) == proved


@pytest.mark.proof
def test_a_fault_without_effect_is_accepted() -> None:
    """So the injection itself is not the reason for which a packer is rejected."""
    same = with_registers(with_fault(Packer, no_fault, combinational(lambda _: [])), base={}, row={})
    designs = {str(rtlil.convert(packer(NARROW, 2), name="packer", emit_src=False)) for packer in (Packer, same)}
    assert len(designs) == 1
    (result,) = prove_packer(2, "equivalence", packer=same)
    assert result.proved
