# SPDX-License-Identifier: BSD-2-Clause
"""The decoder and the texts of the page "Try it in the browser", against CPython, the oracle and the model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.javascript import FOLDER, Page, extension
from support.oracle import BOUNDARY, Expected, items_of, plain

from utf8fpga.model import CATALOGUE, DFA, TABLE_3_7, decode
from utf8fpga.model.table import starts

TABLES = [table for table in CATALOGUE.values() if table.unit_width == 8]
BOUNDS = {0xC2, 0xDF, 0xE0, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xA0, 0xBF, 0x9F, 0x8F, 0x90}

DECLARATIONS = """
const all = (table, texts) => texts.map((text) => utf8fpga.decode(utf8fpga.data.tables[table], text));
"""

CHARACTERS = st.characters(exclude_categories=["Cs"])
damaged = st.lists(st.sampled_from(BOUNDARY) | st.integers(0, 255), max_size=40).map(bytes)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    opened = Page()
    opened.define(DECLARATIONS)
    yield opened
    opened.close()


def decoded(page: Page, texts: Sequence[bytes], table: int = 0) -> list[list[Expected]]:
    found = page("all(table, texts)", table=table, texts=[list(text) for text in texts])
    return [[(item["offset"], item["length"], item["codePoint"], item["error"]) for item in items] for items in found]


@given(st.lists(damaged, min_size=1, max_size=20))
def test_longer_texts_have_the_items_of_cpython(page: Page, texts: list[bytes]) -> None:
    assert decoded(page, texts) == [items_of(text) for text in texts]


@pytest.mark.parametrize(("number", "table"), list(enumerate(TABLES)), ids=[table.name for table in TABLES])
def test_every_table_has_the_items_of_the_model(page: Page, number: int, table: Any) -> None:
    texts = [bytes(units) for length in (1, 2, 3) for units in product(BOUNDARY[2:], repeat=length)]
    texts += [bytes(row.encode(point)) for row in table.rows for point in (row.code_points.first, row.code_points.last)]
    texts += [text[:-1] + b"A" for text in texts[-2 * len(table.rows) :]]
    assert decoded(page, texts, number) == [plain(decode(text, table)) for text in texts]


@given(damaged)
def test_the_walk_follows_the_dfa_byte_by_byte(page: Page, text: bytes) -> None:
    steps = page("utf8fpga.walk(utf8fpga.data.tables[0], text)", text=list(text))
    dfa, state = DFA.of(TABLE_3_7), 0
    for step in steps:
        assert step["from"] == state
        if step["byte"] is None:
            assert (step["offset"], step["to"]) == (len(text), None)
        else:
            assert step["byte"] == text[step["offset"]]
            assert (-1 if step["to"] is None else step["to"]) == dfa.step(state, step["byte"])
        state = step["to"] or 0
    # Each byte has one step that is not a return to the start.
    looked = [step["offset"] for step in steps if step["from"] == 0 or step["to"] is not None]
    assert looked == list(range(len(text)))
    assert [step["item"] for step in steps if step["item"]] == page("all(0, [text])[0]", text=list(text))


def test_rows_of_a_prefix_are_those_with_a_sequence_that_starts_with_it(page: Page) -> None:
    for prefix in [(), *product(BOUNDARY, repeat=1), *product(BOUNDARY, repeat=2)]:
        expected = [number for number, row in enumerate(TABLE_3_7.rows) if starts(prefix, row.units)]
        assert page("utf8fpga.rowsFor(utf8fpga.data.tables[0], prefix)", prefix=prefix) == expected


@given(st.text(CHARACTERS))
def test_typed_text_is_encoded_as_by_cpython(page: Page, text: str) -> None:
    assert bytes(page("utf8fpga.encodeText(utf8fpga.data.tables[0], text)", text=text)) == text.encode()
    lone = page("utf8fpga.encodeText(utf8fpga.data.tables[0], 'a' + String.fromCharCode(55357) + 'b')")
    assert bytes(lone) == "a\ufffdb".encode()


@given(damaged, st.sampled_from([" ", "", ", ", "\n", "; ", " 0x", "\\x", "%"]))
def test_hexadecimal_digits_are_read_with_any_separator(page: Page, text: bytes, separator: str) -> None:
    written = separator.join(f"{unit:02x}" for unit in text)
    assert page("utf8fpga.parseHex(text)", text=written) == {"bytes": list(text)}
    assert page("utf8fpga.spell(text)", text=list(text)) == text.hex(" ").upper()
    assert page("utf8fpga.parseHex(text)", text=quote_from_bytes(b"\xc3\xa9\xe1")) == {"bytes": [0xC3, 0xA9, 0xE1]}
    assert page("utf8fpga.parseHex('9 a 0xB, 41')") == {"bytes": [9, 10, 11, 65]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("E1 8G", '"G" is not a hexadecimal digit: write bytes as two digits each.'),
        ("E1 \U0001f600", '"\U0001f600" is not a hexadecimal digit: write bytes as two digits each.'),
        ("caf%C3%A9", '"caf" has an odd number of digits: write bytes as two digits each.'),
    ],
)
def test_invalid_hexadecimal_digits_have_one_message(page: Page, text: str, message: str) -> None:
    assert page("utf8fpga.parseHex(text)", text=text) == {"error": message}


@given(st.dictionaries(st.from_regex(r"[a-z]+", fullmatch=True), st.text(CHARACTERS, min_size=1)))
def test_a_link_has_all_fields(page: Page, fields: dict[str, str]) -> None:
    link = page("utf8fpga.linkOf(fields)", fields=fields)
    assert link.isascii()
    assert page("utf8fpga.fieldsOf('#' + link)", link=link) == fields
    assert page("utf8fpga.fieldsOf('#a=%E1&b&=c&d=1=2')") == {"b": "", "d": "1"}, "what is no link is ignored"


# Bits, names of states, the data and the files.


@pytest.mark.parametrize("text", ["A", "\u00e9", "\u20ac", "\U0001f600"])
def test_bits_of_the_payload_are_those_of_table_3_6(page: Page, text: str) -> None:
    expected = {1: [7], 2: [5, 6], 3: [4, 6, 6], 4: [3, 6, 6, 6]}[len(text.encode())]
    assert page("utf8fpga.bitsOf(utf8fpga.data.tables[0], text)", text=list(text.encode())) == expected
    assert page("utf8fpga.bitsOf(utf8fpga.data.tables[0], [225, 128])") == [4, 6]
    assert page("utf8fpga.bitsOf(utf8fpga.data.tables[0], [128])") == [0]


def test_names_of_states_differ_and_say_what_is_missing(page: Page) -> None:
    for number, table in enumerate(TABLES):
        names = page("utf8fpga.stateNames(utf8fpga.data.tables[number])", number=number)
        assert len(set(names)) == len(names) == len(DFA.of(table).states), table.name
    names = page("utf8fpga.stateNames(utf8fpga.data.tables[0])")
    leads = ("2 more after E0", "2 more after ED", "3 more after F0", "3 more after F1..F3", "3 more after F4")
    assert sorted(names) == sorted(["start", "1 more", "2 more", *leads])


def test_examples_have_titles_for_people() -> None:
    assert len(extension("try_data").EXAMPLES) == 8
    assert not [title for title in extension("try_data").EXAMPLES if "_" in title]


def test_the_tables_are_those_of_bytes_with_utf_8_first(page: Page) -> None:
    assert page("utf8fpga.data.tables.map((table) => table.name)") == [table.name for table in TABLES]
    assert TABLES[0] == TABLE_3_7


def test_the_data_are_no_larger_than_a_picture() -> None:
    assert len(extension("try_data").script([])) < 60_000


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.js")), ids=lambda path: path.name)
def test_no_byte_range_in_the_scripts(path: Any) -> None:
    text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    numbers = {int(number, 0) for number in re.findall(r"\b(?:0x[0-9a-fA-F]+|[1-9]\d*)\b", text)}
    assert not numbers & BOUNDS
    assert path.read_text(encoding="utf-8").startswith("// SPDX-License-Identifier: BSD-2-Clause\n")
