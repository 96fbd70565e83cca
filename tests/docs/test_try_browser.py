# SPDX-License-Identifier: BSD-2-Clause
"""The page "Try it in the browser" in Chromium, from a file, against CPython."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from support.browser import Tab
from support.oracle import items_of

from utf8fpga.hdl import DecoderParameters, command_words
from utf8fpga.model import RFC_2279

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


def test_the_circuit_follows_the_table(page: TryPage) -> None:
    page.open("hex=FDBFBFBFBFBF&table=UTF-8%20of%20RFC%202279")
    assert page.tab(POINTS) == ["U+7FFFFFFF"]
    assert f"1 item; {EQUAL}" in page.text("result")
    parameters = DecoderParameters(table=RFC_2279, pipeline=0)
    assert page.text("netlist").endswith(f"utf8fpga generate {shlex.join(command_words(parameters))}.")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("options", ["", "&stalls=50"])
def test_the_output_of_a_pipeline_is_visible(page: TryPage, width: int, options: str) -> None:
    page.tab.resize(width)
    page.open(f"{PACKED}{options}")
    # The words of the first beat are between the labels and the right edge of the diagram.
    words = "[...document.querySelectorAll('#try-wave svg > g:not(.labels) text')]"
    left, right, edge, labels = page.tab(f"""(() => {{
      const box = {words}.find((each) => each.textContent === 'U+FFFD').getBoundingClientRect();
      const wave = document.getElementById('try-wave').getBoundingClientRect();
      const labels = document.querySelector('#try-wave .labels rect').getBoundingClientRect();
      return [box.left, box.right, wave.right, labels.right];
    }})()""")
    assert labels <= left < right <= edge
    assert "Specified is a latency of at most 11 cycles while" in page.text("latency")
    # All cycles can be reached.
    for name in ("later", "earlier"):
        button = f"document.getElementById('try-{name}')"
        for _ in range(20):
            page.tab(f"{button}.click()")
        assert page.tab(f"{button}.disabled")


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


def test_practices_stand_beside_the_decoder_of_the_browser(page: TryPage) -> None:
    page.open("hex=F0808041E180")
    text_of = "[...cell.children].map((each) => each.textContent).join(' | ') || cell.textContent"
    rows = "[...document.querySelectorAll('#try-practices tbody tr')]"
    rows = page.tab(f"{rows}.map((row) => [...row.cells].map((cell) => {text_of}))")
    # The Encoding Standard of WHATWG, which TextDecoder implements, has one U+FFFD for each maximal subpart.
    assert [(row[0], row[1], row[3]) for row in rows] == [
        ("maximal-subparts", "4", "yes"),
        ("start-of-a-sequence", "4", "yes"),
        ("each-unit", "5", "no"),
        ("whole-subsequence", "2", "no"),
        ("malformed-sequence", "2", "no"),
        ("first-error", "1", "no"),
    ]
    assert rows[0][2] == "F0 | 80 | 80 | 41 | E1 80"
    assert rows[4][2] == "F0 80 80 | 41 | E1 80"


@pytest.mark.parametrize("width", [1280, 800, 390])
def test_the_dfa_fits_or_begins_at_its_start(page: TryPage, width: int) -> None:
    page.tab.resize(width)
    page.open("hex=41")
    sizes = "({scrollWidth, clientWidth, scrollLeft}) => [scrollWidth - clientWidth, scrollLeft]"
    room, left = page.tab(f"({sizes})(document.getElementById('try-dfa'))")
    assert (room > 0, left) == (width == 390, 0)


@pytest.mark.parametrize("width", [1280, 390])
def test_counts_and_divisions_are_visible(page: TryPage, width: int) -> None:
    page.tab.resize(width)
    page.open()
    right, edge = page.tab("""(() => {
      const box = (selector) => document.querySelector(selector).getBoundingClientRect();
      return [box("#try-practices td.try-division").right, box("article").right];
    })()""")
    assert right <= edge


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


def test_newer_input_ends_the_work_on_older_input(page: TryPage) -> None:
    page.open("hex=41")
    page.tab("""(() => {
      const box = document.getElementById("try-text");
      for (const value of ["a".repeat(200_000), "é"]) {
        box.value = value;
        box.dispatchEvent(new Event("input"));
      }
    })()""")
    page.tab("new Promise((done) => setTimeout(done, 500))")
    assert page.text("count") == "2 bytes, 1 item, 0 ill-formed."
    assert page.tab(POINTS) == ["U+00E9"]


def test_an_example_is_entered(page: TryPage) -> None:
    page.open()
    options = page.tab("[...document.getElementById('try-example').options].slice(1, 9).map((each) => each.text)")
    assert "two bytes for a slash: ../ past a filter" in options
    page.enter("example", "3")
    assert page.value("hex") == "2E 2E C0 AF"
    assert page.text("count") == "4 bytes, 4 items, 2 ill-formed."
