# SPDX-License-Identifier: BSD-2-Clause
"""The forms in which a board sends what its core outputs, and the core of each form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Signal

from utf8fpga.boards.protocol import BYTES_PER_WORD, COUNTERS, ITEM_COUNTERS, REPORT_COUNTERS, WordFlag
from utf8fpga.boards.record import Record, RecordForm
from utf8fpga.boards.text_form import Number, Step, TextForm, Wording
from utf8fpga.hdl import CoreParameters, DecoderParameters, TranscoderParameters, ValidatorParameters
from utf8fpga.hdl.transcoder.transcoder import source_table
from utf8fpga.model.encodings import ENCODINGS
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import TABLE_3_7, UTF_16, UTF_32
from utf8fpga.model.practices import Practice

__all__ = ["BOARD_CORES", "FORMS", "TEXT_FORMS", "BoardCore", "Form", "WordForm", "form_of"]

BoardCore = DecoderParameters | TranscoderParameters | ValidatorParameters
"""The parameters of a core that a board may have."""

BOARD_CORES = (DecoderParameters, TranscoderParameters, ValidatorParameters)
"""Their classes."""

TEXT_FORMS = tuple(name for name, each in ENCODINGS.items() if each.form in (TABLE_3_7, UTF_16, UTF_32))
"""The forms that are a text of Unicode; a marker is a line after a code unit of `MARKS`."""


class WordForm(RecordForm):
    """Each record as a word of 4 bytes, see `WordFlag`; the counters are three more words.

    Latency: `data.valid` is asserted in the cycle after the transfer of a record.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Signal(8 * BYTES_PER_WORD)
        bytes_left = Signal(range(BYTES_PER_WORD + 1))
        words_left = Signal(range(COUNTERS + 1))
        """The number of counters to send after the word."""
        item = self.records.payload.symbol
        item_word = Cat(item.code_point, Const(0, 31 - len(item.code_point)), item.error)
        flags = {Record.END: WordFlag.END, Record.LOST: WordFlag.LOST, Record.COUNTERS: WordFlag.COUNTERS}
        idle = bytes_left == 0
        m.d.comb += [
            self.records.ready.eq(idle & (words_left == 0)),
            self.data.valid.eq(~idle),
            self.data.payload.eq(word[:8]),
        ]
        with m.If(self.records.valid & self.records.ready):
            m.d.sync += bytes_left.eq(BYTES_PER_WORD)
            with m.Switch(self.records.payload.record):
                with m.Case(Record.SYMBOL):
                    m.d.sync += word.eq(item_word)
                for record, flag in flags.items():
                    with m.Case(record):
                        m.d.sync += word.eq(int(flag))
                        if record is Record.COUNTERS:
                            m.d.sync += words_left.eq(COUNTERS)
        with m.Elif(idle & (words_left != 0)):
            counter = Array([self.counters[n] for n in reversed(range(COUNTERS))])[words_left - 1]
            m.d.sync += [word.eq(counter), bytes_left.eq(BYTES_PER_WORD), words_left.eq(words_left - 1)]
        with m.Elif(self.data.valid & self.data.ready):
            m.d.sync += [word.eq(word >> 8), bytes_left.eq(bytes_left - 1)]
        return m


_ITEM_LINES = Wording(
    [b"U+", Step.CODE_POINT, b"\r\n", Step.DROP], [b"ill-formed ", Step.UNITS, b": ", Step.CAUSE], ITEM_COUNTERS
)

_REPLACED = Wording([Step.COPY], [Step.DROP, "\ufffd".encode()], ITEM_COUNTERS, encoding=ENCODINGS["utf-8"])


def _report_wording(fields: frozenset[str]) -> Wording:
    """The line of a report with these fields."""
    sizes: list[bytes | Step | Number] = []
    if "units" in fields:
        for text, name in (("bytes", "units"), ("code points", "code_points"), ("UTF-16 units", "utf16_units")):
            sizes += [f", {text} ".encode(), Number(name)]
    ill_formed: list[bytes | Step | Number] = [b"ill-formed"]
    if "offset" in fields:
        ill_formed += [b" at ", Number("offset")]
    if "errors" in fields:
        ill_formed += [b", errors ", Number("errors"), *sizes, b": ", Step.CAUSE]
    else:
        ill_formed += [b"\r\n"]
    return Wording([b"well-formed", *sizes, b"\r\n"], ill_formed, REPORT_COUNTERS)


_Circuit = Callable[[Any], RecordForm]
"""Makes the circuit of a form for the shape of a core's output symbols."""


@dataclass(frozen=True)
class Form:
    """A form of the output.

    Attributes:
        name: its name on the command line.
        help: what is sent.
        circuits: for each core that has this form, by the class of its parameters, the function that makes the circuit
            for the shape of the core's output symbols.
        fields: the fields of a decoder's item that the circuit needs, of `kind` and `length`.
    """

    name: str
    help: str
    circuits: Mapping[type[CoreParameters], _Circuit]
    fields: frozenset[str] = frozenset()

    def with_fields(self, core: BoardCore) -> BoardCore:
        """The parameters of a core with the fields that this form needs.

        Raises:
            InvalidArgumentError: the items of the decoder's practice do not cover the text.
        """
        if not self.fields or not isinstance(core, DecoderParameters):
            return core
        if core.practice not in COVERING_PRACTICES:
            raise InvalidArgumentError(
                f"practice {core.practice} drops bytes, which the form {self.name} shows: use "
                f"{' or '.join(COVERING_PRACTICES)}, or the form words"
            )
        fields = self.fields
        return replace(core, kind=core.kind or "kind" in fields, length=core.length or "length" in fields)


