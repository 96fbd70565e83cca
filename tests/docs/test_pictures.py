# SPDX-License-Identifier: BSD-2-Clause
"""The pictures of README and docs: current, true, and readable by anyone; and the page that they explain."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest
from support.site import DOCS, program

CHECKOUT = DOCS.parent
FOLDER = DOCS / "pictures"
PICTURES = sorted(path.stem for path in FOLDER.glob("*.svg"))
WRITTEN = [CHECKOUT / "model", CHECKOUT / "bench" / "results", DOCS / "waves", FOLDER]
SPACE = "{http://www.w3.org/2000/svg}"
MOST = 40_000
"""Bytes of a picture, so that a page with all of them is not slow."""


draw = program(FOLDER, "draw")


def elements(name: str, tag: str) -> list[Any]:
    return list(ElementTree.parse(FOLDER / f"{name}.svg").iter(SPACE + tag))


def texts(name: str) -> list[str]:
    return [each.text or "" for each in elements(name, "text")]


def code_points(text: str) -> list[str]:
    return [f"U+{ord(character):04X}" for character in text]


def test_every_picture_is_on_the_page_and_drawn_again_byte_for_byte(draw: ModuleType) -> None:
    page = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    assert sorted(draw.PICTURES) == sorted(re.findall(r"\]\(pictures/(\w+)\.svg\)", page)) == PICTURES
    for name, picture in draw.PICTURES.items():
        recorded = (FOLDER / f"{name}.svg").read_bytes()
        assert str(picture()).encode() == recorded, f"{name} is stale: python docs/pictures/draw.py"


@pytest.mark.parametrize("path", [path for folder in WRITTEN for path in sorted(folder.glob("*.svg"))], ids=str)
def test_every_drawing_has_a_title_and_colours_for_dark_pages(path: Path) -> None:
    root, text = ElementTree.parse(path).getroot(), path.read_text(encoding="utf-8")
    assert root.findtext(f"{SPACE}title")
    assert "@media(prefers-color-scheme:dark){" in text
    assert not re.search(r"<script|@import|@font-face|(href|url)[=(][\"']?\w+:", text)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_small_described_and_readable_on_a_phone(name: str) -> None:
    text = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert len(text.encode()) < MOST
    assert all(each.text for tag in ("title", "desc") for each in elements(name, tag))
    # At 390 pixels a text of size 16 has ten.
    assert min(int(each.get("font-size")) for each in elements(name, "text")) >= 16


def test_the_decoder_outputs_what_cpython_decodes(draw: ModuleType) -> None:
    decoded = draw.DAMAGED.decode("utf-8", "replace")
    assert [each for each in texts("decoder") if each.startswith("U+")] == code_points(decoded)
    assert [each for each in texts("decoder") if re.fullmatch("[0-9A-F]{2}", each)] == [
        f"{byte:02X}" for byte in draw.DAMAGED
    ]
    # Read off the bytes: E1 80 before A; C0, which starts no sequence; AF after it.
    causes = ["truncated", "overlong", "unexpected", "continuation"]
    assert [each for each in texts("decoder") if each in causes] == causes


def test_the_window_has_the_items_that_end_in_its_lanes() -> None:
    # "A" is in the beat before; the second byte of lane 1 and 2 is broken by the "A" at the end.
    expected = code_points(b"\xf0\x9f\x98\x80\xe1\x80A".decode("utf-8", "replace"))
    shown = [each for each in texts("window") if each.startswith("U+") or each == "none"]
    assert shown == [expected[0], "none", *expected[1:]]


def extent(element: Any) -> tuple[float, float]:
    """Where a text begins and ends if it is set in DejaVu, the widest of the fonts that the style names."""
    why = "requires the extra 'plots': matplotlib, which has the fonts of DejaVu, and Pillow"
    fonts = pytest.importorskip("PIL.ImageFont", reason=why)
    folder = Path(pytest.importorskip("matplotlib", reason=why).get_data_path(), "fonts", "ttf")
    kind = element.get("class").split()
    face = f"DejaVuSans{'Mono' if 'mono' in kind else ''}{'-Bold' if 'bold' in kind else ''}.ttf"
    width = fonts.truetype(str(folder / face), int(element.get("font-size"))).getlength(element.text)
    x = float(element.get("x"))
    left = {"start": x, "middle": x - width / 2, "end": x - width}[element.get("text-anchor")]
    return left, left + width


@pytest.mark.parametrize("name", PICTURES)
def test_no_text_is_cut_or_overlaps_in_the_widest_font(name: str) -> None:
    lines: dict[str, list[tuple[float, float]]] = {}
    for element in elements(name, "text"):
        left, right = extent(element)
        assert 6 <= left < right <= 634, element.text
        lines.setdefault(element.get("y"), []).append((left, right))
    for spans in lines.values():
        spans.sort()
        assert all(right <= left for (_, right), (left, _) in pairwise(spans)), spans
