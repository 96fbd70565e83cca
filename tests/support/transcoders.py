# SPDX-License-Identifier: BSD-2-Clause
"""Transcoders in simulation, against CPython's codecs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from support.codecs_oracle import encoded_by_cpython
from support.engines import ENGINE
from utf8fpga.hdl import TranscoderParameters, build
from utf8fpga.model.encodings import ENCODINGS
from utf8fpga.sim import Simulation


@cache
def simulation_of(parameters: TranscoderParameters) -> Simulation:
    """The simulation of a transcoder, elaborated once for all tests of this process."""
    return Simulation(build(parameters), engine=ENGINE)


def symbols_of(data: bytes, source: str) -> list[int]:
    """Bytes of an encoding as symbols of a core; bytes after the last whole unit are left out."""
    size = ENCODINGS[source].unit_bytes
    return [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data) - size + 1, size)]


def bytes_of(units: Iterable[Any], target: str) -> bytes:
    """The bytes of output units."""
    return ENCODINGS[target].to_bytes(unit.value for unit in units)


def check(
    fields: Mapping[str, Any], texts: Iterable[bytes], decoded: Callable[[bytes], str] | None = None, **patterns: Any
) -> None:
    """Compare the output of a transcoder, and that of its golden function, with CPython's codecs.

    Args:
        fields: the parameters of the transcoder.
        texts: the input packets.
        decoded: the characters of a packet; default: by the codec of the source, with U+FFFD for what is ill-formed.
        patterns: the pauses.
    """
    parameters = TranscoderParameters(**fields)
    simulation, source = simulation_of(parameters), parameters.from_
    decoded = decoded or (lambda text: text.decode(source, "replace"))
    packets = [(text, symbols_of(text, source)) for text in texts]
    found = simulation.run([symbols for _, symbols in packets], **patterns).texts
    for (text, symbols), units in zip(packets, found, strict=True):
        assert bytes_of(units, parameters.to) == encoded_by_cpython(decoded(text), parameters.to), text.hex()
        assert list(units) == simulation.expected(symbols), text.hex()
