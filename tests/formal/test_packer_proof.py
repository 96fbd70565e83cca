# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of the packer: they succeed, and they reject packers with a fault."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

import pytest
from amaranth.back import rtlil
from support.changes import with_change

from utf8fpga.formal.packer_proof import PACKER_COVERS, PACKER_PROPERTIES, PackerProof, Words, prove_packer
from utf8fpga.hdl.packer import packer as module
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


@pytest.mark.exhaustive
def test_other_words() -> None:
    (result,) = prove_packer(2, "equivalence", words=Words(RFC_2279, kind=True, length=True))
    assert result.proved


def test_an_unknown_property_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^unknown property 'recovery' "):
        prove_packer(2, "recovery")


@pytest.mark.parametrize("lanes", [2, 3, 8])
def test_the_proof_adds_nothing_to_the_packer_but_read_ports(lanes: int) -> None:
    proof = PackerProof(module.Packer(TABLE_3_7, lanes))
    proved = cells_of(rtlil.convert(proof, name="top", ports=proof.ports), "top.dut.packer")
    shipped = cells_of(rtlil.convert(module.Packer(TABLE_3_7, lanes), name="packer"), "packer")
    # One for each row of the masks, and for each lane of the words.
    assert proved - shipped == Counter({"$memrd_v2": proof.packer.depth + lanes})
    assert shipped <= proved


def cells_of(design: str, name: str) -> Counter[str]:
    """The cells and processes of a module, by type."""
    found = re.search(rf"^module \\{re.escape(name)}$(.*?)^end$", design, re.MULTILINE | re.DOTALL)
    assert found
    return Counter(re.findall(r"^  (?:cell )?(process|\$\w+) ", found[1], re.MULTILINE))


# Packers that must be rejected.

changed = partial(with_change, module, "Packer")


BROKEN = {
    # Faults in the pipeline.
    "rotated the wrong way": ("(lane - (1 << step)) % self.lanes", "(lane + (1 << step)) % self.lanes", "equivalence"),
    "a gap not counted": (
        "counts=[Const(0, 1), *gaps[:-1]]",
        "counts=[Const(0, 1), Const(0, 1), *gaps[1:-1]]",
        "equivalence",
    ),
    "a word is lost": ("present.append(comes | stays)", "present.append(comes)", "equivalence"),
    # Faults in the decision which rows are closed.
    "the second row is not closed": (
        "closes_next = valid & full & last & (rest != 0)",
        "closes_next = Const(0, 1)",
        "equivalence",
    ),
    "the base is kept after a flush": ("Mux(idle | last, 0, rest)", "Mux(last, 0, rest)", "equivalence"),
    "the base is kept after a text": ("Mux(idle | last, 0, rest)", "Mux(idle, 0, rest)", "equivalence"),
    "no flush": (
        "closes = (valid & (full | last)) | (idle & (base != 0))",
        "closes = valid & (full | last)",
        "latency",
    ),
    "a flush while not ready": ('"idle": ~self.sparse.valid & ready', '"idle": ~self.sparse.valid', None),
    "every beat closes its row": (
        "closes = (valid & (full | last)) | (idle & (base != 0))",
        "closes = valid | (idle & (base != 0))",
        "equivalence",
    ),
    # Faults in the memories.
    "the end of a text is lost": (
        'given["last"] & ~given["closes_next"])',
        'given["last"] & ~given["closes_next"] & ~given["full"])',
        "equivalence",
    ),
    "an end twice": ('given["last"] & ~given["closes_next"])', 'given["last"])', "equivalence"),
    "masks in the memory of the other rows": ("is_here = row[0] == odd", "is_here = row[0] != odd", "equivalence"),
    "words of the next row in this row": ('Mux(lane < given["base"], following, row)', "row", "equivalence"),
    "more rows reserved than there are": (
        "ready.eq(inside < self.depth - 2)",
        "ready.eq(inside < self.depth + 1)",
        "equivalence",
    ),
    "rows freed twice": ("merged.eq(valid & ~opens)", "merged.eq(valid)", "equivalence"),
    "rows not freed": ("merged.eq(valid & ~opens)", "merged.eq(0)", "stall"),
    "error without keep": ('value & mask[lane] if name == "error" else value', "value", "equivalence"),
    # Violations of the streams' contract.
    "an open row at the output": ("valid = ended != reading", "valid = (ended != reading) | (row == 5)", "equivalence"),
    "a beat is dropped that was not transferred": (
        "with m.If(valid & self.packed.ready):",
        "with m.If(valid):",
        "steady",
    ),
    "a quarter of the rows": ("ready.eq(inside < self.depth - 2)", "ready.eq(inside < self.depth // 4)", "stall"),
    "latency too low": ("return 3 * stages_per_phase + 3", "return 3 * stages_per_phase + 2", "latency"),
    # Registers without a reset.
    "a beat survives a reset": ('"valid", "idle", "closes", "closes_next")', '"idle", "closes", "closes_next")', None),
    "a flush survives a reset": ('"valid", "idle", "closes", "closes_next")', '"valid", "closes_next")', None),
    "the base survives a reset": (
        "base = Signal(range(lanes))",
        "base = Signal(range(lanes), reset_less=True)",
        "equivalence",
    ),
}
"""By name of the fault: the text, its replacement, and the property that a random run violates, if one does."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.proof if n < 3 else pytest.mark.exhaustive) for n, name in enumerate(BROKEN)],
)
def test_a_packer_with_a_fault_is_rejected(name: str) -> None:
    old, new, violated = BROKEN[name]
    packer = changed(old, new)
    (result,) = prove_packer(3, violated or "equivalence", packer=packer)
    assert not result.proved
    if violated:
        assert (result.proved, result.method) == (False, "trace")


@pytest.mark.proof
def test_valid_that_depends_on_ready_is_rejected() -> None:
    dependent = changed("self.packed.valid.eq(valid)", "self.packed.valid.eq(valid & self.packed.ready)")
    (result,) = prove_packer(2, "independence", packer=dependent)
    assert result.proved is False


@pytest.mark.proof
def test_ready_that_depends_on_valid_is_rejected() -> None:
    dependent = changed("self.sparse.ready.eq(ready)", "self.sparse.ready.eq(ready & self.sparse.valid)")
    (result,) = prove_packer(2, "independence", packer=dependent)
    assert result.proved is False


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "row = Signal(range(self.depth))",
            "row = Signal(range(self.depth), init=3)",
            marks=pytest.mark.proof,
        ),
        pytest.param("ready = Signal()", "ready = Signal(init=1)", marks=pytest.mark.exhaustive),
    ],
)
def test_start_values(old: str, new: str) -> None:
    """Row counters that differ at power-up are rejected; `ready` at power-up is harmless."""
    (result,) = prove_packer(2, "power-up", packer=changed(old, new))
    assert bool(result.proved) == ("ready" in old)


@pytest.mark.proof
def test_a_change_without_a_fault_is_accepted() -> None:
    """So a packer with a fault is rejected for the fault, not for being made from changed source."""
    (result,) = prove_packer(
        2, "equivalence", packer=changed("return 3 * stages_per_phase + 3", "return 3 + 3 * stages_per_phase")
    )
    assert result.proved
