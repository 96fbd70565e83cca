# SPDX-License-Identifier: BSD-2-Clause
"""The page to try in Chromium, from a file, against CPython."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from support.browser import Tab
from support.command import utf8fpga
from support.oracle import items_of


class TryPage:
    """The page in the browser."""

    def __init__(self, tab: Tab, address: str) -> None:
        self.tab, self._address = tab, address

    def open(self, link: str = "") -> None:
        self.tab.open(f"{self._address}#{link}")

    def text(self, identifier: str) -> str:
        return str(self.tab(f"document.getElementById('try-{identifier}').textContent"))

    def enter(self, identifier: str, value: str) -> None:
        element = f"document.getElementById('try-{identifier}')"
        event = "change" if identifier == "table" else "input"
        self.tab(f"{element}.value = {value!r}; {element}.dispatchEvent(new Event('{event}'))")

    def all(self, selector: str, value: str = "each.textContent") -> Any:
        """A value of each element of a selector; default: its text."""
        return self.tab(f"[...document.querySelectorAll('{selector}')].map((each) => {value})")


@pytest.fixture
def page(tab: Tab, site: Path) -> TryPage:
    tab.resize(1280)
    return TryPage(tab, (site / "try.html").as_uri())


@pytest.mark.parametrize("text", [b"\xe1\x80A\xed\xa0\x80\xf0\x9f\x98\x80" * 30, b""], ids=["long", "empty"])
@pytest.mark.parametrize("circuit", ["", "&circuit=4%20bytes%20per%20cycle"], ids=["smallest", "packed"])
def test_items_and_circuit(page: TryPage, text: bytes, circuit: str) -> None:
    page.open(f"hex={text.hex() or '-'}{circuit}")
    items = items_of(text)
    assert page.all(".try-point") == [f"U+{point:04X}" for _, _, point, _ in items]
    causes = [cause.replace("_", " ").lower() for *_, cause in items if cause]
    assert page.all(".try-cause") == causes
    start = f"{len(text)} bytes, {len(items)} item{'s' * (len(items) != 1)}, {len(causes)} ill-formed."
    assert page.text("count") == f"{start} This browser's own decoder gives the same text: yes."
    assert f"{len(items)} words, equal to the items above" in page.text("verdict")
    assert len(page.all(".try-here")) == (2 if text else 0)
    page.enter("stalls", "0111")
    assert "equal to the items above" in page.text("verdict"), "with stalls, too"


def test_a_byte_lights_up_in_item_table_dfa_and_wave(page: TryPage) -> None:
    page.open("hex=41ED9FBF")
    (_, payload), bits = page.all(".try-payload"), page.all(".try-bits")
    assert (int(payload.replace(" ", ""), 2), int("".join(bits), 2)) == (0xD7FF, 0x41ED9FBF)
    page.all('[data-offset="2"]', "each.dispatchEvent(new PointerEvent(`pointerover`, {bubbles: true}))")
    assert [text[:2] for text in page.all(".try-byte.try-current")] == ["9F"]
    assert page.all("#try-rows td.try-current") == ["ED", "80..9F"]
    assert page.all("#try-dfa li.try-current") == ["80..9F → 1 more"]
    # Byte 2 is sent in cycle 3, after the reset; the word of its item follows byte 3 by a cycle.
    assert page.all(".try-here", "each.dataset.column") == ["3", "5"]
    assert page.text("simulate").startswith("$ utf8fpga simulate --optimize area --hex '41 ED 9F BF'")
    page.open("hex=E141")
    page.tab("document.querySelector('[data-offset=\"1\"]').click()")
    assert page.text("step").startswith("Byte 1, 41, is not in 80..BF, so E1 becomes U+FFFD. ")
    assert page.all(".try-rows .try-broken, .try-dfa .try-broken strong") == ["80..BF", "2 more"]
    assert page.text("cycles") == "Byte 1, 41, enters in cycle 2. Its word, U+0041, leaves in cycle 3."
    page.enter("pauses", "01")
    assert page.text("simulate").startswith("$ utf8fpga simulate --optimize area --input-pauses 01 --hex 'E1 41'")


def test_a_wrong_digit_leaves_the_last_result_greyed_and_a_long_text_is_cut(page: TryPage) -> None:
    page.open("hex=41")
    page.enter("hex", "41 8G")
    assert page.text("error") == '"G" is not a hexadecimal digit: write bytes as two digits each.'
    assert page.all(".try-point") == ["U+0041"]
    assert page.all(".try-result:not(.try-stale)") == []
    assert page.all("#try-hex", "each.value") == ["41 8G"], "what was typed is not changed"
    page.enter("hex", "%C3%A9")
    assert (page.text("error"), page.all("#try-text", "each.value")) == ("", ["é"])
    assert page.all(".try-stale") == []
    page.enter("text", "é€😀" * 400)
    assert page.text("cut") == "The page and its commands take the first 398 of 3600 bytes."
    assert "0 ill-formed" in page.text("count"), "no character is cut"
    assert "equal to the items above" in page.text("verdict")


def test_the_keyboard_goes_through_bytes_and_items(page: TryPage) -> None:
    page.open("hex=E18041C3A9FF")
    page.tab("document.querySelector('#try-items [tabindex=\"0\"]').focus()")
    seen = []
    for key in ("ArrowRight", "ArrowDown", "End", "ArrowUp", "Home"):
        page.tab.press(key)
        seen.append(page.tab("document.activeElement.getAttribute('aria-label')"))
    assert seen == [
        "byte 1, 80, ill-formed, truncated",
        "byte 2, 41, U+0041",
        "byte 5, FF, ill-formed, invalid byte",
        "byte 3, C3, U+00E9",
        "byte 0, E1, ill-formed, truncated",
    ]
    assert len(page.all('#try-items [tabindex="0"]')) == 1, "one stop of the key Tab"


def test_everything_that_can_be_focused_or_is_drawn_has_a_name(page: TryPage) -> None:
    page.open()
    root = page.tab.command("DOM.getDocument")["root"]["nodeId"]
    article = page.tab.command("DOM.querySelector", nodeId=root, selector="article")["nodeId"]
    nodes = page.tab.command("Accessibility.queryAXTree", nodeId=article)["nodes"]
    roles = {"button", "combobox", "textbox", "slider", "image", "group"}
    found = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
    assert len(found) > 15
    assert not [node["role"] for node in found if not node.get("name", {}).get("value")]


@pytest.mark.parametrize("width", [1280, 390])
def test_every_table_fits_and_text_is_readable(page: TryPage, width: int) -> None:
    page.tab.resize(width)
    page.open()
    for name in page.all("#try-table option", "each.value"):
        page.enter("table", name)
        assert page.all("#try-rows", "each.parentElement.scrollWidth - each.parentElement.clientWidth")[0] <= 1, name
        assert "equal to the items above" in page.text("verdict")
        line = page.text("simulate").removesuffix(" --vcd wave.vcd")
        is_of_table = "--table" in line or name == "UTF-8"
        assert line.startswith("#") or (is_of_table and utf8fpga(*shlex.split(line)[2:]).returncode == 0), line
    for selector in (".try-state li", ".try-rows td", ".try-bits", ".try-wave text"):
        assert min(page.all(selector, "parseFloat(getComputedStyle(each).fontSize)")) >= 11, selector
    page.tab("scrollTo(0, 1200)")
    assert page.all("#try-input", "each.getBoundingClientRect().top")[0] >= 0, "the input stays in view"
