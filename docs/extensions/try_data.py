# SPDX-License-Identifier: BSD-2-Clause
"""The data of the page "Try it in the browser", all of it from the rows: tables with their DFAs, examples, netlists.

The result of `script` is a classic script, since a browser loads neither modules nor JSON from a file.
"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Iterable, Iterator
from importlib import resources
from typing import Any

from utf8fpga.formal.aiger import aig_of
from utf8fpga.hdl import DecoderParameters, axi_rtlil, command_words, module_name
from utf8fpga.model import CATALOGUE, TABLE_3_7, EncodingTable, ErrorKind
from utf8fpga.model.render import render
from utf8fpga.model.vectors import DOCUMENTS, vectors

__all__ = ["CIRCUITS", "START", "circuit", "circuits", "examples", "script", "tables"]

_BYTES = 8
_TEXTS = ("torture.txt", "multilingual.txt")

START = "E1 80 41 F0 9F 98 80 C3 A9 ED A0 80"
"""What the page shows first: a truncated sequence, two characters, and a surrogate."""

CIRCUITS: dict[str, dict[str, Any]] = {
    "serial, smallest": {"pipeline": 0},
    "serial, pipelined": {"pipeline": 2},
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


def examples() -> list[dict[str, str]]:
    """The named vectors without those that only append a letter, and the demo's texts: group, name and bytes in hex."""
    found: dict[str, list[dict[str, str]]] = {group: [] for group in _GROUPS}
    for name, units in _named():
        group = next(group for group, begins in _GROUPS.items() if name.startswith(begins))
        found[group].append({"group": group, "name": name, "hex": units.hex()})
    return [example for group in found.values() for example in group]


def _named() -> Iterator[tuple[str, bytes]]:
    yield from ((vector.name, vector.units) for vector in vectors() if not vector.name.endswith("_z"))
    yield from ((name, resources.files("utf8fpga").joinpath("texts", name).read_bytes()) for name in _TEXTS)


_GROUPS: dict[str, tuple[str, ...]] = {
    "examples of the standard, section 3.9": tuple(DOCUMENTS),
    "ill-formed": tuple(kind.name.lower() for kind in ErrorKind),
    "first and last of each row": ("row_", "empty"),
    "cut off": ("cut_",),
    "texts of the demo": _TEXTS,
}
"""The groups of the examples, with the beginnings of their names."""


def circuit(table: EncodingTable, title: str) -> dict[str, Any]:
    """A netlist as an and-inverter graph, as the proofs make it.

    Args:
        table: the encoding form.
        title: one of `CIRCUITS`.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    parameters = DecoderParameters(table=table, **CIRCUITS[title])
    core = parameters.build()
    aig = aig_of(axi_rtlil(core), top=module_name(core))
    return {
        "table": table.name,
        "title": title,
        "command": shlex.join(["utf8fpga", "generate", *command_words(parameters)]),
        "top": module_name(core),
        "lanes": core.lanes,
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

    Raises:
        ToolError: Yosys is missing or failed.
    """
    for table in _tables():
        for title, given in CIRCUITS.items():
            if table == TABLE_3_7 or "lanes" not in given:
                yield circuit(table, title)


def script(netlists: Iterable[dict[str, Any]]) -> str:
    """The data as JavaScript, with some netlists."""
    data = {"tables": tables(), "examples": examples(), "start": START, "circuits": list(netlists)}
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return f'"use strict";\nglobalThis.utf8fpga ??= {{}};\nutf8fpga.data = {text};\n'
