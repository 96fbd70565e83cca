# SPDX-License-Identifier: BSD-2-Clause
"""Statements of several registers as those of one process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from utf8fpga.hdl.verilog.rtlil import Assign, Statement, Switch, Value


def grouped(blocks: Iterable[Sequence[Statement]]) -> list[list[Statement]]:
    """Blocks with the same conditions as one block each."""
    groups: dict[object, list[Sequence[Statement]]] = {}
    for block in blocks:
        if block:
            groups.setdefault(shape_of(block), []).append(block)
    return [merged(group) for group in groups.values()]


def shape_of(block: Sequence[Statement]) -> object:
    """The same for blocks with the same conditions in the same order."""
    shape: list[object] = []
    for each in block:
        if isinstance(each, Switch):
            shape.append((each.selector, tuple(patterns for patterns, _ in each.cases)))
        elif not shape or shape[-1] is not None:
            shape.append(None)
    return tuple(shape)


def merged(blocks: Sequence[Sequence[Statement]]) -> list[Statement]:
    """Blocks with the same shape as one, whose switches have the statements of all."""
    found: list[Statement] = []
    waiting = [list(block) for block in blocks]
    while any(waiting):
        for block in waiting:
            while block and isinstance(block[0], Assign):
                found.append(block.pop(0))
        switches = [each for block in waiting if block and isinstance(each := block.pop(0), Switch)]
        if switches:
            cases = []
            for number, (patterns, _) in enumerate(switches[0].cases):
                bodies = grouped(switch.cases[number][1] for switch in switches)
                cases.append((patterns, [statement for body in bodies for statement in body]))
            found.append(Switch(switches[0].selector, cases))
    return found


class Reset(NamedTuple):
    """The condition and the assignments of a reset, which are empty without one, and the other statements."""

    condition: Value
    first: Sequence[Statement]
    others: Sequence[Statement]


def split_reset(width: int, block: Sequence[Statement]) -> Reset:
    """The statements of a register, of which the last one may be a reset: it sets the whole register."""
    *others, last = block
    if others and isinstance(last, Switch) and [patterns for patterns, _ in last.cases] == [("1",)]:
        [(_, body)] = last.cases
        values = [bit for each in body if isinstance(each, Assign) for bit in each.value]
        if len(values) == width and not any(wire for wire, _ in values):
            return Reset(last.selector, body, others)
    return Reset((), [], block)
