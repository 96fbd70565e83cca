# SPDX-License-Identifier: BSD-2-Clause
"""The page "Try it in the browser" in Chromium, from a file, against CPython."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.browser import Tab
from support.oracle import items_of

POINTS = "[...document.querySelectorAll('.try-point')].map((each) => each.textContent)"


class TryPage:
    """The page in the browser."""

    def __init__(self, tab: Tab, address: str) -> None:
        self.tab, self._address = tab, address

    def open(self, link: str = "") -> None:
        self.tab.open(f"{self._address}#{link}")

    def text(self, identifier: str) -> str:
        return str(self.tab(f"document.getElementById('try-{identifier}').textContent"))

    def value(self, identifier: str) -> Any:
        return self.tab(f"document.getElementById('try-{identifier}').value")

    def enter(self, identifier: str, value: str) -> None:
        element = f"document.getElementById('try-{identifier}')"
        event = "change" if identifier in ("example", "table") else "input"
        self.tab(f"{element}.value = {value!r}; {element}.dispatchEvent(new Event('{event}'))")

    def lit(self, selector: str) -> list[str]:
        """The texts of the parts that are marked for the current byte."""
        found: list[str] = self.tab(f"[...document.querySelectorAll('{selector}')].map((each) => each.textContent)")
        return found


@pytest.fixture
def page(tab: Tab, site: Path) -> TryPage:
    tab.resize(1280)
    return TryPage(tab, (site / "try.html").as_uri())


PACKED = "&circuit=4%20bytes%20per%20cycle"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (b"\xe1\x80A\xed\xa0\x80\xf0\x9f\x98\x80", ""),
        (b"\xe1\x80A" * 100, PACKED),
        (b"\xc3\xa9" * 150, "&circuit=a%20byte%20per%20cycle%2C%20fast"),
        (b"", ""),
    ],
    ids=["smallest", "packed", "fast", "empty"],
)
def test_items_and_circuit(page: TryPage, text: bytes, options: str) -> None:
    page.open(f"hex={text.hex() or '-'}{options}")
    items = items_of(text)
    assert page.tab(POINTS) == [f"U+{point:04X}" for _, _, point, _ in items]
    assert page.lit(".try-cause") == [cause.replace("_", " ").lower() for *_, cause in items if cause]
    ill_formed = sum(cause is not None for *_, cause in items)
    start = f"{len(text)} bytes, {len(items)} item{'s' * (len(items) != 1)}, {ill_formed} ill-formed."
    assert page.text("count") == f"{start} This browser's own decoder gives the same text: yes."
    assert f"{len(items)} words, equal to the items above" in page.text("verdict")
    page.enter("stalls", "80")
    assert "equal to the items above" in page.text("verdict"), "with stalls, too"


def test_the_payload_of_a_byte_is_what_its_code_point_has(page: TryPage) -> None:
    for point in (0x41, 0xE9, 0x20AC, 0x1F600):
        page.open(f"hex={chr(point).encode().hex()}")
        (payload,) = page.lit(".try-payload")
        assert int(payload.replace(" ", ""), 2) == point
        bits = [int(each, 2) for each in page.lit(".try-bits")]
        assert bytes(bits) == chr(point).encode()
        assert payload.split() == page.lit(".try-bits b")


def test_a_byte_lights_up_in_item_table_dfa_and_wave(page: TryPage) -> None:
    page.open("hex=41ED9FBF")
    page.tab(
        "document.querySelector('[data-offset=\"2\"]').dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"
    )
    assert [text[:2] for text in page.lit(".try-byte.try-current")] == ["9F"]
    assert page.lit("#try-rows td.try-current") == ["ED", "80..9F"]
    assert page.lit("#try-dfa li.try-current") == ["80..9F → 1 more"]
    # Byte 2 is sent in cycle 3, after the reset; the word of its item follows byte 3 by a cycle.
    assert page.tab("[...document.querySelectorAll('.try-here')].map((each) => each.dataset.column)") == ["3", "5"]
    assert page.text("simulate").startswith("$ utf8fpga simulate --optimize area --hex '41 ED 9F BF'")
    page.open("hex=E141")
    page.tab("document.querySelector('[data-offset=\"1\"]').click()")
    assert page.text("step").startswith("Byte 1, 41 breaks E1, which becomes U+FFFD. Byte 1, 41 completes 41: U+0041.")


def test_a_wrong_digit_leaves_the_last_result_greyed(page: TryPage) -> None:
    page.open("hex=41")
    page.enter("hex", "41 8G")
    assert page.text("error") == '"G" is not a hexadecimal digit: write bytes as two digits each.'
    assert page.tab(POINTS) == ["U+0041"]
    assert page.tab("document.querySelectorAll('.try-result:not(.try-stale)').length") == 0
    assert page.value("hex") == "41 8G", "what was typed is not changed"
    page.enter("hex", "%C3%A9")
    assert (page.text("error"), page.value("text"), page.tab(POINTS)) == ("", "é", ["U+00E9"])
    assert page.tab("document.querySelectorAll('.try-stale').length") == 0
    page.open("hex=ZZ&table=none&circuit=none")
    assert page.text("error") == '"Z" is not a hexadecimal digit: write bytes as two digits each.'


def test_the_keyboard_goes_through_bytes_and_items(page: TryPage) -> None:
    page.open("hex=E18041C3A9FF")
    page.tab("document.querySelector('#try-items [tabindex=\"0\"]').focus()")
    seen = []
    for key in ("ArrowRight", "ArrowDown", "End", "ArrowUp", "Home", "ArrowLeft"):
        page.tab.press(key)
        seen.append(page.tab("document.activeElement.getAttribute('aria-label')"))
    assert seen == [
        "byte 1, 80, ill-formed, truncated",
        "byte 2, 41, U+0041",
        "byte 5, FF, ill-formed, invalid byte",
        "byte 3, C3, U+00E9",
        "byte 0, E1, ill-formed, truncated",
        "byte 0, E1, ill-formed, truncated",
    ]
    assert page.tab("document.querySelectorAll('#try-items [tabindex=\"0\"]').length") == 1, "one stop of the key Tab"


def test_everything_that_can_be_focused_or_is_drawn_has_a_name(page: TryPage) -> None:
    page.open()
    root = page.tab.command("DOM.getDocument")["root"]["nodeId"]
    article = page.tab.command("DOM.querySelector", nodeId=root, selector="article")["nodeId"]
    tree = page.tab.command("Accessibility.queryAXTree", nodeId=article)["nodes"]
    named = {"button", "combobox", "textbox", "slider", "image", "group"}
    roles = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node["ignored"]]
    found = [(role, name) for role, name in roles if role in named]
    assert len(found) > 15
    assert not [role for role, name in found if not name]


@pytest.mark.parametrize("width", [1280, 390])
def test_every_table_fits_and_text_is_readable(page: TryPage, width: int) -> None:
    page.tab.resize(width)
    page.open()
    for name in page.tab("[...document.getElementById('try-table').options].map((each) => each.value)"):
        page.enter("table", name)
        fits = "(each) => each.scrollWidth <= each.clientWidth + 1"
        assert page.tab(f"[document.getElementById('try-rows').parentElement].every({fits})"), name
        assert "equal to the items above" in page.text("verdict")
    sizes = page.tab(
        "['.try-state li', '.try-rows td', '.try-bits', '.try-wave text'].map((each) =>"
        " parseFloat(getComputedStyle(document.querySelector(each)).fontSize))"
    )
    assert min(sizes) >= 11
    page.tab("scrollTo(0, 1200)")
    assert page.tab("document.getElementById('try-input').getBoundingClientRect().top") >= 0, "the input stays in view"


def test_a_long_text_is_cut_with_a_message(page: TryPage) -> None:
    page.open("hex=41")
    page.enter("text", "é" * 500)
    assert page.text("count").endswith("The page decodes the first 400 bytes.")
    assert "equal to the items above" in page.text("verdict")
