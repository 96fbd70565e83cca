# SPDX-License-Identifier: BSD-2-Clause
"""Draws the pictures of README and docs from the objects that they show: ``python docs/pictures/draw.py``.

Equal objects give the same files, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from canvas import Picture

from utf8fpga.hdl import Core, DecoderParameters
from utf8fpga.model import DFA, REJECT, START, TABLE_3_7, ErrorKind, Item
from utf8fpga.model.table import joined
from utf8fpga.sim import Simulation
from utf8fpga.sim.waveform import samples

FOLDER = Path(__file__).parent
DAMAGED = b"\xc3\xa9\xe1\x80A\xf0\x9f\x98\x80\xe2\x82\xac\xc0\xaf\xc3\x9f"
"""Three ill-formed sequences among five characters, in whole beats of four bytes that have whole rows of items."""


Samples = list[Mapping[tuple[str, ...], int | str]]
"""The values of all nets, by cycle."""

Items = list[Item | None]
"""The item of each lane of a beat."""


def decoder() -> Picture:
    """Bytes in, code points out: a packed decoder of four lanes, simulated on `DAMAGED`."""
    lanes = 4
    core = DecoderParameters(lanes=lanes, pipeline=0, packed=True, kind=True, length=True).build()
    run = Simulation(core).run([DAMAGED])
    (items,) = run.texts
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


def automaton() -> Picture:
    """The minimal DFA of Table 3-7, from left to right; a node shows which byte it awaits."""
    dfa = DFA.of(TABLE_3_7)
    picture = Picture(
        640,
        512,
        f"The minimal DFA of Table 3-7: {len(dfa.states)} states and {len(dfa.classes)} byte classes",
        "From the start state a first byte leads to the states that await three, two or one more bytes: "
        + _listed(f"{dfa.classes[number]} to {dfa.states[target].name}" for number, target in _arrows(dfa, START))
        + ". Any other byte is ill-formed.",
    )
    columns = {3: 196, 2: 344, 1: 488}
    rows = {(3, n): 80 + 66 * n for n in range(3)} | {(2, 0): 396, (2, 1): 146, (2, 2): 330} | {(1, 0): 262}
    places = {START: (56.0, 262.0)}
    for more, column in columns.items():
        group = [number for number, state in enumerate(dfa.states) if state.remaining[1] == more]
        places |= {number: (float(column), float(rows[more, index])) for index, number in enumerate(group)}
        picture.text(column, 36, f"{more} more", "quiet")
    end = (592.0, 262.0)
    # The lines are below the nodes, so that they end at their edges.
    _draw_arrows(picture, dfa, places, end)
    picture.box(16, 240, 80, 44, "good", radius=22)
    picture.text(56, 268, "start")
    picture.box(end[0] - 40, 240, 80, 44, "other", radius=22)
    picture.text(end[0], 268, "done")
    for number, (x, y) in places.items():
        if number != START:
            awaited = joined(allowed for each, _ in _arrows(dfa, number) for allowed in dfa.classes[each].ranges)
            picture.box(x - 42, y - 22, 84, 44, "good")
            picture.text(x, y + 6, " ".join(map(str, awaited)), "mono", size=18)
    return picture


def _arrows(dfa: DFA, number: int) -> list[tuple[int, int]]:
    """The classes that a state accepts, each with the next state."""
    return [(each, target) for each, target in enumerate(dfa.states[number].transitions) if target != REJECT]


def _draw_arrows(
    picture: Picture, dfa: DFA, places: Mapping[int, tuple[float, float]], end: tuple[float, float]
) -> None:
    for number, (x, y) in places.items():
        for target in dict.fromkeys(target for _, target in _arrows(dfa, number)):
            classes = " ".join(str(dfa.classes[each]) for each, to in _arrows(dfa, number) if to == target)
            to_x, to_y = end if target == START else places[target]
            if number != START:
                picture.path(f"M{x + 40:g} {y:g}L{to_x - 42:g} {to_y:g}", arrow=True)
            elif target == START:
                picture.path(f"M{x} {y + 22}V488H{to_x}V{to_y + 24}", arrow=True)
                picture.text(x + 12, 482, classes, "mono", size=16, at="start")
            else:
                _first_byte(picture, (x, y), (to_x, to_y), classes)


def _first_byte(picture: Picture, start: tuple[float, float], end: tuple[float, float], classes: str) -> None:
    """An arrow from the start state, and the classes on its last, horizontal part."""
    (x, y), (to_x, to_y) = start, end
    if to_x < 200:
        picture.path(f"M{x + 20} {y - 20}L{to_x - 104} {to_y}H{to_x - 44}", arrow=True)
        picture.text(to_x - 46, to_y - 8, classes, "mono", size=16, at="end")
    elif to_y < y:
        picture.path(f"M{x + 40} {y}H{to_x - 70}L{to_x - 30} {to_y + 24}", arrow=True)
        picture.text(x + 52, y - 8, classes, "mono", size=16, at="start")
    elif to_x < 400:
        picture.path(f"M{x + 30} {y + 18}L{x + 60} {to_y}H{to_x - 44}", arrow=True)
        picture.text(x + 70, to_y - 6, classes, "mono", size=16, at="start")
    else:
        picture.path(f"M{x + 16} {y + 22}L{x + 40} 446H{to_x}V{to_y + 24}", arrow=True)
        picture.text(x + 52, 440, classes, "mono", size=16, at="start")


def window() -> Picture:
    """What each lane of a parallel decoder sees, and its item, from the simulation of a sparse decoder."""
    lanes, text = 4, b"A\xf0\x9f\x98\x80\xe1\x80A"
    core = DecoderParameters(lanes=lanes, packed=False, kind=True, length=True).build()
    _, (_, beat) = _simulated(core, text)[1]
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


NETWORK_TEXT = "Ünïcode".encode() + b"\xe1\x80" + "é€".encode()
"""Two beats of eight bytes: six items, and four with gaps that reach the next row."""


@dataclass(frozen=True)
class Passage:
    """How the last beat of a text passes the network of a packer in a simulated decoder.

    Attributes:
        beat: the item of each lane.
        crossings: for each step, by the left lane, whether the words of two lanes are exchanged.
        routes: by the lane of each item, its lanes before each step and after the last one.
        base: the lane in which the beat begins.
        rows: the rows that the packer outputs, in order.
    """

    beat: Items
    crossings: list[dict[int, int]]
    routes: dict[int, list[int]]
    base: int
    rows: list[Items]

    @staticmethod
    def of(text: bytes, lanes: int) -> Passage:
        """Simulate a decoder."""
        core: Any = DecoderParameters(lanes=lanes, packed=True, kind=True, length=True).build()
        values, packed = _simulated(core, text)
        sparse = _beats(core, values, ("packer", "sparse"), ("packer", "sparse", "payload"))
        cycle, beat = sparse[-1]
        crossings = [
            {left: int(values[cycle + bit.stage]["packer", bit.value.name]) for left, bit in step.items()}
            for step in core.packer.network.crossings
        ]
        before = sum(item is not None for _, items in sparse[:-1] for item in items)
        routes = {lane: _route(crossings, lane) for lane, item in enumerate(beat) if item}
        return Passage(beat, crossings, routes, before % lanes, [items for _, items in packed])


def network() -> Picture:
    """The words of a beat in the network of a packer, with the settings of its switches."""
    lanes = 8
    passage = Passage.of(NETWORK_TEXT, lanes)
    routes, base = passage.routes, passage.base
    picture = Picture(
        640,
        598,
        f"{len(routes)} words pass the {len(passage.crossings)} steps of a reverse banyan network of {lanes} lanes",
        f"The row already holds {base} words, so the beat begins in lane {base}. "
        + ". ".join(f"{_word(passage.beat[lane])}: lanes {_listed(map(str, route))}" for lane, route in routes.items())
        + ".",
        10,
    )
    left, step, top, height = 40, 70, 92, 92

    def at(level: int, lane: int) -> tuple[float, float]:
        return left + step * (lane + 0.5), top + height * level

    picture.text(left, 30, "a beat with gaps: each item in the lane of its last byte", "ink bold", size=20, at="start")
    for lane in range(lanes):
        picture.text(at(0, lane)[0], 58, str(lane), "quiet", size=16)
    used = {(level, lane) for route in routes.values() for level, lane in enumerate(route)}
    for level, settings in enumerate(passage.crossings):
        picture.text(34, at(level, 0)[1] + 52, f"±{1 << level}", "quiet", size=18)
        for lane in range(lanes):
            (x, y), (to_x, to_y) = at(level, lane), at(level + 1, _route([{}] * level + [settings], lane)[-1])
            picture.path(f"M{x:g} {y}L{to_x:g} {to_y}", "good-line thick" if (level, lane) in used else "canvas-line")
    for level, lane in product(range(len(passage.crossings) + 1), range(lanes)):
        x, y = at(level, lane)
        picture.box(x - 5, y - 5, 10, 10)
    bottom = top + height * len(passage.crossings)
    picture.text(left, bottom + 58, f"rows: lane {base} is the first that is free", "ink bold", size=20, at="start")
    places = [divmod(base + number, lanes) for number in range(len(routes))]
    for (number, row), lane in product(enumerate(passage.rows), range(lanes)):
        y = bottom + 74 + 56 * number
        picture.box(left + step * lane + 3, y, step - 6, 46)
        if (item := row[lane]) and (number, lane) not in places:
            picture.text(left + step * (lane + 0.5), y + 31, _glyph(item), "quiet", size=24)
    words = "a full row is output; the rest of the words waits for the next beat"
    picture.text(320, bottom + 94 + 56 * len(passage.rows), words, "quiet")
    for (row_number, lane), route in zip(places, routes.values(), strict=True):
        item = passage.rows[row_number][lane]
        assert item
        points = [at(level, lane) for level, lane in enumerate(route)]
        points.append((points[-1][0], bottom + 97 + 56 * row_number))
        _ball(picture, points[0], item)
        _travel(picture, points, item)
    return picture


def _travel(picture: Picture, points: list[tuple[float, float]], item: Item) -> None:
    """An item at the last of some points, to which it moves from the first one."""
    home = points[-1]
    moves = [(1 + 1.6 * number, _moved(home, point)) for number, point in enumerate(points)]
    still = _moved(home, home)
    with picture.group([(0, still), (0.6, still), (0.61, moves[0][1]), *moves, (picture.seconds, still)]):
        _ball(picture, home, item)


def _route(crossings: list[dict[int, int]], lane: int) -> list[int]:
    """The lanes of a word before each step and after the last one."""
    route = [lane]
    for level, settings in enumerate(crossings):
        route.append(route[-1] ^ settings.get(route[-1] & ~(1 << level), 0) << level)
    return route


def _moved(home: tuple[float, float], point: tuple[float, float]) -> str:
    return f"transform:translate({point[0] - home[0]:g}px,{point[1] - home[1]:g}px)"


def _ball(picture: Picture, at: tuple[float, float], item: Item) -> None:
    picture.box(at[0] - 20, at[1] - 20, 40, 40, "bad" if item.error else "good", radius=20)
    picture.text(at[0], at[1] + 8, _glyph(item), "alarm bold" if item.error else "ink", size=24)


def _glyph(item: Item) -> str:
    return "✗" if item.error else chr(item.code_point)


def _word(item: Item | None) -> str:
    if item is None:
        return "none"
    return f"U+{item.code_point:04X} {_cause(item.error) if item.error else chr(item.code_point)}"


def _simulated(core: Core, text: bytes) -> tuple[Samples, list[tuple[int, Items]]]:
    """A simulation of a decoder on a text, and its output."""
    with TemporaryDirectory() as folder:
        waveform = Path(folder, "waveform.vcd")
        Simulation(core).run([text], vcd=waveform)
        values: Samples = list(samples(waveform))
    return values, _beats(core, values, ("output",), ("output",))


def _beats(core: Core, values: Samples, stream: tuple[str, ...], payload: tuple[str, ...]) -> list[tuple[int, Items]]:
    """The beats that a stream transfers, with the cycle."""
    found: list[tuple[int, Items]] = []
    for cycle, each in enumerate(values):
        if not (each[*stream, "valid"] and each[*stream, "ready"]):
            continue
        items: Items = []
        for lane in range(core.lanes):
            symbol = (*payload, f"symbols_{lane}")
            name = str(each[*symbol, "kind"])
            error = None if name == "NONE" else ErrorKind[name]
            item = Item(0, int(each[*symbol, "length"]), int(each[*symbol, "code_point"]), error)
            items.append(item if int(each[*payload, "keep"]) >> lane & 1 else None)
        found.append((cycle, items))
    return found


PICTURES: dict[str, Callable[[], Picture]] = {each.__name__: each for each in (decoder, automaton, window, network)}


def main() -> None:
    for name, picture in PICTURES.items():
        picture().save(FOLDER / f"{name}.svg")


if __name__ == "__main__":
    main()
