# SPDX-License-Identifier: BSD-2-Clause
"""The page to try: its data, all of it from the rows, and its scripts, which no other page loads.

The data are a classic script, since a browser loads neither modules nor JSON from a file.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from utf8fpga.formal.gates import aig_of
from utf8fpga.hdl import DecoderParameters, axi_rtlil, build, command_words
from utf8fpga.model import CATALOGUE, TABLE_3_7, EncodingTable, forms
from utf8fpga.model.render import render

SCRIPTS = ("data.js", "decoder.js", "text.js", "circuit.js", "stream.js", "waveform.js", "page.js")
"""The scripts in the order in which they are loaded; each uses those before it."""

EXAMPLES: dict[str, tuple[str, EncodingTable]] = {
    "a cut-off sequence, an emoji, a surrogate": ("E1 80 41 F0 9F 98 80 C3 A9 ED A0 80", TABLE_3_7),
    "one character of each length": ("41 C3 A9 E2 82 AC F0 9F 98 80", TABLE_3_7),
    "Latin-1 taken for UTF-8: caf\u00e9!": ("63 61 66 E9 21", TABLE_3_7),
    "two bytes for a slash: ../ past a filter": ("2E 2E C0 AF", TABLE_3_7),
    "two bytes for NUL, as Java writes it": ("41 C0 80 42", forms.MODIFIED_UTF_8_CODE_UNITS),
    "an emoji as two surrogates, as CESU-8 has it": ("ED A0 BD ED B8 80", forms.CESU_8_CODE_UNITS),
    "one beyond the last code point": ("F4 8F BF BF F4 90 80 80", TABLE_3_7),
    "how many U+FFFD? one for each maximal subpart": ("F0 80 80 41 E1 80 F0 9F 98 C2", TABLE_3_7),
}
"""A title for people, bytes in hexadecimal, and their table; the first one is what the page begins with."""

CIRCUITS: dict[str, dict[str, Any]] = {
    "a byte per cycle, smallest": {"optimize": "area"},
    "a byte per cycle, fast": {},
    "4 bytes per cycle": {"lanes": 4},
}
"""The parameters of the decoders that the page simulates, those of other tables but UTF-8 with the first ones."""


def tables() -> list[EncodingTable]:
    """The tables of bytes, that of UTF-8 first."""
    return [table for table in CATALOGUE.values() if table.unit_width == TABLE_3_7.unit_width]


def table_data(table: EncodingTable) -> dict[str, Any]:
    """A table with its rows, its bits and its DFA."""
    patterns = table.patterns.values()
    return {
        **json.loads(render(table, "json")),
        "patterns": [{"base": each.base, "blocks": [[b.first, b.last] for b in each.blocks]} for each in patterns],
        "last_code_point": table.last_code_point,
    }


def circuit(table: EncodingTable, title: str) -> dict[str, Any]:
    """The netlist of a decoder as an and-inverter graph; the title is one of `CIRCUITS`.

    `options` are those of the command `simulate`, None where it does not have the table.
    """
    parameters = DecoderParameters(table=table, **CIRCUITS[title])
    core = build(parameters)
    aig = aig_of(axi_rtlil(core))
    has_command = table.name in DecoderParameters.options()["table"].choices
    return {
        "table": table.name,
        "title": title,
        "options": " ".join(command_words(parameters)) if has_command else None,
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
    """The netlists of the page."""
    for table in tables():
        titles = list(CIRCUITS) if table == TABLE_3_7 else list(CIRCUITS)[:1]
        yield from (circuit(table, title) for title in titles)


def script(netlists: Iterable[dict[str, Any]]) -> str:
    """The data as JavaScript, with some netlists."""
    data = {
        "tables": list(map(table_data, tables())),
        "examples": [{"name": name, "hex": text, "table": table.name} for name, (text, table) in EXAMPLES.items()],
        "circuits": list(netlists),
    }
    return f'"use strict";\nglobalThis.utf8fpga ??= {{}};\nutf8fpga.data = {json.dumps(data, separators=(",", ":"))};\n'


def _write_data(app: Sphinx) -> None:
    """Write the data beside the other scripts, which are copied later."""
    if app.builder.format == "html":
        folder = Path(app.outdir, "_static", "try")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SCRIPTS[0]).write_text(script(circuits()), encoding="utf-8", newline="\n")


def _add_scripts(app: Sphinx, page: str, _template: str, _context: dict[str, Any], _doctree: object) -> None:
    if page == "try":
        app.add_css_file("try/page.css")
        for name in SCRIPTS:
            app.add_js_file(f"try/{name}", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", _write_data)
    app.connect("html-page-context", _add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
