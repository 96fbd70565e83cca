# SPDX-License-Identifier: BSD-2-Clause
"""A text through the golden model, and through the simulated hardware."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from utf8fpga.model import Decoder, Item, encode
from utf8fpga.model.practices import Practice, decode_with
from utf8fpga.output import CommandError, progress, read_chunks, writing
from utf8fpga.show import Tally, json_line

if TYPE_CHECKING:
    from utf8fpga.hdl import AnyDecoder

__all__ = ["decode_file", "simulate_file"]


def decode_file(file: str, output: str, *, form: str, practice: Practice, strict: bool) -> None:
    """Decode a file with the golden model.

    Args:
        file: what is read, or ``-``.
        output: what is written, or ``-``.
        form: ``text``, ``json`` or ``summary``.
        practice: how many marks stand for ill-formed bytes.
        strict: count an ill-formed item as a failure.

    Raises:
        CommandError: a file cannot be read or written, or `strict` and something is ill-formed.
    """
    tally = Tally()
    window = bytearray()
    with writing(output) as out, progress("decoding", _size(file)) as done:
        items = _items(_watched(read_chunks(file), window, done), practice)
        while batch := list(islice(items, _BATCH)):
            out.write("".join(_FORMS[form](item, window) for item in batch).encode())
            tally.add(batch)
        if form == "summary":
            out.write("".join(f"{line}\n" for line in tally.lines()).encode())
    if strict and tally.ill_formed:
        raise CommandError(f"{file!r} is ill-formed: {tally.ill_formed} of {tally.items} items", status=1)


_BATCH = 4096
"""Items written at once."""


def _watched(chunks: Iterable[bytes], window: bytearray, done: Callable[[int], None]) -> Iterator[bytes]:
    """The chunks; what has been read goes to `window`, and how much of it to `done`."""
    read = 0
    for chunk in chunks:
        window += chunk
        yield chunk
        read += len(chunk)
        done(read)


def _items(chunks: Iterator[bytes], practice: Practice) -> Iterator[Item]:
    if practice is not Practice.MAXIMAL_SUBPARTS:
        yield from decode_with(chain.from_iterable(chunks), practice)
        return
    decoder = Decoder()
    for chunk in chunks:
        yield from decoder.decode(chunk)
    yield from decoder.decode(b"", final=True)


def _as_text(item: Item, window: bytearray) -> str:
    del window[: item.length]
    return chr(item.code_point)


def _as_json(item: Item, window: bytearray) -> str:
    del window[: item.length]
    return f"{json_line(item)}\n"


def _as_span(item: Item, window: bytearray) -> str:
    units = bytes(window[: item.length])
    del window[: item.length]
    return f"offset {item.offset}: {units.hex(' ').upper()} {item.error.name}\n" if item.error else ""


_FORMS = {"text": _as_text, "json": _as_json, "summary": _as_span}
"""What is written of an item, which is taken from the window of bytes that have been read."""


def simulate_file(
    file: str | None,
    digits: str | None,
    *,
    decoder: AnyDecoder,
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
        decoder: what is simulated, with `kind` and `length`.
        input_pauses: see `Simulation.run`.
        output_pauses: see `Simulation.run`.
        vcd: a file for the waveform.
        output: a file for the decoded text, or ``-``.
        as_json: print the items as JSON lines.

    Raises:
        CommandError: decoder and model differ, or a file cannot be read or written.
    """
    from utf8fpga.sim import Simulation, Word, compare

    if digits is not None:
        chunks: Iterable[bytes] = [_from_hex(digits)]
    else:
        assert file is not None
        chunks = read_chunks(file)
    tally = Tally()
    simulation = Simulation(decoder)
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
