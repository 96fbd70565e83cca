# SPDX-License-Identifier: BSD-2-Clause
"""Registers with an enable."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Value


def loaded(register: Value, value: Value, enable: Value) -> Any:
    """The assignment of `value` to a register in the cycles in which `enable` is asserted, by a multiplexer in logic.

    On iCE40 the path to a clock enable is longer than that to a look-up table, and the flip-flops of a tile share it.
    """
    wide = enable.replicate(len(register))
    return register.eq((value & wide) | (register & ~wide))
