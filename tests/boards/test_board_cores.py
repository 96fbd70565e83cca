# SPDX-License-Identifier: BSD-2-Clause
"""Transcoders and validators on a board: what their UART sends, and how they are selected.

Expected texts and numbers are those of CPython.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.command import utf8fpga
from support.engines import requires_compiler
from support.oracle import refusal, report_of
from support.tiers import tiered
from test_virtual import DAMAGED, Wire, conversation, lit_long_after

from utf8fpga.boards.events import Counters, GarbledError, line_of
from utf8fpga.boards.forms import BOARD_PIPELINE, FORMS, TEXT_FORMS, Expected, answer_in, form_of, parser_of
from utf8fpga.boards.host import Conversation
from utf8fpga.boards.protocol import MARKS, Mark, escaped
from utf8fpga.boards.uart_core import UartCore
from utf8fpga.boards.virtual import VirtualBoard
from utf8fpga.hdl import DecoderParameters, EncoderParameters, TranscoderParameters, ValidatorParameters
from utf8fpga.model import GENERALISED_UTF_8, ErrorKind, InvalidArgumentError, ValidatorReport
from utf8fpga.model.forms import RFC_2279

BAUD = 3e6


def sent_by(board: VirtualBoard, data: bytes) -> bytes:
    """The bytes that a board sends for these."""
    return board.exchange(data) + board.drain()


def marked(form: str, line: str) -> bytes:
    """A marker in a form of text, whose unit before it is in no text that CPython encodes."""
    unit = {"utf-8": b"\xff", "utf-16-le": b"\xff\xdf", "utf-16-be": b"\xdf\xff"}.get(form, b"\xff" * 4)
    return unit + f"{line}\r\n".encode(form)


def counts_of(text: bytes) -> Counters:
    """The counters after a text that has no U+FFFD of its own."""
    items = text.decode("utf-8", "replace")
    bad = items.count("\ufffd")
    return Counters(len(text), len(items) - bad, bad)


def counters(text: bytes) -> str:
    """Their line."""
    return "bytes {:08X}, scalar values {:08X}, ill-formed items {:08X}".format(*counts_of(text).values)


def transcoders() -> dict[str, TranscoderParameters]:
    return {name: TranscoderParameters(to=name, pipeline=BOARD_PIPELINE) for name in TEXT_FORMS}


@requires_compiler
@pytest.mark.parametrize("core", tiered(transcoders(), ["utf-16-le"]))
def test_a_transcoder_sends_what_python_encodes(core: TranscoderParameters) -> None:
    board = VirtualBoard(core=core, baud=BAUD)
    expected = DAMAGED.decode("utf-8", "replace").encode(core.to)
    found = sent_by(board, escaped(DAMAGED) + b"\x04\x05")
    assert found == expected + marked(core.to, "end of text") + marked(core.to, counters(DAMAGED))
    assert answer_in(found) == (core.to, counts_of(DAMAGED))
    # Every byte in every neighbourhood, at line rate.
    text = random.Random(core.to).randbytes(1500) + "😀é€".encode() * 100 + b"A" * 1500
    board.reset()
    events = conversation(board, text)
    assert "".join(chr(event.code_point) for event in events[:-1]) == text.decode("utf-8", "replace")
    assert events[-1] is Mark.END
    assert lit_long_after(board) == []
    assert events[:-1] == Expected(core).feed(text, final=True)


GOOD = "Añ€😀".encode()

GOOD_LINE = "well-formed, bytes {units:08X}, code points {code_points:08X}, UTF-16 units {utf16_units:08X}"
BAD_LINE = (
    "ill-formed at {offset:08X}, errors {errors:08X}, bytes {units:08X}, code points {code_points:08X}, "
    "UTF-16 units {utf16_units:08X}: truncated"
)


@requires_compiler
def test_a_validator_sends_a_line_for_each_text() -> None:
    core = ValidatorParameters()
    board = VirtualBoard(core=core, baud=BAUD)
    good, bad = GOOD_LINE, BAD_LINE
    assert sent_by(board, escaped(GOOD) + b"\x04" + escaped(DAMAGED) + b"\x04\x04\x05").decode() == "".join(
        f"{line}\r\n"
        for line in (
            *(good.format(**report_of(GOOD)._asdict()), "end of text"),
            *(bad.format(**report_of(DAMAGED)._asdict()), "end of text"),
            *(good.format(**report_of(b"")._asdict()), "end of text"),
            f"bytes {len(GOOD) + len(DAMAGED):08X}, well-formed texts 00000002, ill-formed texts 00000001",
        )
    )
    found = Conversation(Wire(board))
    assert found.form == "report"
    text = random.Random(4).randbytes(6000)
    events = [event for some in found.exchange([text]) for event in some if not isinstance(event, Counters)]
    assert events == [*Expected(core).feed(text, final=True), Mark.END]
    assert lit_long_after(board) == []


@requires_compiler
@pytest.mark.slow
def test_lost_bytes_of_a_transcoder_are_marked() -> None:
    board = VirtualBoard(core=TranscoderParameters(to="utf-32-be", pipeline=BOARD_PIPELINE), baud=BAUD)
    sent = sent_by(board, b"A" * 6000)
    assert lit_long_after(board) == ["error"]
    pieces = sent.split(marked("utf-32-be", "bytes lost"))
    assert len(pieces) > 1
    assert set("".join(piece.decode("utf-32-be") for piece in pieces)) == {"A"}


# What is parsed


@pytest.mark.parametrize("form", TEXT_FORMS)
def test_any_division_of_a_text_gives_the_same_events(form: str) -> None:
    text = DAMAGED.decode("utf-8", "replace") + "\ufffd😀"
    data = text.encode(form) + marked(form, "bytes lost") + "é".encode(form) + marked(form, counters(DAMAGED))
    whole = parser_of(form).feed(data)
    assert [event.code_point for event in whole if hasattr(event, "code_point")] == [ord(each) for each in text + "é"]
    assert next(line_of(event) for event in whole if not hasattr(event, "code_point")) == "bytes lost"
    parser = parser_of(form)
    assert [event for place in range(len(data)) for event in parser.feed(data[place : place + 1])] == whole
    # A mark within the line of another one.
    begin = marked(form, "bytes lost").removesuffix("\r\n".encode(form))
    mark = begin.removesuffix("bytes lost".encode(form))
    with pytest.raises(GarbledError, match=f"^the bytes {mark.hex(' ').upper()}$"):
        parser_of(form).feed(begin + marked(form, "bytes lost"))
    assert form in FORMS
    assert set(MARKS) == {8, 16, 32}


def test_lines_of_reports() -> None:
    reports = {
        b"well-formed\r\n": ValidatorReport(True, None, None, 0, 0, 0, 0),
        b"ill-formed\r\n": ValidatorReport(False, None, None, 0, 0, 0, 0),
        b"ill-formed at 0000000A\r\n": ValidatorReport(False, 10, None, 0, 0, 0, 0),
        b"well-formed, bytes 10, code points F, UTF-16 units 11\r\n": ValidatorReport(True, None, None, 0, 16, 15, 17),
        b"ill-formed at 2, errors 1, bytes 4, code points 3, UTF-16 units 5: out of range\r\n": ValidatorReport(
            False, 2, ErrorKind.OUT_OF_RANGE, 1, 4, 3, 5
        ),
    }
    for line, report in reports.items():
        assert parser_of("report").feed(line) == [report]
    assert line_of(reports[b"ill-formed at 0000000A\r\n"]) == "ill-formed at 10"
    assert line_of(ValidatorReport(False, 0, None, 0, 0, 0, 0)) == "ill-formed at 0"
    assert [line_of(report) for report in list(reports.values())[-2:]] == [
        "well-formed, bytes 16, code points 15, UTF-16 units 17",
        "ill-formed at 2, out of range, errors 1, bytes 4, code points 3, UTF-16 units 5",
    ]


# The selection


def test_a_form_of_another_core_selects_it() -> None:
    plain = DecoderParameters()
    assert form_of(plain) == (plain, FORMS["words"])
    assert form_of(plain, "utf-8") == (plain, FORMS["utf-8"])
    assert form_of(plain, "report") == (ValidatorParameters(), FORMS["report"])
    wanted = TranscoderParameters(to="utf-16-be", pipeline=2)
    assert form_of(DecoderParameters(pipeline=2), "utf-16-be") == (wanted, FORMS["utf-16-be"])
    assert form_of(wanted) == form_of(wanted, "utf-16-be") == (wanted, FORMS["utf-16-be"])
    assert form_of(DecoderParameters(table=RFC_2279), "report") == (
        ValidatorParameters(table=RFC_2279),
        FORMS["report"],
    )
    other = DecoderParameters(table=GENERALISED_UTF_8)
    assert form_of(other, "utf-16-le")[0] == TranscoderParameters(from_="generalised-utf-8", to="utf-16-le")


TO_UTF_16, PARALLEL = TranscoderParameters(to="utf-16-le"), DecoderParameters(architecture="parallel")
ENCODINGS = "utf-8, utf-16-le, utf-16-be, utf-32-le, utf-32-be"
OF_16_BITS = "UTF-16 has code units of 16 bits: a UART transfers 8"
OF_A_TRANSCODER = "form utf-16-le is that of the core transcoder, which has no options of"


@pytest.mark.parametrize(
    ("core", "form", "message"),
    [
        (EncoderParameters(), None, "the board's core must be one of decoder, transcoder, validator, not encoder"),
        (TO_UTF_16, "utf-16-be", "form utf-16-be is not one of the core transcoder-utf-16-le: leave out the form"),
        (ValidatorParameters(), "lines", "form lines is not one of the core validator: leave out the form"),
        (
            TranscoderParameters(to="cesu-8"),
            *(None, f"the encoding 'cesu-8' of the output is not one of {ENCODINGS}, which a board sends"),
        ),
        (TranscoderParameters(from_="utf-16-le"), None, OF_16_BITS),
        (TranscoderParameters(from_="utf-16-be"), None, OF_16_BITS),
        (ValidatorParameters(lanes=4), None, "lanes is 4, but a UART transfers one byte at a time: use 1"),
        (PARALLEL, "utf-16-le", f"{OF_A_TRANSCODER} decoder-parallel: leave them out"),
        (DecoderParameters(), "morse", f"form 'morse' is not one of words, lines, {ENCODINGS}, report"),
    ],
)
def test_what_is_not_possible(core: object, form: str | None, message: str) -> None:
    assert refusal(InvalidArgumentError, lambda: UartCore(4000, 1000, core, form=form)) == message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--core", "sanitizer", "--to", "utf-16-le"], "--to is an option of the core transcoder: "),
        (["--core", "remover"], "'remover' is not one of 'decoder', 'transcoder', 'sanitizer', 'validator'"),
        (["--core"], "Option '--core' requires an argument"),
    ],
)
def test_bad_use_of_the_command(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (["build", "icebreaker"], ["talk", "virtual:icebreaker", "-"]):
        done = utf8fpga(*command, *words)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.count(b"\n") == 1
        assert message in done.stderr.decode()
    assert not list(tmp_path.iterdir())
