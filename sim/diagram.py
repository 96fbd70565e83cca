# SPDX-License-Identifier: BSD-2-Clause
"""Timing diagrams of the streams of a core, drawn by WaveDrom."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any

from amaranth.lib import data

from utf8fpga.hdl import Core, CoreParameters, parameters_of
from utf8fpga.hdl.beats import lanes_of, symbol_shape
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import InvalidArgumentError
from utf8fpga.model.render import DARK_STYLE
from utf8fpga.sim.waveform import samples

DIAGRAM_CYCLES = range(24)
"""The cycles of a diagram, if no others are specified."""

_CELL = 40
"""The width of a cycle in a diagram of scale 1, in pixels."""

_CHARACTER, _MARGIN = 7, 14
"""The width of a character of a label, and of both edges of a cell, in pixels."""

_Values = Mapping[tuple[str, ...], int | str]
"""The values of all nets in a cycle, see `samples`."""

_Cell = tuple[str, bool] | None
"""The label of a symbol, and whether it is ill-formed; None where there is no symbol."""


class DiagramError(ToolError):
    """A diagram cannot be drawn: WaveDrom is not installed, or the simulation ended before the cycles."""


def renderer() -> Callable[[str], Any]:
    """WaveDrom's function that draws a diagram."""
    try:
        from wavedrom import render
    except ImportError:
        raise DiagramError("wavedrom is not installed: pip install 'utf8fpga[diagrams]'") from None
    found: Callable[[str], Any] = render
    return found


def write_diagram(
    waveform: Path, svg: Path, core: Core, parameters: CoreParameters | None = None, cycles: range = DIAGRAM_CYCLES
) -> None:
    """Draw the streams of a core as a timing diagram. Equal waveforms give the same file, byte for byte.

    A diagram has the handshake of both streams, and for each lane the symbol of each beat: of a decoder the byte, and
    the code point or the cause of an error. Ill-formed symbols have another colour. The description in the file is the
    diagram in the format of WaveDrom.

    Args:
        waveform: a file that a simulation of the core has written.
        svg: the diagram.
        core: the core.
        parameters: its parameters; default: see `parameters_of`.
        cycles: consecutive cycles, counted from the start of the simulation; those after its end are omitted.

    Raises:
        DiagramError: WaveDrom is not installed, or the simulation ended before the first one of the cycles.
    """
    render = renderer()
    parameters = parameters or parameters_of(core)
    diagram = timing_diagram(samples(waveform), core, parameters, cycles)
    source = json.dumps(diagram)
    drawing = render(source)
    # Most of the file would be definitions of shapes that the diagram does not have.
    used = set(re.findall(r'href="#([^"]+)"', drawing.tostring()))
    definitions = drawing.elements[0].elements
    definitions[:] = [shape for shape in definitions if shape.attribs.get("id") in used]
    # A background, since lines and labels are black.
    drawing.elements.insert(0, drawing.rect(size=("100%", "100%"), fill="white"))
    drawing.elements.insert(0, drawing.style(DARK_STYLE))
    drawing.set_desc(title=f"Timing diagram: {parameters.title}", desc=source)
    svg.write_text(drawing.tostring() + "\n", encoding="utf-8")


def timing_diagram(
    values: Iterable[_Values], core: Core, parameters: CoreParameters, cycles: range = DIAGRAM_CYCLES
) -> dict[str, Any]:
    """A timing diagram in the format of WaveDrom.

    Args:
        values: the values of the nets in each cycle, see `samples`.
    """
    found = list(islice(values, cycles.start, cycles.stop))
    if not found:
        raise DiagramError(f"the simulation ended before cycle {cycles.start}: specify earlier cycles")
    shape = symbol_shape(core.output)
    groups: list[Any] = [{"name": "clk", "wave": "P" + "." * (len(found) - 1)}]
    longest = 1
    for stream in ("input", "output"):
        lines = [{"name": name, "wave": _wave(str(each[stream, name]) for each in found)} for name in _HANDSHAKE]
        begins = _begins(found, stream)
        lanes = lanes_of(getattr(core, stream))
        for lane in range(lanes):
            cells: list[_Cell] = []
            for each in found:
                if not (each[stream, "valid"] and int(each[stream, "keep"]) >> lane & 1):
                    cells.append(None)
                elif stream == "input":
                    cells.append((parameters.input_label(int(each[stream, f"symbols_{lane}"])), False))
                else:
                    cells.append(_output_cell(_fields(each, shape, lane), parameters))
            longest = max(longest, *(len(cell[0]) for cell in cells if cell), 1)
            lines.append(_line(f"lane {lane}" if lanes > 1 else "symbol", cells, begins))
        lines.append(
            {
                "name": "last",
                "wave": _wave(str(each[stream, "last"]) if each[stream, "valid"] else "x" for each in found),
            }
        )
        groups += [{}, [stream, *lines]]
    scale = -(-(longest * _CHARACTER + _MARGIN) // _CELL)
    # A diagram of one cycle has no number, since wavedrom cannot draw two ticks.
    head = {"tick": cycles.start} if len(found) > 1 else {}
    return {"signal": groups, "config": {"hscale": scale}, "head": head}


_HANDSHAKE = ("valid", "ready")


def _wave(values: Iterable[str]) -> str:
    """The wave of a bit, with a point where it is as in the preceding cycle."""
    given = list(values)
    return "".join("." if n and value == given[n - 1] else value for n, value in enumerate(given))


def _begins(values: Sequence[_Values], stream: str) -> list[bool]:
    """For each cycle, whether its beat is another one than in the preceding cycle, which was transferred."""
    moves = [bool(each[stream, "valid"] and each[stream, "ready"]) for each in values]
    return [not n or moves[n - 1] for n in range(len(values))]


def _line(name: str, cells: Sequence[_Cell], begins: Sequence[bool]) -> dict[str, Any]:
    """The line of a lane."""
    wave, labels = "", []
    for n, cell in enumerate(cells):
        if n and cell == cells[n - 1] and not (cell and begins[n]):
            wave += "."
        elif cell is None:
            wave += "x"
        else:
            wave += "9" if cell[1] else "="
            labels.append(cell[0])
    return {"name": name, "wave": wave, "data": labels}


def _fields(values: _Values, shape: Any, lane: int) -> dict[str, int]:
    """The fields of an output symbol, as `CoreParameters.observed` expects them."""
    scope = ("output", f"symbols_{lane}")
    if not isinstance(shape, data.StructLayout):
        return {"value": int(values[scope])}
    return {str(name): _number(field.shape, values[(*scope, str(name))]) for name, field in shape}


def _number(shape: Any, value: int | str) -> int:
    """A value of a field, for which a waveform may have the name of a member of an enumeration."""
    is_name = isinstance(shape, type) and issubclass(shape, Enum) and isinstance(value, str)
    return int(shape[str(value)].value) if is_name else int(value)


def _output_cell(fields: dict[str, int], parameters: CoreParameters) -> _Cell:
    try:
        return parameters.label(parameters.observed(fields, None)), bool(fields.get("error"))
    except InvalidArgumentError:
        return "contradiction", True
