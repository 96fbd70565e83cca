# SPDX-License-Identifier: BSD-2-Clause
"""Registers that exist several times, each near its loads."""

from __future__ import annotations

from amaranth.hdl import ShapeLike, Signal


def duplicate(name: str, number: int, shape: ShapeLike = 1, *, init: int = 0, reset_less: bool = False) -> Signal:
    """One of several registers with equal values, each for a part of the lanes.

    A net to thousands of loads is slow because it is long. Synthesis merges registers that are equal by construction;
    the attribute `keep` of a duplicate prevents this.

    Args:
        number: which duplicate it is, from 0 on; part of its name.
    """
    register = Signal(shape, name=f"{name}_{number}", init=init, reset_less=reset_less)
    register.attrs["keep"] = 1
    return register
