# SPDX-License-Identifier: BSD-2-Clause
"""A component in Amaranth from elsewhere, with two streams, as a foreign core."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In

from utf8fpga.hdl.foreign import CoreError
from utf8fpga.hdl.foreign_core import WORD_BITS, ForeignCore
from utf8fpga.hdl.foreign_ports import FORMS, CheckedPorts
from utf8fpga.model import Practice

_INPUT_ROLES = ("last", "keep")
_OUTPUT_ROLES = ("error", "last", "keep")
_WORDS = {"code_point": "decoder", "unit": "transcoder"}
"""The kind of a core by the name of a field of its output."""


def component_core(component: wiring.Component, practice: Practice = Practice.MAXIMAL_SUBPARTS) -> ForeignCore:
    """A component as a foreign core.

    It has one input stream, one output stream, and no other inputs; its clock domain is ``sync``. A payload is a
    byte or a code point, or a structure with one field for this, of any name. Other fields, which may be absent, are
    `last`, `keep` (one bit for each byte or word) and, at the output, `error`. With several bytes or words, their field
    is an array, or all fields are in an array of structures, as in the cores of this library.

    A component whose output has nothing but `error` and `last` is a validator, and one whose output has a field `unit`
    is a transcoder.

    Args:
        practice: the replacement practice of its golden function.

    Raises:
        CoreError: the component has other ports, or is no core that can be checked, see `ForeignCore`.
    """
    name = type(component).__name__
    given, made = _streams(component, name)
    m = Module()
    m.submodules.component = component
    ports: list[Signal] = []

    roles: dict[str, dict[str, str]] = {"input": {}, "output": {}}

    def connect(side: str, role: str, value: Value, *, drives: bool) -> None:
        roles[side][role] = name = f"{side}_{role}"
        ports.append(signal := Signal(len(value), name=name))
        m.d.comb += value.eq(signal) if drives else signal.eq(value)

    main, leaves, _ = _fields(given.payload, name, "input", _INPUT_ROLES)
    connect("input", "byte", main, drives=True)
    for role, value in leaves.items():
        connect("input", role, value, drives=True)
    connect("input", "valid", given.valid, drives=True)
    connect("input", "ready", given.ready, drives=False)
    leaves = _leaves(made.payload)
    kind, form = "validator", "utf-16"
    if set(leaves) - {"error", "last"}:
        kind = "transcoder" if "unit" in leaves else "decoder"
        main, leaves, bits = _fields(made.payload, name, "output", _OUTPUT_ROLES)
        if kind == "decoder" and bits < WORD_BITS:
            words = [main.word_select(word, bits) for word in range(len(main) // bits)]
            main = Cat(Cat(word, Const(0, WORD_BITS - bits)) for word in words)
        connect("output", "code_point", main, drives=False)
        form = next((form for form, table in FORMS.items() if table.unit_width == bits), form)
    for role, value in leaves.items():
        connect("output", role, value, drives=False)
    connect("output", "valid", made.valid, drives=False)
    if not isinstance(made.ready, Const):
        connect("output", "ready", made.ready, drives=True)
    described = CheckedPorts(kind=kind, form=form, input=roles["input"], output=roles["output"])
    if fault := described.fault():
        raise CoreError(f"{name}: {fault}")
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        path = Path(folder) / f"{name}.il"
        path.write_text(rtlil.convert(m, name=name, ports=ports), encoding="utf-8")
        return ForeignCore([path], name, described, practice)


def _streams(component: wiring.Component, name: str) -> tuple[Any, Any]:
    """The input stream and the output stream."""
    found: dict[bool, list[Any]] = {True: [], False: []}
    for port, member in component.signature.members.items():
        if member.is_signature and isinstance(member.signature, stream.Signature) and not member.dimensions:
            found[member.flow is In].append(getattr(component, port))
        elif member.is_signature or member.flow is In:
            raise CoreError(f"{name}: the port {port!r} is neither a stream nor an output")
    if [len(found[True]), len(found[False])] != [1, 1]:
        raise CoreError(f"{name} has {len(found[True])} input and {len(found[False])} output streams, not 1 of each")
    given, made = found[True][0], found[False][0]
    if isinstance(given.valid, Const):
        raise CoreError(f"{name}: the input stream has no valid")
    return given, made


def _fields(payload: Any, name: str, side: str, roles: tuple[str, ...]) -> tuple[Value, dict[str, Value], int]:
    """The bytes or the words of a payload, its other fields that have a role, and the bits of one byte or word."""
    leaves = _leaves(payload)
    mains = [field for field in leaves if field in _WORDS] or [field for field in leaves if field not in roles]
    if len(mains) != 1:
        raise CoreError(
            f"{name}: the {side} must have one field beside {', '.join(roles)}; fields: {', '.join(leaves)}"
        )
    first = next(value for leaf, value in _each_leaf(payload) if leaf == mains[0])
    return leaves[mains[0]], {role: value for role, value in leaves.items() if role in roles}, len(first)


def _leaves(payload: Any) -> dict[str, Value]:
    """The fields of a payload by name; those of the elements of an array are concatenated."""
    found: dict[str, list[Value]] = defaultdict(list)
    for leaf, value in _each_leaf(payload):
        found[leaf].append(value)
    return {leaf: Cat(*values) for leaf, values in found.items()}


def _each_leaf(value: Any, name: str = "payload") -> Iterator[tuple[str, Value]]:
    layout = data.Layout.cast(value.shape()) if isinstance(value, data.View) else None
    if isinstance(layout, data.ArrayLayout):
        for number in range(layout.length):
            yield from _each_leaf(value[number], name)
    elif isinstance(layout, data.StructLayout):
        for field, _ in layout:
            yield from _each_leaf(value[field], str(field))
    else:
        yield name, Value.cast(value)
