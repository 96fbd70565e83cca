# SPDX-License-Identifier: BSD-2-Clause
"""The forms in which a board sends what its core outputs: words of a decoder, or repaired UTF-8 of a transcoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from utf8fpga.boards.events import Event, Parser, Text, Words
from utf8fpga.boards.record import RecordForm, TextForm, WordForm
from utf8fpga.hdl import CoreParameters, DecoderParameters, TranscoderParameters, entry_of
from utf8fpga.model import InvalidArgumentError


class Form(NamedTuple):
    """A form of the output.

    Attributes:
        name: its name on the command line.
        core: the parameters of a core that has it.
        circuit: makes the circuit for the shape of the core's output symbols.
        parser: makes the parser of the host.
    """

    name: str
    core: CoreParameters
    circuit: Callable[[Any], RecordForm]
    parser: Callable[[], Parser]


FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form("utf-8", TranscoderParameters(from_="utf-8", to="utf-8", optimize="area"), TextForm, Text),
        Form("words", DecoderParameters(optimize="area"), WordForm, Words),
    )
}
"""The forms, by name, with the smallest pipeline, which suits the clocks of boards.

An answer in the first form also ends like one in the second.
"""


def form_of(core: CoreParameters) -> Form:
    """The form of a board's output.

    Raises:
        InvalidArgumentError: the core is neither a decoder nor a transcoder to UTF-8, or a UART cannot connect it.
    """
    if isinstance(core, TranscoderParameters) and core.to == "utf-8":
        form = FORMS["utf-8"]
    elif isinstance(core, DecoderParameters):
        form = FORMS["words"]
    else:
        raise InvalidArgumentError(f"the board's core must be a decoder or a transcoder to UTF-8, not {core.name}")
    table = entry_of(core).input_table
    if table is not None and table.unit_width != 8:
        raise InvalidArgumentError(f"{table.name} has code units of {table.unit_width} bits: a UART transfers 8")
    if core.lanes != 1:
        raise InvalidArgumentError(f"lanes is {core.lanes}, but a UART transfers one byte at a time: use 1")
    if table is not None and table.last_code_point >= 1 << 21:
        raise InvalidArgumentError(
            f"{table.name} has code points up to {table.last_code_point:X}: a word has code points up to 1FFFFF"
        )
    return form


def answer_in(data: bytes) -> str | None:
    """The form of an answer at the end of what was received; None if there is none."""
    return next((name for name, form in FORMS.items() if form.parser().ends_with_answer(data)), None)


class Expected:
    """The events of a text according to the model, as a board sends them, without markers.

    Args:
        core: the parameters of the board's core.
    """

    def __init__(self, core: CoreParameters) -> None:
        self._golden, self._parser = entry_of(core).golden(), form_of(core).parser()

    def feed(self, part: bytes, *, final: bool = False) -> list[Event]:
        """The events that the next part of the text determines; `final` at the end of the text."""
        return self._parser.expected(self._golden.process(part, final))
