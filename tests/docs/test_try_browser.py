# SPDX-License-Identifier: BSD-2-Clause
"""The page "Try it in the browser" in Chromium, from a file, against CPython."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.browser import Tab
from support.oracle import items_of

READY = "document.getElementById('try-count').textContent !== '…'"
POINTS = "[...document.querySelectorAll('.try-point')].map((each) => each.textContent)"
PACKED = "circuit=parallel%2C%204%20lanes%2C%20packed"
EQUAL = "equal to the table's decoder: yes."


class TryPage:
    """The page in the browser."""

    def __init__(self, tab: Tab, address: str) -> None:
        self.tab = tab
        self._address = address

    def open(self, link: str = "") -> None:
        self.tab.open(f"{self._address}#{link}")
        self.wait()

    def wait(self) -> None:
        """Wait until the input has been decoded and simulated."""
        quiet = f"{READY} && document.getElementById('try-figure').ariaBusy === 'false'"
        self.tab(f"new Promise((done) => {{ (function poll() {{ {quiet} ? done() : setTimeout(poll, 5); }})(); }})")

    def text(self, identifier: str) -> str:
        return str(self.tab(f"document.getElementById('try-{identifier}').textContent"))

    def value(self, identifier: str) -> Any:
        return self.tab(f"document.getElementById('try-{identifier}').value")

    def enter(self, identifier: str, value: str) -> None:
        element = f"document.getElementById('try-{identifier}')"
        event = "change" if identifier in ("example", "table") else "input"
        self.tab(f"{element}.value = {value!r}; {element}.dispatchEvent(new Event('{event}'))")
        self.wait()

    def focused(self) -> str:
        return str(self.tab("document.activeElement.getAttribute('aria-label') ?? document.activeElement.id"))


@pytest.fixture
def page(tab: Tab, site: Path) -> TryPage:
    tab.resize(1280)
    return TryPage(tab, (site / "try.html").as_uri())


@pytest.mark.parametrize(
    ("text", "options", "result"),
    [
        # Without pauses: one cycle of reset, one for each byte, one of latency.
        (b"\xe1\x80A\xed\xa0\x80\xf0\x9f\x98\x80", "", f"12 cycles, 10 beats, 6 items; {EQUAL}"),
        (b"\xe1\x80A" * 100, f"&{PACKED}&pauses=30&stalls=40", None),
        (b"\xc3\xa9" * 300, "&circuit=serial%2C%20pipelined&stalls=90", None),
        (b"A" * 399 + b"\xe1\x80A", "", None),
        (b"", "", f"3 cycles, 1 beat, 0 items; {EQUAL}"),
    ],
    ids=["smallest", "packed", "pipelined", "across the end of the boxes", "empty"],
)
def test_items_and_circuit(page: TryPage, text: bytes, options: str, result: str | None) -> None:
    page.open(f"hex={text.hex() or '-'}{options}")
    items = items_of(text)
    drawn = [item for item in items if item[0] + item[1] <= 400]
    assert page.tab(POINTS) == [f"U+{point:04X}" for _, _, point, _ in drawn]
    causes = page.tab(POINTS.replace("point", "cause"))
    assert causes == [cause.replace("_", " ").lower() for *_, cause in drawn if cause]
    ill_formed = sum(cause is not None for *_, cause in items)
    assert page.text("count") == f"{len(text)} bytes, {len(items)} items, {ill_formed} ill-formed."
    assert page.text("browser").endswith("gives the same text: yes.")
    found = page.text("result")
    assert found == result if result else f"{len(items)} items; {EQUAL}" in found
    assert page.text("error") == ""
    assert page.text("python").splitlines()[0].endswith('.decode("utf-8", "replace")')


def test_invalid_digits_have_one_message_and_no_items(page: TryPage) -> None:
    page.open("hex=ZZ&table=none&circuit=none&pauses=x&seed=y")
    assert page.text("error") == '"Z" is not a hexadecimal digit: write bytes as two digits each.'
    page.open("hex=41")
    page.enter("hex", "41 8")
    assert page.text("error") == ""
    page.enter("hex", "41 8G")
    assert page.text("error") == '"G" is not a hexadecimal digit: write bytes as two digits each.'
    assert [page.text(each) for each in ("items", "count", "python", "browser", "result", "latency")] == [""] * 6
    assert page.value("text") == ""
    assert page.value("hex") == "41 8G", "what was typed is not changed"
    assert page.tab("document.getElementById('try-figure').hidden")
    page.enter("hex", "%C3%A9")
    assert (page.text("error"), page.value("text"), page.tab(POINTS)) == ("", "é", ["U+00E9"])
    assert not page.tab("document.getElementById('try-figure').hidden")


def test_the_keyboard_goes_through_bytes_and_items(page: TryPage) -> None:
    page.open("hex=E18041C3A9FF")
    page.tab("document.querySelector('#try-items [tabindex=\"0\"]').focus()")
    assert page.focused() == "byte 0, E1, ill-formed, truncated"
    page.tab.press("ArrowRight")
    assert page.focused() == "byte 1, 80, ill-formed, truncated"
    page.tab.press("ArrowDown")
    assert page.focused() == "byte 2, 41, U+0041 LATIN CAPITAL LETTER A"
    assert page.text("step") == "Byte 2, 41: completes 41, U+0041 LATIN CAPITAL LETTER A."
    page.tab.press("End")
    assert page.focused() == "byte 5, FF, ill-formed, invalid byte"
    page.tab.press("ArrowUp")
    assert page.focused() == "byte 3, C3, U+00E9 LATIN SMALL LETTER E WITH ACUTE"
    page.tab.press("Home")
    page.tab.press("ArrowLeft")
    assert page.focused() == "byte 0, E1, ill-formed, truncated"
    assert page.tab("document.querySelectorAll('#try-items [tabindex=\"0\"]').length") == 1, "one stop of the key Tab"


def test_everything_that_can_be_focused_or_is_drawn_has_a_name(page: TryPage) -> None:
    page.open()
    root = page.tab.command("DOM.getDocument")["root"]["nodeId"]
    article = page.tab.command("DOM.querySelector", nodeId=root, selector="article")["nodeId"]
    tree = page.tab.command("Accessibility.queryAXTree", nodeId=article)["nodes"]
    named = {"button", "combobox", "textbox", "slider", "image", "group"}
    roles = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node["ignored"]]
    found = [(role, name) for role, name in roles if role in named]
    assert len(found) > 20
    assert not [role for role, name in found if not name]
    assert [name for role, name in found if role == "image" and name.startswith("Timing diagram, cycles 0 to ")]


def test_a_long_text_is_decoded_in_slices(page: TryPage) -> None:
    page.open("hex=41")
    text = "Grüße, 世界! 😀\n" * 40_000
    paste = """new Promise((done) => {
      globalThis.answers = 0;
      setTimeout(done, 20);
    }).then(() => {
      setInterval(() => { answers += document.getElementById("try-count").textContent === "…"; }, 1);
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", "Grüße, 世界! 😀\\n".repeat(40_000));
      const box = document.getElementById("try-text");
      box.select();
      box.dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }));
    })"""
    page.tab(paste)
    page.tab("new Promise((done) => setTimeout(done, 0))")
    page.wait()
    size = len(text.encode())
    assert page.text("count") == f"{size:,} bytes, {len(text):,} items, 0 ill-formed."
    assert page.text("browser").endswith("gives the same text: yes.")
    # How often the page answers meanwhile depends on the machine; without slices it does not.
    assert page.tab("answers") >= 3
    assert page.value("text").endswith(" …")
    page.tab("document.getElementById('try-clear').click()")
    page.wait()
    assert page.text("count") == "0 bytes, 0 items, 0 ill-formed."
    assert not page.tab("document.getElementById('try-text').readOnly")
