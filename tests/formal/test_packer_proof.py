# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of the packer: that they hold, and that they refuse packers that are wrong."""

from __future__ import annotations

from functools import partial

import pytest
from support.changes import with_change

from utf8fpga.formal.invariants.packer import PACKER_COVERS, PACKER_PROPERTIES, Words, prove_packer
from utf8fpga.hdl.packer import packer as module
from utf8fpga.model.forms import RFC_2279


@pytest.mark.parametrize(
    "lanes",
    [
        pytest.param(2, marks=pytest.mark.proof),
        *(pytest.param(lanes, marks=pytest.mark.exhaustive) for lanes in (3, 4, 8)),
    ],
)
def test_proved(lanes: int) -> None:
    """All properties in one test, since the induction is made once for all."""
    for wanted in PACKER_PROPERTIES:
        results = prove_packer(lanes, wanted)
        assert [result.verdict for result in results if not result.proved] == []
        assert len(results) == (len(PACKER_COVERS) if wanted == "cover" else 1)


@pytest.mark.exhaustive
def test_other_words() -> None:
    (result,) = prove_packer(2, "equivalence", words=Words(RFC_2279, kind=True, length=True))
    assert result.proved


def test_an_unknown_property_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^unknown property 'recovery' "):
        prove_packer(2, "recovery")


# Packers that must be refused.

changed = partial(with_change, module, "Packer")


BROKEN = {
    # In the pipeline: not even the registers are what they must be.
    "turned the wrong way": ("(lane - (1 << step)) % self.lanes", "(lane + (1 << step)) % self.lanes", "equivalence"),
    "a gap not counted": (
        "counts=[Const(0, 1), *gaps[:-1]]",
        "counts=[Const(0, 1), Const(0, 1), *gaps[1:-1]]",
        "equivalence",
    ),
    "a word stays behind": ("present.append(comes | stays)", "present.append(comes)", "equivalence"),
    # Where rows close.
    "the second row does not close": (
        "closes_next = valid & full & last & (rest != 0)",
        "closes_next = Const(0, 1)",
        "equivalence",
    ),
    "the base stays after a flush": ("Mux(idle | last, 0, rest)", "Mux(last, 0, rest)", "equivalence"),
    "the base stays after a text": ("Mux(idle | last, 0, rest)", "Mux(idle, 0, rest)", "equivalence"),
    "no flush": (
        "closes = (valid & (full | last)) | (idle & (base != 0))",
        "closes = valid & (full | last)",
        "latency",
    ),
    "flushes too early": ('"idle": ~self.sparse.valid & ready', '"idle": ~self.sparse.valid', None),
    "flushes always": (
        "closes = (valid & (full | last)) | (idle & (base != 0))",
        "closes = valid | (idle & (base != 0))",
        "equivalence",
    ),
    # In the memories.
    "the end of a text is lost": (
        'given["last"] & ~given["closes_next"])',
        'given["last"] & ~given["closes_next"] & ~given["full"])',
        "equivalence",
    ),
    "an end twice": ('given["last"] & ~given["closes_next"])', 'given["last"])', "equivalence"),
    "masks of the other rows": ("is_here = row[0] == odd", "is_here = row[0] != odd", "equivalence"),
    "words of the next row in this": ('Mux(lane < given["base"], following, row)', "row", "equivalence"),
    "too many rows": ("ready.eq(inside < self._depth - 2)", "ready.eq(inside < self._depth + 1)", "equivalence"),
    "places given back twice": ("merged.eq(valid & ~opens)", "merged.eq(valid)", "equivalence"),
    "places not given back": ("merged.eq(valid & ~opens)", "merged.eq(0)", "stall"),
    "an error beside nothing": ('value & mask[lane] if name == "error" else value', "value", "equivalence"),
    # The streams' contract.
    "shows what is not closed": ("valid = ended != reading", "valid = (ended != reading) | (row == 5)", "equivalence"),
    "a valid beat goes away": ("with m.If(valid & self.packed.ready):", "with m.If(valid):", "steady"),
    "half the rows": ("ready.eq(inside < self._depth - 2)", "ready.eq(inside < self._depth // 4)", "stall"),
    "promises too much": ("return 3 * rows + 3", "return 3 * rows + 2", "latency"),
    # After a reset.
    "a beat survives a reset": ('"valid", "idle", "closes", "closes_next")', '"idle", "closes", "closes_next")', None),
    "a flush survives a reset": ('"valid", "idle", "closes", "closes_next")', '"valid", "closes_next")', None),
    "the base survives a reset": (
        "base = Signal(range(lanes))",
        "base = Signal(range(lanes), reset_less=True)",
        "equivalence",
    ),
}
"""By a name: what is changed, and the property that a random run shows to be broken, if one does."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.exhaustive, pytest.mark.proof, []][(n < 3) + (n < 1)])
        for n, name in enumerate(BROKEN)
    ],
)
def test_a_broken_packer_is_refused(name: str) -> None:
    old, new, shown = BROKEN[name]
    packer = changed(old, new)
    (result,) = prove_packer(3, shown or "equivalence", packer=packer)
    assert not result.proved
    if shown:
        assert (result.proved, result.method) == (False, "trace")


@pytest.mark.proof
def test_valid_that_waits_for_ready_is_refused() -> None:
    curious = changed("self.packed.valid.eq(valid)", "self.packed.valid.eq(valid & self.packed.ready)")
    (result,) = prove_packer(2, "independence", packer=curious)
    assert result.proved is False


@pytest.mark.proof
def test_ready_that_looks_at_valid_is_refused() -> None:
    curious = changed("self.sparse.ready.eq(ready)", "self.sparse.ready.eq(ready & self.sparse.valid)")
    (result,) = prove_packer(2, "independence", packer=curious)
    assert result.proved is False


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "row = Signal(range(self._depth))",
            "row = Signal(range(self._depth), init=3)",
            marks=pytest.mark.proof,
        ),
        pytest.param("ready = Signal()", "ready = Signal(init=1)", marks=pytest.mark.exhaustive),
    ],
)
def test_start_values(old: str, new: str) -> None:
    """Rows that are out of step from the start are refused; to be ready at once is harmless."""
    (result,) = prove_packer(2, "power-up", packer=changed(old, new))
    assert bool(result.proved) == ("ready" in old)


@pytest.mark.proof
def test_the_source_as_it_is_makes_the_same_packer() -> None:
    """So what refuses the changed ones is the change."""
    (result,) = prove_packer(2, "equivalence", packer=changed("return 3 * rows + 3", "return 3 + 3 * rows"))
    assert result.proved
