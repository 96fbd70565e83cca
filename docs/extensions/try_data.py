# SPDX-License-Identifier: BSD-2-Clause
"""The data of the page "Try it in the browser", all of it from the rows: tables with their DFAs, examples, netlists.

The result of `script` is a classic script, since a browser loads neither modules nor JSON from a file.
"""

from __future__ import annotations

import base64
import json
import shlex
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from utf8fpga.cli.demo import TEXTS, demo_text
from utf8fpga.hdl import DecoderParameters, axi_rtlil, build, command_words, module_name
from utf8fpga.model import CATALOGUE, RFC_2279, TABLE_3_7, EncodingTable, ErrorKind, Practice
from utf8fpga.model.render import render
from utf8fpga.model.vectors import DOCUMENTS, vectors
from utf8fpga.sim.aiger import aig_of

_BYTES = 8

START = "E1 80 41 F0 9F 98 80 C3 A9 ED A0 80"
"""What the page shows first: a truncated sequence, two characters, and a surrogate."""

CIRCUITS: dict[str, dict[str, Any]] = {
    "serial, smallest": {"optimize": "area"},
    "serial, pipelined": {},
    "parallel, 4 lanes, packed": {"lanes": 4},
}
"""The parameters of the decoders that the page simulates; each serial one is built for every table."""


def _tables() -> list[EncodingTable]:
    """The tables of bytes, that of UTF-8 first."""
    return [table for table in CATALOGUE.values() if table.unit_width == _BYTES]


def tables() -> list[dict[str, Any]]:
    """Each table with rows, bit distribution, DFA, and the drawing of the DFA."""
    return [
        {
            **json.loads(render(table, "json")),
            "patterns": [
                {"base": pattern.base, "blocks": [[block.first, block.last] for block in pattern.blocks]}
                for pattern in table.patterns.values()
            ],
            "last_code_point": table.last_code_point,
            "svg": render(table, "svg"),
        }
        for table in _tables()
    ]


FEATURED: dict[str, str] = {
    "letters, an accent, a sign, an emoji": "41 C3 A9 E2 82 AC F0 9F 98 80",
    "cut off: a letter where a byte is missing": "E1 80 41",
    "Latin-1 taken for UTF-8: caf\N{LATIN SMALL LETTER E WITH ACUTE}": "63 61 66 E9 21",
    "two bytes for a slash: ../ past a filter": "2E 2E C0 AF",
    "two bytes for NUL, as Java writes it": "41 C0 80 42",
    "an emoji as two surrogates, as CESU-8 has it": "ED A0 BD ED B8 80",
    "one beyond the last code point": "F4 8F BF BF F4 90 80 80",
    "how many U+FFFD? four practices differ": "F0 80 80 41 E1 80",
}
"""The examples that the page lists first: a title for people, and bytes in hexadecimal."""


def examples() -> list[dict[str, str]]:
    """Those that the page lists first, the named vectors without those that only append a letter, and the demo's texts.

    Each has a group, a name and bytes in hexadecimal.
    """
    found: dict[str, list[dict[str, str]]] = {group: [] for group in ("start here", *_GROUPS)}
    for title, digits in FEATURED.items():
        found["start here"].append({"group": "start here", "name": title, "hex": digits})
    for name, units in _named():
        group = next(group for group, begins in _GROUPS.items() if name.startswith(begins))
        found[group].append({"group": group, "name": name, "hex": units.hex()})
    return [example for group in found.values() for example in group]


def _named() -> Iterator[tuple[str, bytes]]:
    yield from ((vector.name, vector.units) for vector in vectors() if not vector.name.endswith("_z"))
    yield from ((name, demo_text(name)) for name in TEXTS)


_GROUPS: dict[str, tuple[str, ...]] = {
    "examples of the standard, section 3.9": tuple(DOCUMENTS),
    "ill-formed": tuple(kind.name.lower() for kind in ErrorKind),
    "first and last of each row": ("row_", "empty"),
    "cut off": ("cut_",),
    "texts of the demo": TEXTS,
}
"""The groups of the examples, with the beginnings of their names."""


PRACTICES: dict[Practice, str] = {
    Practice.MAXIMAL_SUBPARTS: "maximal subpart (D93b); the cores, WHATWG Encoding, CPython",
    Practice.START_OF_A_SEQUENCE: "start of a sequence (L2/08-150): the same marks",
    Practice.EACH_UNIT: "byte",
    Practice.WHOLE_SUBSEQUENCE: "run of ill-formed bytes",
    Practice.MALFORMED_SEQUENCE: "malformed sequence of Kuhn's stress test",
    Practice.FIRST_ERROR: "text: nothing after the first error",
}
"""What has one U+FFFD under each practice."""


