# SPDX-License-Identifier: BSD-2-Clause
"""The speed of the decoders as ratios of processor time, with bounds for a busy machine; ``-s`` prints the ratios."""

from __future__ import annotations

import codecs
import random
from collections import deque
from collections.abc import Callable
from importlib.resources import files
from time import process_time

import pytest

from utf8fpga.model import decode, errors, is_well_formed, validate

TEXT = files("utf8fpga").joinpath("texts", "multilingual.txt").read_bytes() * 300
DAMAGED = b"".join(TEXT[at : at + 99] + b"\xff" for at in range(0, len(TEXT), 99))
NOISE = random.Random(1).randbytes(len(TEXT))


def seconds(work: Callable[[bytes], object], text: bytes, runs: int = 5) -> float:
    """The processor time of the fastest of several runs."""
    times = []
    for _ in range(runs):
        start = process_time()
        work(text)
        times.append(process_time() - start)
    return min(times)


@pytest.mark.slow
@pytest.mark.parametrize("text", [TEXT, DAMAGED], ids=["text", "damaged"])
def test_verdicts_and_errors_are_faster_than_items(text: bytes) -> None:
    works = {"is_well_formed": is_well_formed, "validate": validate, "errors": lambda data: deque(errors(data), 0)}
    items = seconds(lambda data: deque(decode(data), 0), text, 1)
    for name, work in works.items():
        ratio = items / seconds(work, text)
        print(f"{len(text)} bytes, {name}: {ratio:.0f} times as fast as decode")
        assert ratio > 5


def replaced_with_places(text: bytes) -> str:
    """What CPython decodes with a handler that notes the places of the errors."""
    places = []

    def handler(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        places.append((error.start, error.end))
        return "\ufffd", error.end

    codecs.register_error("places", handler)
    return text.decode(errors="places")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "least"), [(TEXT, 0.8), (TEXT * 8, 1.3), (DAMAGED, 4), (NOISE, 15)], ids=["1MB", "8MB", "damaged", "noise"]
)
def test_decode_array_is_as_fast_as_cpython_with_a_handler(text: bytes, least: float) -> None:
    arrays = pytest.importorskip("utf8fpga.model.arrays", reason="requires the extra 'fast'")
    ratio = seconds(replaced_with_places, text, 20) / seconds(arrays.decode_array, text, 20)
    print(f"{len(text)} bytes: decode_array is {ratio:.2f} times as fast as CPython")
    assert ratio > least
