# SPDX-License-Identifier: BSD-2-Clause
"""The golden decoder: its state, the kinds of code units and tables that it accepts, and its messages."""

from __future__ import annotations

import json
import pickle
from array import array
from collections.abc import Callable, Iterator
from ctypes import c_uint8
from mmap import mmap
from typing import Any

import pytest
from support.oracle import items_of, plain, refusal

from utf8fpga.model import (
    CATALOGUE,
    DFA,
    MODIFIED_UTF_8,
    RFC_2279,
    TABLE_3_7,
    UTF_16,
    UTF_32,
    Decoder,
    EncodingTable,
    Item,
    Practice,
    decode,
    encode,
    encode_units,
    errors,
    is_well_formed,
    partition,
    sanitize,
    validate,
)
from utf8fpga.model.forms import COMPOSITIONS
from utf8fpga.model.render import render

# Chunks.

TEXTS = {
    "table_3_11_truncated": bytes.fromhex("E1 80 E2 F0 91 92 F1 BF 41"),
    "every_length": "A\xf1\u4e8c\U00010302".encode(),
    "ends_open": bytes.fromhex("41 F1 80 C3 F1 80 80"),
}
by_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)


@pytest.mark.smoke
def test_decode_reads_only_the_units_that_determine_an_item() -> None:
    taken: list[int] = []

    def units() -> Iterator[int]:
        for unit in b"A\xe1\x80B\xc3\xa9":
            taken.append(unit)
            yield unit

    reads = [(str(item), len(taken)) for item in decode(units())]
    assert reads == [("0+1 U+0041", 1), ("1+2 U+FFFD TRUNCATED", 4), ("3+1 U+0042", 4), ("4+2 U+00E9", 6)]


# State.


@pytest.mark.smoke
@by_text
def test_state_at_every_position_also_as_json(text: bytes) -> None:
    used = Decoder()
    for place in range(len(text) + 1):
        first = Decoder()
        items = first.decode(text[:place])
        state = first.getstate()
        assert (state[1], bytes(state[0])) == (sum(item.length for item in items), text[state[1] : place])
        used.decode(b"\xf0\x90" * (place % 2))
        used.setstate(json.loads(json.dumps(state)))
        assert used.getstate() == state
        assert plain(items + used.decode(text[place:], final=True)) == items_of(text)


KEPT = [
    *((b"A\xf0\x80\x80\xed\xa0\xffB\xe1\x80\xfc\x80", "utf-8", practice) for practice in Practice),
    (bytes.fromhex("41 EDA080 EDB080 EDA0 80 EDA080 FF"), "cesu-8", Practice.MAXIMAL_SUBPARTS),
]


@pytest.mark.parametrize(
    ("text", "table", "practice"), KEPT, ids=[f"{table}-{practice}" for _, table, practice in KEPT]
)
def test_state_of_every_practice_and_of_a_composition(text: bytes, table: str, practice: Practice) -> None:
    expected = list(decode(text, table, practice=practice))
    for place in range(len(text) + 1):
        first, second = Decoder(table, practice=practice), Decoder(table, practice=practice)
        items = first.decode(text[:place])
        second.decode(b"\xff\xe1")
        second.setstate(pickle.loads(pickle.dumps(first.getstate())))
        assert items + second.decode(text[place:], final=True) == expected, place


@pytest.mark.parametrize("units", [(0xE1, 0x41), (0x41,), (0xC3, 0xA9), (0x80,)])
def test_invalid_state_is_rejected_and_state_is_unchanged(units: tuple[int, ...]) -> None:
    decoder = Decoder()
    decoder.decode(b"AB\xf0\x90")
    assert refusal(ValueError, decoder.setstate, (units, 0)) == f"state {units} is not an open sequence of UTF-8"
    assert decoder.getstate() == ((0xF0, 0x90), 2)
    assert plain(decoder.decode(b"\x8c\x82", final=True)) == [(2, 4, 0x10302, None)]


# Invalid arguments.

NOT_UNITS = [(0x100, "0x100"), (-1, "-0x1"), (65.0, "65.0"), ("A", "'A'"), (b"A", "b'A'"), (None, "None")]


@pytest.mark.parametrize(("unit", "quoted"), NOT_UNITS)
def test_items_before_an_invalid_unit_are_yielded(unit: object, quoted: str) -> None:
    items = decode([0x41, 0xE1, unit])
    assert next(items) == Item(0, 1, 0x41, None)
    message = f"code unit {quoted} at offset 2 is not an integer in 0..0xff"
    assert refusal(ValueError, next, items) == message
    assert refusal(ValueError, is_well_formed, [0x41, 0xE1, unit]) == message


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("table", "code", "limit"), [(UTF_16, "H", 0xFFFF), (UTF_32, "I", 0xFFFF_FFFF)], ids=["UTF-16", "UTF-32"]
)
def test_units_of_16_and_32_bit_forms(table: EncodingTable, code: str, limit: int) -> None:
    assert [item.length for item in decode([limit], table)] == [1]
    message = f"{table.name} has code units of {table.unit_width} bits, not bytes: pass array({code!r}, data)"
    assert refusal(TypeError, decode, b"A\0B\0", table) == refusal(TypeError, Decoder(table).decode, b"A") == message
    message = refusal(ValueError, list, decode([0x41, limit + 1], table))
    assert message == f"code unit {limit + 1:#x} at offset 1 is not an integer in 0..{limit:#x}"