COVERING_PRACTICES = (Practice.MAXIMAL_SUBPARTS, Practice.EACH_UNIT)
"""The practices under which the lengths of the items of a decoder add up to the text."""


def _items(wording: Wording) -> _Circuit:
    return lambda item: TextForm(item, lambda symbol: symbol.error, wording)


def _report(report: Any) -> RecordForm:
    return TextForm(report, lambda symbol: ~symbol.well_formed, _report_wording(frozenset(report.members)))


def _text_form(name: str) -> Form:
    units = _items(Wording([Step.UNIT], [Step.UNIT], ITEM_COUNTERS, encoding=ENCODINGS[name]))
    circuits: dict[type[CoreParameters], _Circuit] = {TranscoderParameters: units}
    if name == "utf-8":
        circuits[DecoderParameters] = _items(_REPLACED)
    return Form(name, "the text with U+FFFD in place of ill-formed items", circuits, frozenset({"length"}))


FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form(
            "words",
            "each item as a word of 4 bytes",
            {DecoderParameters: lambda item: WordForm(item, lambda symbol: symbol.error)},
        ),
        Form(
            "lines",
            "a line per item, such as U+1F600 or ill-formed E2 82: truncated",
            {DecoderParameters: _items(_ITEM_LINES)},
            frozenset({"kind", "length"}),
        ),
        *map(_text_form, TEXT_FORMS),
        Form("report", "a line per text, with its first error and its lengths", {ValidatorParameters: _report}),
    )
}
"""The forms, by name; the first is the default of a decoder."""


def form_of(core: CoreParameters, name: str | None = None) -> tuple[BoardCore, Form]:
    """The form of a board's output, and the core for it.

    A decoder becomes a transcoder or a validator if the form is that of another core.

    Args:
        core: the parameters of the core.
        name: the name of the form; default: that of the core, words for a decoder.

    Returns:
        The core, without the fields that the form adds, and the form.

    Raises:
        InvalidArgumentError: there is no such form, the core does not have it, or a UART cannot connect the core.
    """
    if not isinstance(core, BOARD_CORES):
        known = ", ".join(kind.core for kind in BOARD_CORES)
        raise InvalidArgumentError(f"the board's core must be one of {known}, not {core.core}")
    if name is None:
        name = core.to if isinstance(core, TranscoderParameters) else _DEFAULT_FORMS[type(core)]
    if isinstance(core, TranscoderParameters) and core.to not in TEXT_FORMS:
        raise InvalidArgumentError(
            f"the encoding {core.to!r} of the output is not one of {', '.join(TEXT_FORMS)}, which a board sends"
        )
    if name not in FORMS:
        raise InvalidArgumentError(f"form {name!r} is not one of {', '.join(FORMS)}")
    form = FORMS[name]
    if isinstance(core, DecoderParameters) and DecoderParameters not in form.circuits:
        core = _core_in_place_of(core, form)
    has_form = type(core) in form.circuits and not (isinstance(core, TranscoderParameters) and core.to != name)
    if not has_form:
        raise InvalidArgumentError(f"form {name} is not one of the core {core.name}: leave out the form")
    _check_connectable(core)
    return core, form


_DEFAULT_FORMS = {DecoderParameters: "words", ValidatorParameters: "report"}


def _core_in_place_of(core: DecoderParameters, form: Form) -> BoardCore:
    """The core of a form that a decoder does not have, with the decoder's table."""
    is_text = TranscoderParameters in form.circuits
    if core != DecoderParameters(table=core.table, pipeline=core.pipeline if is_text else None):
        other = (TranscoderParameters if is_text else ValidatorParameters).core
        raise InvalidArgumentError(
            f"form {form.name} is that of the core {other}, which has no options of {core.name}: leave them out"
        )
    if not is_text:
        return ValidatorParameters(table=core.table)
    source = next((name for name, each in ENCODINGS.items() if each.form == core.table), None)
    if source is None:
        raise InvalidArgumentError(f"form {form.name} is not possible for {core.table.name}: use words or lines")
    return TranscoderParameters(from_=source, to=form.name, pipeline=core.pipeline)


def _check_connectable(core: BoardCore) -> None:
    """Check that the input of a core is bytes, one at a time, and the code points fit a word."""
    table = source_table(core.given) if isinstance(core, TranscoderParameters) else core.table
    if table.unit_width != 8:
        raise InvalidArgumentError(f"{table.name} has code units of {table.unit_width} bits: a UART transfers 8")
    if isinstance(core, ValidatorParameters) and core.pass_through:
        raise InvalidArgumentError("a board outputs the reports of a tap: leave out pass_through")
    if core.lanes != 1:
        raise InvalidArgumentError(f"lanes is {core.lanes}, but a UART transfers one byte at a time: use 1")
    if isinstance(core, DecoderParameters) and table.last_code_point >= 1 << 21:
        raise InvalidArgumentError(
            f"{table.name} has code points up to {table.last_code_point:X}: a word has code points up to 1FFFFF"
        )
