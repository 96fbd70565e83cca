# SPDX-License-Identifier: BSD-2-Clause
"""A text through the golden model, and through the simulated hardware."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from utf8fpga.model import Decoder, Item, encode
from utf8fpga.output import CommandError, progress, read_chunks, writing
from utf8fpga.show import Tally, json_line

__all__ = ["decode_file", "simulate_file"]


def decode_file(file: str, output: str, *, form: str, strict: bool) -> None:
    """Decode a file with the golden model.

    Args:
        file: what is read, or ``-``.
        output: what is written, or ``-``.
        form: ``text``, ``json`` or ``summary``.
        strict: count an ill-formed item as a failure.

    Raises:
        CommandError: a file cannot be read or written, or `strict` and something is ill-formed.
    """
    tally = Tally()
    with writing(output) as out, progress("decoding", _size(file)) as done:
        for items, source in _decoded(read_chunks(file), done):
            out.write(_FORMS[form](items, source))
            tally.add(items)
        if form == "summary":
            out.write("".join(f"{line}\n" for line in tally.lines()).encode())
    if strict and tally.ill_formed:
        raise CommandError(f"{file!r} is ill-formed: {tally.ill_formed} of {tally.items} items", status=1)


def _decoded(
    chunks: Iterable[bytes], done: Callable[[int], None]
) -> Iterator[tuple[Sequence[Item], Callable[[Item], bytes]]]:
    """Per chunk the items that it completes, and what gives the bytes of one of them."""
    decoder = Decoder()
    window, first = b"", 0

    def source(item: Item) -> bytes:
        return window[item.offset - first : item.offset - first + item.length]

    for chunk in chunks:
        window += chunk
        yield decoder.decode(chunk), source
        done(first + len(window))
        _, after = decoder.getstate()
        window, first = window[after - first :], after
    yield decoder.decode(b"", final=True), source


def _as_text(items: Iterable[Item], _source: Callable[[Item], bytes]) -> bytes:
    return encode(item.code_point for item in items)


def _as_json(items: Iterable[Item], _source: Callable[[Item], bytes]) -> bytes:
    return "".join(f"{json_line(item)}\n" for item in items).encode()


def _as_spans(items: Iterable[Item], source: Callable[[Item], bytes]) -> bytes:
    spans = (
        f"offset {item.offset}: {source(item).hex(' ').upper()} {item.error.name}\n"
        for item in items
        if item.error is not None
    )
    return "".join(spans).encode()


_FORMS = {"text": _as_text, "json": _as_json, "summary": _as_spans}


def simulate_file(
    file: str | None,
    digits: str | None,
    *,
    pipeline: int,
    input_pauses: Sequence[bool],
    output_pauses: Sequence[bool],
    vcd: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Decode a text through the simulated decoder, compare with the model and print the result.

    Args:
        file: what is read, or ``-``; None where `digits` are given.
        digits: the text's bytes in hexadecimal.
        pipeline: the decoder's setting.
        input_pauses: see `Simulation.run`.
        output_pauses: see `Simulation.run`.
        vcd: a file for the waveform.
        output: a file for the decoded text, or ``-``.
        as_json: print the items as JSON lines.

    Raises:
        CommandError: decoder and model differ, or a file cannot be read or written.
    """
    from utf8fpga.hdl import SerialDecoder
    from utf8fpga.sim import Simulation, Word, compare

    if digits is not None:
        chunks: Iterable[bytes] = [_from_hex(digits)]
    else:
        assert file is not None
        chunks = read_chunks(file)
    tally = Tally()
    simulation = Simulation(SerialDecoder(pipeline=pipeline, kind=True, length=True))
    with ExitStack() as stack:
        text = stack.enter_context(writing(output)) if output else None
        waveform = stack.enter_context(_waveform(vcd)) if vcd else None
        done = stack.enter_context(progress("simulating", _size(file) if file else None))

        def on_item(item: Item | Word) -> None:
            assert isinstance(item, Item)
            tally.add([item])
            if text:
                text.write(encode([item.code_point]))
            if as_json:
                print(json_line(item))

        mismatch = compare(
            simulation,
            (byte for chunk in chunks for byte in chunk),
            input_pauses=input_pauses,
            output_pauses=output_pauses,
            vcd=waveform,
            on_item=on_item,
            on_unit=done,
        )
        if mismatch:
            raise CommandError(str(mismatch), status=1)
    if not as_json and output != "-":
        print("\n".join([*tally.lines(), "the simulated decoder gave exactly the model's items"]))


def _from_hex(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise CommandError(f"--hex {digits!r} is not bytes in hexadecimal: write them as 'C2 41'") from None


def _size(file: str) -> int | None:
    return os.path.getsize(file) if os.path.isfile(file) else None


@contextmanager
def _waveform(path: str) -> Iterator[Path]:
    """A name to write a waveform to; it gets its own name in the end, also where decoder and model differ."""
    target = Path(path).resolve()
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        beside.touch()
        try:
            yield beside
        except CommandError:
            # A waveform of a decoder that is wrong is what it was asked for.
            beside.replace(target)
            raise
        beside.replace(target)
    except OSError as error:
        raise CommandError(f"cannot write {path!r}: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)
