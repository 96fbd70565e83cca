# SPDX-License-Identifier: BSD-2-Clause
"""Hypothesis strategies for the input of a decoder."""

from __future__ import annotations

from itertools import chain

from hypothesis import strategies as st

from utf8fpga.model import TABLE_3_7, EncodingTable
from utf8fpga.model.bounds import boundary_units


def well_formed(table: EncodingTable = TABLE_3_7) -> st.SearchStrategy[tuple[int, ...]]:
    """Well-formed texts, with all rows equally likely."""
    character = st.sampled_from(table.rows).flatmap(
        lambda row: st.integers(row.code_points.first, row.code_points.last).map(row.encode)
    )
    return st.lists(character, max_size=12).map(lambda sequences: tuple(chain.from_iterable(sequences)))


@st.composite
def damaged(draw: st.DrawFn, table: EncodingTable = TABLE_3_7) -> tuple[int, ...]:
    """Well-formed texts with units removed, duplicated, replaced or cut off at the end."""
    units = list(draw(well_formed(table)))
    for _ in range(draw(st.integers(1, 4))):
        if not units:
            break
        place = draw(st.integers(0, len(units) - 1))
        units[place : place + 1] = draw(
            st.sampled_from([[], [units[place]] * 2, [units[place] ^ 1 << table.unit_width - 1]])
            | st.integers(0, (1 << table.unit_width) - 1).map(lambda unit: [unit])
        )
    return tuple(units[: draw(st.integers(0, len(units)))] if draw(st.booleans()) else units)


def any_text(table: EncodingTable = TABLE_3_7) -> st.SearchStrategy[tuple[int, ...]]:
    """Texts that are well-formed or damaged, of range bounds and the units next to them, or of arbitrary units."""
    near_bounds = st.sampled_from(boundary_units(table))
    arbitrary = st.integers(0, (1 << table.unit_width) - 1)
    others = [st.lists(units, max_size=12).map(tuple) for units in (near_bounds, arbitrary)]
    return st.one_of(damaged(table), well_formed(table), *others)


def texts(table: EncodingTable = TABLE_3_7, max_size: int = 6) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Lists of texts, to be sent back to back."""
    return st.lists(any_text(table), max_size=max_size)


def pauses() -> st.SearchStrategy[list[bool]]:
    """Patterns of pauses, one value for each cycle, at least one of which is not a pause."""
    patterns = st.lists(st.booleans(), min_size=1, max_size=9).filter(lambda pattern: not all(pattern))
    return st.just([False]) | patterns


def stream_patterns() -> st.SearchStrategy[dict[str, list[bool]]]:
    """The stream options of `Simulation.run`: pauses, null beats and separate ends."""
    return st.fixed_dictionaries(
        {
            "input_pauses": pauses(),
            "output_pauses": pauses(),
            "null_beats": pauses(),
            "separate_ends": st.lists(st.booleans(), min_size=1, max_size=9),
        }
    )