def practices() -> list[dict[str, Any]]:
    """The replacement practices, with the ranges of bytes that the rule of malformed sequences refers to."""
    patterns = [[[block.first, block.last] for block in pattern.blocks] for pattern in RFC_2279.patterns.values()]
    return [
        {"name": practice.value, "unit": unit}
        | ({"patterns": patterns} if practice is Practice.MALFORMED_SEQUENCE else {})
        for practice, unit in PRACTICES.items()
    ]


_NAMED = """
    0020..007E 00A0..052F 0531..058F 0591..05F4 0600..06FF 0900..09FF 0B80..0BFF 0E01..0E5B 10A0..10FF
    1200..137F 1E00..27FF 2900..297F 3000..30FF FB00..FB06 FE00..FE0F FEFF..FEFF FF01..FFEF FFF9..FFFD
    10330..1034A 1D400..1D7FF 1F1E6..1F1FF 1F300..1F64F 1F680..1F6FF 1F900..1F9FF
"""
"""The characters whose names the page has: those of the demo's texts and of what is most often typed."""

_SYLLABLES = (0xAC00, 0xD7A3)
_IDEOGRAPH = "CJK UNIFIED IDEOGRAPH-"


def _number(digits: str) -> int:
    return int(digits, 16)


def names() -> list[dict[str, Any]]:
    """The names of characters, as lists, and as rules for ideographs and for Hangul syllables."""
    lists = [
        {"first": first, "names": "|".join(unicodedata.name(chr(point), "") for point in range(first, last + 1))}
        for first, last in (map(_number, span.split("..")) for span in _NAMED.split())
    ]
    return [*lists, *_ideographs(), _syllables()]


def _ideographs() -> Iterator[dict[str, Any]]:
    """The ranges of the ideographs whose names are a prefix and the code point."""
    first: int | None = None
    for point in range(0x3400, 0x40000):
        is_one = unicodedata.name(chr(point), "").startswith(_IDEOGRAPH)
        if is_one and first is None:
            first = point
        elif not is_one and first is not None:
            yield {"first": first, "last": point - 1, "prefix": _IDEOGRAPH}
            first = None


def _syllables() -> dict[str, Any]:
    """The names of Hangul syllables: one of 19 initials, of 21 vowels and of 28 finals (section 3.12)."""
    first, last = _SYLLABLES
    prefix = "HANGUL SYLLABLE "

    def parts(count: int, stride: int, begin: str, end: str) -> list[str]:
        found = (unicodedata.name(chr(first + stride * number)) for number in range(count))
        return [name.removeprefix(prefix + begin).removesuffix(end) for name in found]

    initials, vowels, finals = parts(19, 21 * 28, "", "A"), parts(21, 28, "G", ""), parts(28, 1, "GA", "")
    return {"first": first, "last": last, "prefix": prefix, "parts": [initials, vowels, finals]}


def circuit(table: EncodingTable, title: str) -> dict[str, Any]:
    """A netlist as an and-inverter graph, as the proofs make it.

    Args:
        title: one of `CIRCUITS`.
    """
    parameters = DecoderParameters(table=table, **CIRCUITS[title])
    core = build(parameters)
    aig = aig_of(axi_rtlil(core), top=module_name(core))
    return {
        "table": table.name,
        "title": title,
        "command": shlex.join(["utf8fpga", "generate", *command_words(parameters)]),
        "top": module_name(core),
        "lanes": core.lanes,
        "latency": core.latency,
        "inputs": aig.inputs,
        "latches": aig.latches,
        "outputs": aig.outputs,
        "input_bits": aig.input_bits,
        "output_bits": aig.output_bits,
        "gate_count": len(aig.gates),
        "gates": base64.b64encode(aig.packed).decode(),
    }


def circuits() -> Iterator[dict[str, Any]]:
    """The netlists of the page: all of UTF-8, and for the other tables the serial ones.

    The packed decoder has a hundred times the gates of a serial one.
    """
    for table in _tables():
        for title, given in CIRCUITS.items():
            if table == TABLE_3_7 or "lanes" not in given:
                yield circuit(table, title)


def script(netlists: Iterable[dict[str, Any]]) -> str:
    """The data as JavaScript, with some netlists."""
    data = {
        "tables": tables(),
        "examples": examples(),
        "start": START,
        "practices": practices(),
        "names": names(),
        "circuits": list(netlists),
    }
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return f'"use strict";\nglobalThis.utf8fpga ??= {{}};\nutf8fpga.data = {text};\n'
