# SPDX-License-Identifier: BSD-2-Clause
"""Draws the pictures of README and docs from the objects that they show: ``python docs/pictures/draw.py``.

Equal objects give the same files, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path

from canvas import Picture

from utf8fpga.hdl import DecoderParameters, build
from utf8fpga.model import TABLE_3_7, ErrorKind, Item, decode
from utf8fpga.sim import Simulation

FOLDER = Path(__file__).parent
DAMAGED = b"\xc3\xa9\xe1\x80A\xf0\x9f\x98\x80\xe2\x82\xac\xc0\xaf\xc3\x9f"
"""Three ill-formed sequences among five characters, in whole beats of four bytes that have whole rows of items."""


def decoder() -> Picture:
    """Bytes in, code points out: a packed decoder of four lanes, simulated on `DAMAGED`."""
    lanes = 4
    run = Simulation(build(DecoderParameters(lanes=lanes, optimize="area", packed=True))).run([DAMAGED])
    items = list(decode(DAMAGED))
    assert [item.code_point for item in run.texts[0]] == [item.code_point for item in items]
    rows = [
        (cycle, [item for item, _ in row])
        for cycle, row in groupby(zip(items, run.valid_since, strict=True), key=lambda pair: pair[1])
    ]
    pace, hold = 0.3, 3.0
    end = hold + pace * (run.cycles + 5)
    picture = Picture(
        640,
        530,
        "Four bytes in and up to four code points out per cycle; one U+FFFD for each maximal subpart",
        f"In a simulation the bytes {DAMAGED.hex(' ').upper()} enter the decoder in the cycles "
        f"{_listed(map(str, run.accepted))}; the items leave it in the cycles "
        f"{_listed(str(cycle) for cycle, _ in rows)}: {_listed(map(_described, items))}.",
        end,
        scale=0.75,  # The README's first screen has more to show.
    )
    left, inner, step = 32, 576, 36

    def time(cycle: int) -> float:
        return hold + pace * (cycle - run.accepted[0] + 1)

    picture.text(left, 32, f"bytes in: {lanes} per cycle", "ink bold", size=20, at="start")
    for item in items:
        x, wide = left + step * item.offset, step * item.length
        picture.box(x + 2, 76, wide - 4, 44, "bad" if item.error else "good")
        name, kind = ("✗", "alarm bold") if item.error else (chr(item.code_point), "ink")
        picture.text(x + wide / 2, 68, name, kind, size=24)
    top, depth = 184, 92
    for beat, cycle in enumerate(run.accepted):
        x, wide = left + step * lanes * beat, step * lanes
        enters = time(cycle)
        ends = [since for item, since in zip(items, run.valid_since, strict=True) if _end(item) // lanes == beat]
        leaves = time(max(ends))
        still, sunk = "opacity:1;transform:none", "opacity:0;transform:translateY(84px)"
        falls = [(enters - pace, still), (enters, sunk), (end - 0.6, sunk), (end - 0.59, "opacity:0;transform:none")]
        with picture.group([(0, still), *falls, (end, still)]):
            for lane in range(lanes):
                picture.text(x + step * (lane + 0.5), 105, _hex(lanes * beat + lane, 1), "ink mono", size=20)
        picture.path(f"M{x + 4} 128v6h{wide - 8}v-6")
        picture.text(x + wide / 2 - 8, 156, f"cycle {cycle}", "quiet", at="end")
        picture.path(f"M{x + wide / 2} 134V{top - 2}", arrow=True)
        if not beat:
            picture.box(left, top, inner, depth, radius=8)
        above, below = "transform:none", f"transform:translateY({depth - 12}px)"
        passes = [
            (enters, f"opacity:0;{above}"),
            (enters + 0.01, f"opacity:1;{above}"),
            (leaves, f"opacity:1;{below}"),
            (leaves + 0.01, f"opacity:0;{below}"),
        ]
        with picture.group([(0, f"opacity:0;{above}"), *passes, (end, f"opacity:0;{below}")]):
            picture.path(f"M{x + 8} {top + 6}h{wide - 16}", "good-line thick")
    picture.text(320, top + 42, "utf8_decoder", "ink mono bold", size=26)
    picture.text(320, top + 72, "takes a beat in each cycle, on any input", "quiet", size=20)
    for lane in range(lanes):
        picture.path(f"M{left + inner / lanes * (lane + 0.5)} {top + depth}v18", arrow=True)
    y = top + depth + 48
    cycles = " and ".join(str(cycle) for cycle, _ in rows)
    picture.text(left, y - 8, f"code points out, in cycles {cycles}", "ink bold", size=20, at="start")
    for cycle, row in rows:
        leaves = time(cycle)
        comes = [(hold - 0.6, "opacity:1"), (hold, "opacity:.1"), (leaves - 0.01, "opacity:.1"), (leaves, "opacity:1")]
        with picture.group([(0, "opacity:1"), *comes, (end, "opacity:1")]):
            for place, item in enumerate(row):
                _item(picture, left + inner / lanes * place, y, inner / lanes, item)
        y += 90
    picture.text(320, y + 16, "exactly one U+FFFD for each maximal subpart", "quiet", size=20)
    return picture


def _item(picture: Picture, x: float, y: float, wide: float, item: Item) -> None:
    middle, name = x + wide / 2, f"U+{item.code_point:04X}"
    picture.box(x + 2, y, wide - 4, 82, "bad" if item.error else "good")
    if item.error:
        words = _cause(item.error).split()
        for line, (word, kind) in enumerate([(name, "alarm bold"), *((word, "alarm") for word in words)]):
            picture.text(middle, y + 49 - 11 * len(words) + 23 * line, word, kind, size=20 if kind != "alarm" else 18)
    else:
        picture.text(middle, y + 36, chr(item.code_point), size=32)
        picture.text(middle, y + 69, name, "ink bold", size=20)


def _end(item: Item) -> int:
    """The offset of the last unit of an item."""
    return item.offset + item.length - 1


def _described(item: Item) -> str:
    cause = f" ({_cause(item.error)})" if item.error else ""
    return f"U+{item.code_point:04X} for {_hex(item.offset, item.length)}{cause}"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)


def _hex(offset: int, length: int) -> str:
    return DAMAGED[offset : offset + length].hex(" ").upper()


def _cause(error: ErrorKind) -> str:
    return error.name.replace("_", " ").lower()


def window() -> Picture:
    """What each lane of a parallel decoder sees, and the item that ends there."""
    lanes, text = 4, b"A\xf0\x9f\x98\x80\xe1\x80A"
    ending = {_end(item): item for item in decode(text)}
    beat = [ending.get(lanes + lane) for lane in range(lanes)]
    back = TABLE_3_7.longest - 1
    picture = Picture(
        640,
        424,
        "Each lane sees its byte, the three bytes before it and the one after it",
        f"The bytes {text[lanes:].hex(' ').upper()} are in the lanes 0 to 3 of a beat; those before it are "
        f"{text[lanes - back : lanes].hex(' ').upper()}. Lane by lane: " + _listed(map(_word, beat)) + ".",
    )
    left, step = 24, 54
    for place in range(back + lanes):
        x = left + step * place
        picture.box(x + 2, 60, step - 4, 44, "panel" if place < back else "good")
        byte = text[lanes - back + place : lanes - back + place + 1].hex().upper()
        picture.text(x + step / 2, 89, byte, "mono", size=22)
    for lane in range(lanes):
        picture.text(left + step * (back + lane + 0.5), 122, f"lane {lane}", "quiet", size=16)
    picture.text(left + step * back / 2, 40, "beat before", "quiet")
    picture.text(left + step * (back + lanes / 2), 40, "this beat", "quiet")
    picture.text(left + step * (back + lanes) + 64, 40, "item that ends here", "quiet", at="start")
    for lane, item in enumerate(beat):
        y = 138 + 68 * lane
        first, own = left + step * lane, left + step * (lane + back)
        picture.box(first + 2, y, step * (back + 1) - 4, 44, "good")
        picture.box(own + 4, y + 2, step - 8, 40, "other")
        follows = own + step
        for place in range(back + 1):
            at = lanes - back + lane + place
            picture.text(first + step * (place + 0.5), y + 29, text[at : at + 1].hex().upper(), "mono", size=20)
        after = text[lanes + lane + 1 : lanes + lane + 2].hex().upper()
        picture.box(follows + 2, y + 6, step - 4, 32, "panel")
        picture.text(follows + step / 2, y + 29, after or "end", "quiet mono", size=18)
        x = left + step * (back + lanes) + 64
        name, _, rest = _word(item).partition(" ")
        kind = "alarm" if item and item.error else "ink" if item else "quiet"
        picture.text(x, y + (20 if rest else 29), name, f"{kind} bold", size=20, at="start")
        picture.text(x, y + 41, rest, kind, at="start")
    return picture


def _word(item: Item | None) -> str:
    if item is None:
        return "none"
    return f"U+{item.code_point:04X} {_cause(item.error) if item.error else chr(item.code_point)}"


PICTURES: dict[str, Callable[[], Picture]] = {each.__name__: each for each in (decoder, window)}


def main() -> None:
    for name, picture in PICTURES.items():
        picture().save(FOLDER / f"{name}.svg")


if __name__ == "__main__":
    main()
