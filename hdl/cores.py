# SPDX-License-Identifier: BSD-2-Clause
"""The registry of the cores, whose names are the first argument of the commands."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from utf8fpga.hdl.core import CoreParameters
from utf8fpga.hdl.decoder.parameters import DecoderParameters, Word
from utf8fpga.hdl.encoder.parameters import EncoderParameters
from utf8fpga.hdl.payloads import OutputUnit
from utf8fpga.hdl.remover import RemoverParameters
from utf8fpga.hdl.sanitizer import SanitizerParameters
from utf8fpga.hdl.transcoder.parameters import TranscoderParameters
from utf8fpga.hdl.validator.parameters import ValidatorParameters
from utf8fpga.model import InvalidArgumentError, ValidatorReport

CORES: Mapping[str, type[CoreParameters]] = MappingProxyType(
    {
        kind.core: kind
        for kind in (
            DecoderParameters,
            EncoderParameters,
            TranscoderParameters,
            SanitizerParameters,
            ValidatorParameters,
            RemoverParameters,
        )
    }
)
"""The class of the parameters of each kind of core, by name; the first is the default."""


OutputSymbol: TypeAlias = Word | OutputUnit | ValidatorReport | int
"""An output symbol in a simulation.

A decoder has a `Word`; an encoder, a transcoder and a sanitizer have an `OutputUnit`; a validator has a
`ValidatorReport`, a remover a number.
"""


def parameters_of(circuit: object) -> CoreParameters:
    """The parameters that a core was built from.

    Raises:
        InvalidArgumentError: it is not a core of a kind in `CORES`.

    >>> from utf8fpga.hdl.decoder.parameters import decoder_core
    >>> parameters_of(decoder_core(lanes=4, packed=False, optimize="area")).arguments()
    ['--lanes', '4', '--optimize', 'area', '--sparse']
    """
    found = getattr(circuit, "parameters", None)
    if not isinstance(found, CoreParameters):
        raise InvalidArgumentError(f"{type(circuit).__name__} is not a core (known: {', '.join(CORES)})")
    return found


def is_default(kind: type[CoreParameters]) -> bool:
    """Whether a command line without the name of a core selects this kind."""
    return kind is next(iter(CORES.values()))


def command_words(parameters: CoreParameters) -> list[str]:
    """The words of a command line that select a core: its name, unless it is the default, and its options."""
    return [*([] if is_default(type(parameters)) else [parameters.core]), *parameters.arguments()]