CALLS: dict[str, Callable[[object], object]] = {
    "decode": decode,
    "is_well_formed": is_well_formed,
    "Decoder": Decoder().decode,
    "practice": lambda data: decode(data, practice=Practice.WHOLE_SUBSEQUENCE),
    "partition": partition,
    "sanitize": sanitize,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_invalid_argument_is_rejected_before_iteration(call: Callable[[object], object]) -> None:
    for data, kind in (("text", "str: use text.encode(), or open the file with 'rb'"), (None, "NoneType"), (5, "int")):
        message = f"code units must be an iterable of integers such as bytes, not {kind}"
        assert refusal(TypeError, call, data) == message
    with open(__file__, "rb") as file:
        message = "code units must be bytes, not an open file: pass what its read() returns"
        assert refusal(TypeError, call, file) == message


def _mapped(text: bytes) -> mmap:
    """The text as a memory-mapped file."""
    mapped = mmap(-1, len(text))
    mapped[:] = text
    return mapped


KINDS: dict[str, Callable[[bytes], object]] = {
    **{kind.__name__: kind for kind in (bytes, bytearray, memoryview, list, tuple, iter)},
    "array": lambda text: array("B", text),
    "mmap": _mapped,
    "memoryview_of_mmap": lambda text: memoryview(_mapped(text)),
    "strided": lambda text: memoryview(bytes(unit for unit in text for _ in range(2)))[::2],
    "signed": lambda text: array("i", list(text)),
    "of_16_bits": lambda text: memoryview(array("H", list(text))),
    "ctypes": lambda text: (c_uint8 * len(text)).from_buffer_copy(text),
}


@pytest.mark.smoke
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_code_units_in_any_iterable_or_buffer(kind: Callable[[bytes], object]) -> None:
    text = TEXTS["table_3_11_truncated"]
    for practice in Practice:
        assert list(decode(kind(text), practice=practice)) == list(decode(text, practice=practice))
        assert Decoder(practice=practice).decode(kind(text), final=True) == list(decode(text, practice=practice))
    assert plain(decode(kind(text))) == plain(Decoder().decode(kind(text), final=True)) == items_of(text)
    assert not is_well_formed(kind(text))
    assert is_well_formed(kind("\xe9\U00010302".encode()))
    for function in (errors, partition):
        assert list(function(kind(text))) == list(function(text))
    assert (validate(kind(text)), sanitize(kind(text))) == (validate(text), sanitize(text))


WITH_A_TABLE: dict[str, Callable[[Any], object]] = {
    "decode": lambda table: list(decode(b"A", table)),
    "errors": lambda table: list(errors(b"A", table)),
    "is_well_formed": lambda table: is_well_formed(b"A", table),
    "validate": lambda table: validate(b"A", table),
    "sanitize": lambda table: sanitize(b"A", table),
    "partition": lambda table: list(partition(b"A", table)),
    "encode": lambda table: encode("A", table),
    "encode_units": lambda table: encode_units("A", table),
    "Decoder": lambda table: Decoder(table).table,
    "DFA": DFA.of,
    "render": render,
}


@pytest.mark.parametrize("use", WITH_A_TABLE.values(), ids=WITH_A_TABLE)
def test_a_table_by_its_name(use: Callable[[Any], object]) -> None:
    for word in ("utf-8", "UTF-8", "utf8", "utf_8"):
        assert use(word) == use(TABLE_3_7)
    assert use("utf-8-of-rfc-2279") == use(RFC_2279)
    names = "utf-8, utf-16, utf-32, utf-8-of-rfc-2279, generalised-utf-8, cesu-8-code-units, modified-utf-8-code-units"
    message = refusal(ValueError, use, "utf-9")
    assert message == f"table 'utf-9' is not one of {names}, cesu-8, modified-utf-8; did you mean utf-8 or utf-32?"
    assert refusal(TypeError, use, None) == "an EncodingTable or its name is required, not NoneType"


def test_every_table_and_composition_has_a_name() -> None:
    for name, form in [*CATALOGUE.items(), *COMPOSITIONS.items()]:
        assert Decoder(name).table is form
    assert encode_units("\0", "modified-utf-8") == encode_units("\0", MODIFIED_UTF_8) == (0xC0, 0x80)
