# SPDX-License-Identifier: BSD-2-Clause
"""The DFA derived from the rows against the definition of UTF-8, in every sequence of up to four bytes.

The expected values follow from the distribution of bits (Table 3-6) and the scalar values (D76) by arithmetic, without
the rows: a sequence is well-formed if it has the pattern of its length and its bits are a scalar value that is too
large for fewer bytes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from utf8fpga.model import TABLE_3_7
from utf8fpga.model.dfa import DFA, REJECT, START

np = pytest.importorskip("numpy", reason="requires the extra 'fast'")

BYTES = 256
OUTSIDE = 254
"""The rejecting state in an array, which is `REJECT` in the DFA."""

COMPLETE = 255
"""In an array: the sequence was complete before, and would begin anew."""

FIRST_OF_LENGTH = (0, 0, 0x80, 0x800, 0x10000)
"""By length the first scalar value that needs so many bytes."""

LEAD_BITS = (0, 7, 5, 4, 3)
"""By length the bits of the scalar value in the lead byte (Table 3-6)."""


@cache
def steps() -> Any:
    """By state and byte the next state; `COMPLETE` if the sequence is then complete."""
    dfa = DFA.of(TABLE_3_7)
    table = np.full((BYTES, BYTES), OUTSIDE, dtype=np.uint8)
    for state in range(len(dfa.states)):
        for byte in range(BYTES):
            after = dfa.step(state, byte)
            if after != REJECT:
                table[state, byte] = COMPLETE if after == START else after
    return table


def is_complete(lead: int, length: int) -> Any:
    """By the bytes after the lead byte whether the DFA completes a sequence with the last one, and none before it."""
    state = np.array(steps()[START, lead])
    for _ in range(length - 1):
        state = steps()[state]
    return state == COMPLETE


def is_well_formed(lead: int, length: int) -> Any:
    """The same by the definition."""
    pattern = 0 if length == 1 else 0xFF00 >> length & 0xFF
    free = (1 << LEAD_BITS[length]) - 1
    shape = (BYTES,) * (length - 1)
    if lead & ~free & 0xFF != pattern:
        return np.zeros(shape, dtype=bool)
    value, fits = np.array(lead & free, dtype=np.int32), np.array(True)
    trail = np.arange(BYTES, dtype=np.int32)
    for _ in range(length - 1):
        value = (value[..., None] << 6) | (trail & 0x3F)
        fits = fits[..., None] & (trail >> 6 == 2)
    is_scalar = (value <= 0x10FFFF) & ~((value >= 0xD800) & (value <= 0xDFFF))
    return fits & is_scalar & (value >= FIRST_OF_LENGTH[length])


@pytest.mark.parametrize("length", [1, 2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_sequences_are_complete_if_they_are_encodings_of_scalar_values(length: int) -> None:
    count = 0
    for lead in range(BYTES):
        given, expected = is_complete(lead, length), is_well_formed(lead, length)
        assert np.array_equal(given, expected), f"{lead:02X} ..., {length} bytes"
        count += int(expected.sum())
    ends = (*FIRST_OF_LENGTH[1:], 0x110000)
    surrogates = 0x800 if length == 3 else 0
    assert count == ends[length] - ends[length - 1] - surrogates
