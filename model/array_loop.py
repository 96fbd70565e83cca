# SPDX-License-Identifier: BSD-2-Clause
"""The loop of the array decoder, compiled by Numba. Requires the extra ``fast``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

_ZERO, _ONE = np.uint64(0), np.uint64(1)


def decode_units(
    units: NDArray[Any],
    outcomes: NDArray[Any],
    lead: int,
    is_single: NDArray[np.bool_],
    single_points: NDArray[np.uint32],
    weights: NDArray[np.int64],
    constants: NDArray[np.int64],
    replacement: int,
    columns: tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint8]],
) -> tuple[int, int]:
    """Write lengths, code points and errors of the items of `units` to `columns`, whose errors are 0 before.

    Args:
        units: the code units.
        outcomes: at the sum of a state and a unit the outcome, see `_Automaton`.
        lead: the smallest outcome that is a state.
        is_single: whether a unit is a sequence.
        single_points: its code point.
        weights: the weight of each unit of a sequence, for each mapping.
        constants: the constant of each mapping.
        replacement: the code point of an ill-formed item.
        columns: the arrays that are written.

    Returns:
        The number of items, and that of units in them: all but those of a sequence open at the end.
    """
    lengths, points, errors = columns
    # Indices without sign, since a negative one would count from the end, which takes a comparison.
    size = np.uint64(len(units))
    count = start = at = state = _ZERO
    while at < size:
        outcome = outcomes[state + units[at]]
        if outcome >= lead:
            state = np.uint64(outcome)
            at += _ONE
            continue
        if outcome < 0:
            at += _ONE
            mapping = np.uint64(~outcome)
            point = constants[mapping]
            for place in range(at - start):
                step = np.uint64(place)
                point += weights[mapping, step] * np.int64(units[start + step])
            points[count] = point
        else:
            if at == start:
                at += _ONE
            points[count] = replacement
            errors[count] = outcome
        lengths[count] = at - start
        count += _ONE
        while at < size and is_single[units[at]]:
            points[count] = single_points[units[at]]
            lengths[count] = 1
            count += _ONE
            at += _ONE
        start = at
        state = _ZERO
    return count, start  # type: ignore[return-value]  # both are integers, for Numba without sign


def _compiled() -> Any:
    try:
        return numba.njit(cache=True)(decode_units)
    except RuntimeError:  # There is no folder in which it could be cached.
        return numba.njit(decode_units)


compiled_loop: Callable[..., tuple[Any, Any]] = _compiled()
"""`decode_units`, compiled at the first call for a type of code units; the result is cached beside this file, or in the
user's cache where that is not writable."""
