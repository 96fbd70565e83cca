# SPDX-License-Identifier: BSD-2-Clause
"""Draws the pictures of README and docs from the objects that they show: ``python docs/pictures/draw.py``.

Equal objects give the same files, byte for byte. The files have no script and no font, as an image in a page must, and
colours for light and dark pages. A text of 16 units is readable where a picture of 640 is 390 pixels wide.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from itertools import groupby
from pathlib import Path

from utf8fpga.hdl import DecoderParameters, build
from utf8fpga.model import TABLE_3_7, Item, decode
from utf8fpga.sim import Simulation

FOLDER, WIDTH = Path(__file__).parent, 640

DAMAGED = b"\xc3\xa9\xe1\x80A\xf0\x9f\x98\x80\xe2\x82\xac\xc0\xaf\xc3\x9f"
"""Three ill-formed sequences among five characters, in whole beats of four bytes that have whole rows of items."""

_FONTS = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif}"
    ".mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
    ".bold{font-weight:700}rect,path{stroke-width:1.5}"
)
_BOXES = {
    "canvas": ("#ffffff", "#d0d7de", "#0d1117", "#3d444d"),
    "panel": ("#f3f5f8", "#8c959f", "#1c232d", "#6e7781"),
    "good": ("#dbeafe", "#2563ab", "#15304f", "#5aa2f0"),
    "other": ("#e3f3e6", "#2b7a3d", "#14361f", "#4fb36a"),
    "bad": ("#ffdcd8", "#c5221f", "#561b1b", "#ff7b72"),
}
"""The fill and the edge of each kind of box, on a light and on a dark page."""
_TEXTS = {"ink": ("#1f2328", "#e9eef4"), "quiet": ("#59636e", "#a3adb8"), "alarm": ("#b3140f", "#ff9089")}
"""The colour of each kind of text, on a light and on a dark page."""
_HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path class="quiet" d="M0 0L8 4L0 8z"/></marker></defs>'
)


def _style() -> str:
    rules = {False: "", True: ""}
    for is_dark in rules:
        for kind, colours in _BOXES.items():
            fill, edge = colours[2:] if is_dark else colours[:2]
            rules[is_dark] += f".{kind}{{fill:{fill};stroke:{edge}}}"
        for kind, pair in _TEXTS.items():
            rules[is_dark] += f".{kind}{{fill:{pair[is_dark]}}}"
        line = _BOXES["panel"][3 if is_dark else 1]
        rules[is_dark] += f".line{{stroke:{line};fill:none}}"
    return f"<style>{_FONTS}{rules[False]}@media(prefers-color-scheme:dark){{{rules[True]}}}</style>"


class Picture:
    """A picture that grows by its parts, in the order in which they are painted.

    Args:
        description: the same for readers who do not see it.
        scale: pixels per unit on a wide screen.
    """

    def __init__(self, height: int, title: str, description: str, scale: float = 1) -> None:
        size = f'width="{WIDTH * scale:g}" height="{height * scale:g}" viewBox="0 0 {WIDTH} {height}"'
        start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        self._parts = [start, f"<title>{escape(title)}</title>", f"<desc>{escape(description)}</desc>", _style(), _HEAD]
        self.box(1, 1, WIDTH - 2, height - 2, "canvas")

    def text(self, x: float, y: float, words: str, kind: str = "ink", *, size: int = 18, at: str = "middle") -> None:
        """A line of text on the baseline `y`; the kind may also contain ``mono`` and ``bold``."""
        place = f'x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{at}"'
        self._parts.append(f'<text class="{kind}" {place}>{escape(words)}</text>')

    def box(self, x: float, y: float, width: float, height: float, kind: str = "panel") -> None:
        """A rectangle."""
        place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        self._parts.append(f'<rect class="{kind}" {place} rx="5"/>')

    def arrow(self, x: float, top: float, bottom: float) -> None:
        """A line down with a head."""
        self._parts.append(f'<path class="line" d="M{x:g} {top:g}V{bottom:g}" marker-end="url(#head)"/>')

    def __str__(self) -> str:
        return "\n".join([*self._parts, "</svg>\n"])


def decoder() -> Picture:
    """Bytes in, code points out: a packed decoder of four lanes, simulated on `DAMAGED`."""
    lanes, left, step = 4, 32, 36
    run = Simulation(build(DecoderParameters(lanes=lanes))).run([DAMAGED])
    items = list(decode(DAMAGED))
    assert [item.code_point for item in run.texts[0]] == [item.code_point for item in items]
    rows = [[item for item, _ in row] for _, row in groupby(zip(items, run.valid_since, strict=True), lambda p: p[1])]
    picture = Picture(
        470,
        "Four bytes in and up to four code points out per cycle; one U+FFFD for each ill-formed sequence",
        f"The bytes {_hex(DAMAGED)} enter the decoder, {lanes} in each cycle. "
        f"Out come {', '.join(f'{_word(item)} for {_hex(_bytes(item))}' for item in items)}.",
        scale=0.75,  # The README's first screen has more to show.
    )
    picture.text(left, 32, f"bytes in: {lanes} per cycle", "ink bold", size=20, at="start")
    for item in items:
        x, wide = left + step * item.offset, step * item.length
        picture.box(x + 2, 66, wide - 4, 40, "bad" if item.error else "good")
        picture.text(x + wide / 2, 58, "✗" if item.error else chr(item.code_point), "alarm" if item.error else "ink")
        for place, byte in enumerate(_bytes(item)):
            picture.text(x + step * (place + 0.5), 93, f"{byte:02X}", "ink mono", size=20)
    for beat in range(len(DAMAGED) // lanes):
        x = left + step * lanes * (beat + 0.5)
        picture.text(x - 8, 130, f"cycle {run.accepted[beat]}", "quiet", at="end")
        picture.arrow(x, 112, 156)
        picture.arrow(x, 242, 262)
    picture.box(left, 158, step * len(DAMAGED), 82)
    picture.text(WIDTH / 2, 196, "utf8_decoder", "ink mono bold", size=26)
    picture.text(WIDTH / 2, 224, "a beat in every cycle, whatever the bytes", "quiet")
    picture.text(left, 290, "code points out", "ink bold", size=20, at="start")
    for number, row in enumerate(rows):
        for place, item in enumerate(row):
            _draw_item(picture, left + step * lanes * place, 302 + 80 * number, step * lanes, item)
    return picture


def _draw_item(picture: Picture, x: float, y: float, wide: float, item: Item) -> None:
    middle, name = x + wide / 2, f"U+{item.code_point:04X}"
    picture.box(x + 2, y, wide - 4, 72, "bad" if item.error else "good")
    lines = _cause(item).split() if item.error else []
    if not lines:
        picture.text(middle, y + 34, chr(item.code_point), size=28)
        picture.text(middle, y + 61, name, "ink bold", size=20)
        return
    picture.text(middle, y + 44 - 9 * len(lines), name, "alarm bold", size=20)
    for number, word in enumerate(lines, 1):
        picture.text(middle, y + 44 - 9 * len(lines) + 20 * number, word, "alarm", size=17)


def window() -> Picture:
    """What each lane of a parallel decoder sees, and the item that ends there."""
    lanes, left, step, text = 4, 20, 46, b"A\xf0\x9f\x98\x80\xe1\x80A"
    back = TABLE_3_7.longest - 1
    ending = {item.offset + item.length - 1: item for item in decode(text)}
    ends = [ending.get(lanes + lane) for lane in range(lanes)]
    picture = Picture(
        384,
        "Each lane sees its byte, the three bytes before it and the one after it",
        f"The bytes {_hex(text[lanes:])} are in the lanes 0 to 3 of a beat; those before it are "
        f"{_hex(text[lanes - back : lanes])}. Lane by lane the item that ends there: {', '.join(map(_word, ends))}.",
    )
    picture.text(left + step * back / 2, 34, "beat before", "quiet", size=16)
    picture.text(left + step * (back + lanes / 2), 34, "this beat", "quiet", size=16)
    picture.text(left + step * (back + lanes) + 70, 34, "item ending here", "quiet", size=16, at="start")
    for place in range(back + lanes):
        x = left + step * place
        picture.box(x + 2, 46, step - 4, 40, "panel" if place < back else "good")
        picture.text(x + step / 2, 73, _hex(text[lanes - back + place :][:1]), "ink mono", size=20)
    for lane, item in enumerate(ends):
        y, first = 102 + 68 * lane, left + step * lane
        picture.box(first + 2, y, step * (back + 1) - 4, 40, "good")
        picture.box(first + step * back + 4, y + 2, step - 8, 36, "other")
        picture.box(first + step * (back + 1) + 2, y + 4, step + 4, 32, "panel")
        for place in range(back + 1):
            shown = _hex(text[lanes - back + lane + place :][:1])
            picture.text(first + step * (place + 0.5), y + 27, shown, "ink mono", size=20)
        after = _hex(text[lanes + lane + 1 :][:1]) or "end"
        picture.text(first + step * (back + 1.5) + 4, y + 27, after, "quiet mono", size=18)
        x, kind = left + step * (back + lanes) + 70, "quiet" if item is None else "alarm" if item.error else "ink"
        name, _, rest = _word(item).partition(" ")
        picture.text(x, y + 17, name, f"{kind} bold", size=20, at="start")
        if rest:
            picture.text(x, y + 39, rest, kind, at="start")
    return picture


def _bytes(item: Item) -> bytes:
    return DAMAGED[item.offset : item.offset + item.length]


def _hex(text: bytes) -> str:
    return text.hex(" ").upper()


def _cause(item: Item) -> str:
    return item.error.name.replace("_", " ").lower() if item.error else ""


def _word(item: Item | None) -> str:
    if item is None:
        return "none"
    return f"U+{item.code_point:04X} {_cause(item) if item.error else chr(item.code_point)}"


PICTURES: dict[str, Callable[[], Picture]] = {"decoder": decoder, "window": window}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(str(draw()), encoding="utf-8", newline="\n")
