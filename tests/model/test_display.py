# SPDX-License-Identifier: BSD-2-Clause
"""What a notebook or a terminal shows of texts, tables and DFAs."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from utf8fpga.model import CESU_8, DFA, RFC_2279, TABLE_3_7, UTF_16, Practice, show

TABLE_3_11 = bytes.fromhex("E1 80 E2 F0 91 92 F1 BF 41")
"""Truncated sequences: the example of Table 3-11 in the Unicode Standard, section 3.9."""

LENGTHS = {
    "maximal-subparts": [2, 1, 3, 2, 1],  # one U+FFFD for E1 80, E2, F0 91 92 and F1 BF each, as the table has it
    "each-unit": [1] * 9,
    "whole-subsequence": [8, 1],
    "first-error": [2, 7],
}


def rows_of(html: str) -> list[list[ElementTree.Element]]:
    body = ElementTree.fromstring(f"<div>{html}</div>").find("table/tbody")
    return [list(row) for row in body]


@pytest.mark.smoke
def test_spans_of_the_example_of_truncated_sequences() -> None:
    shown = show(TABLE_3_11, *LENGTHS)
    assert shown.units == ("E1", "80", "E2", "F0", "91", "92", "F1", "BF", "41")
    assert {name: [span.length for span in spans] for name, spans in shown.spans.items()} == LENGTHS
    texts = [span.text for span in shown.spans["maximal-subparts"]]
    assert texts == [*["U+FFFD TRUNCATED"] * 4, "U+0041 A"]
    assert [span.is_ill_formed for span in shown.spans["whole-subsequence"]] == [True, False]
    assert [span.text for span in shown.spans["first-error"]] == ["U+FFFD TRUNCATED", "not decoded"]


def test_the_table_of_a_notebook_has_a_cell_per_span_and_fills_each_row() -> None:
    rows = rows_of(show(TABLE_3_11, *LENGTHS)._repr_html_())
    assert [row[0].findtext("code") for row in rows] == [str(offset) for offset in range(9)]
    assert [row[1].findtext("code") for row in rows] == TABLE_3_11.hex(" ").upper().split()
    spans = [int(cell.attrib["rowspan"]) for row in rows for cell in row[2:]]
    assert sorted(spans) == sorted(length for lengths in LENGTHS.values() for length in lengths)
    marked = {cell.text for row in rows for cell in row[2:] if "background" in cell.attrib["style"]}
    assert marked == {"U+FFFD TRUNCATED"}


def test_the_text_of_a_terminal() -> None:
    assert repr(show(b"\xe1\x80<", "maximal-subparts", "each-unit")).splitlines() == [
        "offset  unit  maximal-subparts  each-unit",
        "0       E1    U+FFFD TRUNCATED  U+FFFD TRUNCATED",
        "1       80                      U+FFFD TRUNCATED",
        "2       3C    U+003C <          U+003C <",
    ]


def test_characters_are_shown_if_they_are_visible() -> None:
    texts = [span.text for span in show("\n\u0300\u200d😀<".encode()).spans["maximal-subparts"]]
    assert texts == ["U+000A", "U+0300 ◌\u0300", "U+200D", "U+1F600 😀", "U+003C <"]
    assert "U+003C &lt;</td>" in show(b"<")._repr_html_()
    beyond = show(bytes.fromhex("F7BFBFBF"), table=RFC_2279)  # U+1FFFFF, which is no character of Python.
    assert [span.text for span in beyond.spans["maximal-subparts"]] == ["U+1FFFFF"]


@pytest.mark.parametrize("last", ["é", "A"])
def test_a_long_text_is_cut(last: str) -> None:
    text = ("A" * 255 + last + "B" * 1000).encode()
    shown = show(text, "maximal-subparts", "first-error")
    assert (len(shown.units), shown.hidden) == (256, len(text) - 256)
    assert [sum(span.length for span in spans) for spans in shown.spans.values()] == [256, 256]
    assert f"and {len(text) - 256} more code units" in str(shown)
    assert f"<p>and {len(text) - 256} more code units</p>" in shown._repr_html_()
    assert len(rows_of(shown._repr_html_())) == 256
    assert "more" not in str(show(b"A" * 256))


def test_other_forms() -> None:
    assert show([0xD83D, 0xDE00], table=UTF_16).units == ("D83D", "DE00")
    six_bytes = bytes.fromhex("EDA0BDEDB880")  # U+1F600 in CESU-8
    assert [(span.length, span.text) for span in show(six_bytes, table=CESU_8).spans["maximal-subparts"]] == [
        (6, "U+1F600 😀")
    ]
    message = r"^CESU-8 is a composition, which has the practice maximal-subparts only$"
    with pytest.raises(ValueError, match=message):
        show(six_bytes, Practice.EACH_UNIT, table=CESU_8)
    with pytest.raises(ValueError, match=r"^'each' is not one of maximal-subparts, start-of-a-sequence, each-unit, "):
        show(b"", "each")
    for wrong in ("A", 5):
        with pytest.raises(TypeError, match=r"^code units must be an iterable of integers such as bytes, not "):
            show(wrong)


def test_a_notebook_shows_the_rows_of_a_table() -> None:
    root = ElementTree.fromstring(TABLE_3_7._repr_html_())
    assert root.findtext("caption") == "UTF-8: The Unicode Standard, section 3.9, D92 and Table 3-7"
    rows = [[cell.findtext("code", "") for cell in row] for row in root.find("tbody")]
    assert len(rows) == 9
    assert rows[4] == ["U+D000..U+D7FF", "ED", "80..9F", "80..BF", ""]


def test_a_notebook_shows_the_drawing_of_a_dfa_with_its_title() -> None:
    root = ElementTree.fromstring(DFA.of(UTF_16)._repr_svg_())
    space = "{http://www.w3.org/2000/svg}"
    assert root[0].tag == f"{space}title"
    assert (root[0].text, root.attrib["role"]) == ("The minimal DFA of UTF-16", "img")
    # As wide as the cell: a fixed width would be cut off.
    assert (root.attrib["width"], root.attrib.get("height")) == ("100%", None)
    # Readable on the pages of both themes of JupyterLab, which it does not cover.
    assert root.find(f"{space}rect") is root.find(f"{space}style") is None
    colours = {each.attrib[key] for each in root.iter() for key in ("fill", "stroke") if key in each.attrib}
    assert colours > {"none"}
    for colour in colours - {"none"}:
        for page in ("#ffffff", "#111111"):
            assert contrast(colour, page) >= 4


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""

    def luminance(colour: str) -> float:
        parts = [part / 255 for part in bytes.fromhex(colour[1:])]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    darker, lighter = sorted(luminance(colour) + 0.05 for colour in (one, other))
    return lighter / darker
