# SPDX-License-Identifier: BSD-2-Clause
"""Statements of one wire, and those of several as one process."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from utf8fpga.hdl.verilog.rtlil import Assign, Bit, Statement, Switch, Value


def wires_of(values: Iterable[Value]) -> list[str]:
    """The wires that values have bits of."""
    return list(dict.fromkeys(wire for value in values for wire, _ in value if wire))


def only_wire(value: Value) -> str:
    """The wire that a value has all its bits of; else nothing."""
    wires = wires_of([value])
    return wires[0] if len(wires) == 1 else ""


def walk(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Statements, and those in the cases of switches."""
    for each in statements:
        yield each
        if isinstance(each, Switch):
            for _, body in each.cases:
                yield from walk(body)


def assignments(statements: Iterable[Statement]) -> list[Assign]:
    """The assignments among statements and in switches."""
    return [each for each in walk(statements) if isinstance(each, Assign)]


def assigned(statements: Iterable[Statement]) -> list[str]:
    """The wires that statements assign, in their order."""
    return wires_of(each.target for each in assignments(statements))


def by_wire(statements: Sequence[Statement]) -> dict[str, list[Statement]]:
    """For each wire what assigns it: at most one assignment, and switches behind it."""
    return {wire: _selected(statements, wire) for wire in assigned(statements)}


def _selected(statements: Iterable[Statement], wire: str, but: Collection[Bit] = ()) -> list[Statement]:
    """The assignments to a wire but some of its bits, of which none is assigned again beside an earlier assignment.

    Yosys takes an assignment behind a switch for one in front of it.
    """
    first: dict[Bit, Bit] = {}
    found: list[Statement] = []
    for each in statements:
        if isinstance(each, Switch):
            cases = [(patterns, _selected(body, wire, but)) for patterns, body in each.cases]
            if any(body for _, body in cases):
                found.append(Switch(each.selector, cases))
            continue
        pairs = zip(each.target, each.value, strict=True)
        bits = {target: value for target, value in pairs if target[0] == wire and target not in but}
        found = _selected(found, wire, bits)
        first |= bits
    ordered = sorted(first)
    return [Assign(tuple(ordered), tuple(first[bit] for bit in ordered)), *found] if first else found


def reset_first(width: int, statements: list[Statement]) -> list[Statement]:
    """The statements of a register, of which the last one may be a reset, as those of the two cases of the reset."""
    *others, last = statements
    if others and isinstance(last, Switch) and [patterns for patterns, _ in last.cases] == [("1",)]:
        [(patterns, body)] = last.cases
        if isinstance(body[0], Assign) and len(body[0].value) == width and not wires_of([body[0].value]):
            return [Switch(last.selector, [(patterns, body), ((), others)])]
    return statements


def grouped(blocks: Iterable[Sequence[Statement]]) -> list[list[Statement]]:
    """Blocks with the same conditions as one block each."""
    groups: dict[object, list[Sequence[Statement]]] = {}
    for block in blocks:
        groups.setdefault(_shape_of(block), []).append(block)
    return [_merged(group) for group in groups.values()]


def _shape_of(block: Sequence[Statement]) -> object:
    """The same for blocks with the same conditions, also behind a reset."""
    return tuple(
        (each.selector, *((patterns, None if patterns else _shape_of(body)) for patterns, body in each.cases))
        for each in block
        if isinstance(each, Switch)
    )


def _merged(blocks: Sequence[Sequence[Statement]]) -> list[Statement]:
    """Blocks with the same shape as one, whose switches have the statements of all."""
    found: list[Statement] = [each for block in blocks for each in block if isinstance(each, Assign)]
    for switches in zip(*([each for each in block if isinstance(each, Switch)] for block in blocks), strict=True):
        cases = []
        for number, (patterns, _) in enumerate(switches[0].cases):
            bodies = grouped(switch.cases[number][1] for switch in switches)
            cases.append((patterns, [statement for body in bodies for statement in body]))
        found.append(Switch(switches[0].selector, cases))
    return found
