# SPDX-License-Identifier: BSD-2-Clause
"""The forms in which a board sends what its core outputs, and the core of each form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from utf8fpga.boards.events import Counters, Event, ItemLines, Parser, ReportLines, Text, Words
from utf8fpga.boards.record import RecordForm, WordForm, has_field
from utf8fpga.boards.text_form import TextForm
from utf8fpga.boards.wording import ITEM_LINES, REPORT_LINES, Program, Step, Wording
from utf8fpga.hdl import CORES, CoreParameters, TranscoderParameters, ValidatorParameters
from utf8fpga.hdl.cores import is_default
from utf8fpga.model import TABLE_3_7, UTF_16, UTF_32, InvalidArgumentError
from utf8fpga.model.encodings import ENCODINGS

BOARD_CORES = tuple(name for name, kind in CORES.items() if kind().board_forms())
"""The names of the cores that a board may have."""

TEXT_FORMS = tuple(name for name, each in ENCODINGS.items() if each.form in (TABLE_3_7, UTF_16, UTF_32))
"""The forms that are a text of Unicode; a marker is a line after a code unit of `MARKS`."""

BOARD_PIPELINE = 0
"""The setting of the pipeline that suits the clocks of boards: the smallest."""


@dataclass(frozen=True)
class Form:
    """A form of the output.

    Attributes:
        name: its name on the command line.
        circuit: makes the circuit for the shape of the core's output symbols.
        parser: makes the parser of the host.
        fields: the optional fields of the symbols that the circuit needs, of `kind` and `length`.
        has_code_points: it sends code points, of at most 21 bits.
    """

    name: str
    circuit: Callable[[Any], RecordForm]
    parser: Callable[[], Parser]
    fields: tuple[str, ...] = ()
    has_code_points: bool = True

    def with_fields(self, core: CoreParameters) -> CoreParameters:
        """The parameters of a core with the fields that this form needs, where it has options for them."""
        return replace(core, **{each.name: True for each in fields(core) if each.name in self.fields})


def _text_form(name: str) -> Form:
    encoding = ENCODINGS[name]

    def circuit(symbol: Any) -> RecordForm:
        # The bytes of an item, or the output units as they are.
        is_item = has_field(symbol, "code_point")
        good: Program = [Step.COPY] if is_item else [Step.UNIT]
        bad: Program = [Step.DROP, "\ufffd".encode()] if is_item else good
        return TextForm(symbol, Wording(good, bad, encoding=encoding))

    return Form(name, circuit, lambda: Text(encoding), ("length",))


def _report_circuit(report: Any) -> RecordForm:
    name = "full" if has_field(report, "kind") else "offset" if has_field(report, "offset") else "verdict"
    return TextForm(report, REPORT_LINES[name])


FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form("words", WordForm, Words),
        Form("lines", lambda item: TextForm(item, ITEM_LINES), ItemLines, ("kind", "length")),
        *map(_text_form, TEXT_FORMS),
        Form("report", _report_circuit, ReportLines, has_code_points=False),
    )
}
"""The forms, by name: items as words or lines, the text with U+FFFD in place of ill-formed items, and reports."""


def form_of(core: CoreParameters, name: str | None = None) -> tuple[CoreParameters, Form]:
    """The form of a board's output, and the core for it.

    The default core becomes a transcoder or a validator if the form is that of another core.

    Args:
        name: the name of the form; default: the first one of the core.

    Returns:
        The core, without the fields that the form adds, and the form.

    Raises:
        InvalidArgumentError: there is no such form, the core does not have it, or a UART cannot connect the core.
    """
    forms = core.board_forms()
    if not forms:
        raise InvalidArgumentError(f"the board's core must be one of {', '.join(BOARD_CORES)}, not {core.core}")
    if forms[0] not in FORMS:
        raise InvalidArgumentError(
            f"the encoding {forms[0]!r} of the output is not one of {', '.join(TEXT_FORMS)}, which a board sends"
        )
    if name is None:
        name = forms[0]
    if name not in FORMS:
        raise InvalidArgumentError(f"form {name!r} is not one of {', '.join(FORMS)}")
    if name not in forms and is_default(type(core)):
        core = _core_of(name, core)
    elif name not in forms:
        raise InvalidArgumentError(f"form {name} is not one of the core {core.name}: leave out the form")
    _check_connectable(core, FORMS[name])
    return core, FORMS[name]


def _core_of(form: str, decoder: Any) -> CoreParameters:
    """The core of a form that a decoder does not have, with the decoder's table, and its pipeline if it has one."""
    is_text = form in TEXT_FORMS
    if decoder.words(without=("table", "pipeline")):
        other = (TranscoderParameters if is_text else ValidatorParameters).core
        raise InvalidArgumentError(
            f"form {form} is that of the core {other}, which has no options of {decoder.name}: leave them out"
        )
    if not is_text:
        return ValidatorParameters(table=decoder.table)
    source = next((name for name, each in ENCODINGS.items() if each.form == decoder.table), None)
    if source is None:
        raise InvalidArgumentError(f"form {form} is not possible for {decoder.table.name}: use words or lines")
    return TranscoderParameters(from_=source, to=form, pipeline=decoder.pipeline)


def _check_connectable(core: CoreParameters, form: Form) -> None:
    """Check that the input of a core is bytes, one at a time, and the code points fit a word."""
    table = core.input_table
    if table is not None and table.unit_width != 8:
        raise InvalidArgumentError(f"{table.name} has code units of {table.unit_width} bits: a UART transfers 8")
    if (lanes := getattr(core, "lanes", 1)) != 1:
        raise InvalidArgumentError(f"lanes is {lanes}, but a UART transfers one byte at a time: use 1")
    if table is not None and form.has_code_points and table.last_code_point >= 1 << 21:
        raise InvalidArgumentError(
            f"{table.name} has code points up to {table.last_code_point:X}: a word has code points up to 1FFFFF"
        )


def parser_of(form: str) -> Parser:
    """A parser of a form."""
    return FORMS[form].parser()


def answer_in(data: bytes) -> tuple[str, Counters] | None:
    """The form of an answer at the end of what was received, and its counters; None if there is none."""
    for form in FORMS:
        if counters := parser_of(form).counters_at_end(data):
            return form, counters
    return None


class Expected:
    """The events of a text according to the model, as a board sends them in a form, without markers.

    Args:
        core: the parameters of the board's core.
        form: the form; default: see `form_of`.
    """

    def __init__(self, core: CoreParameters, form: str | None = None) -> None:
        self._core, chosen = form_of(core, form)
        self._golden, self._parser = self._core.golden(), chosen.parser()
        self._units = bytearray()

    def feed(self, part: bytes, *, final: bool = False) -> list[Event]:
        """The events that the next part of the text determines; `final` at the end of the text."""
        self._units += part
        symbols = self._golden.process(part, final)
        events = self._parser.expected(self._core, symbols, bytes(self._units))
        del self._units[: sum(symbol.length for symbol in symbols)]
        return events
