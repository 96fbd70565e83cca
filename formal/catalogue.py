# SPDX-License-Identifier: BSD-2-Clause
"""What can be proved: the cores by name, and the properties."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from typing import Any, NamedTuple

from utf8fpga.formal.netlist import FAMILIES
from utf8fpga.formal.properties import Property
from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    RemoverParameters,
    TranscoderParameters,
    ValidatorParameters,
)
from utf8fpga.hdl.core import spelled
from utf8fpga.hdl.decoder.parameters import OPTIMIZE
from utf8fpga.model import TABLE_3_7, EncodingTable, InvalidArgumentError
from utf8fpga.model.forms import CESU_8_CODE_UNITS, GENERALISED_UTF_8, MODIFIED_UTF_8_CODE_UNITS, RFC_2279


@dataclass(frozen=True)
class Configuration:
    """A core by name.

    Attributes:
        name: its name in reports.
        table: the encoding form; None for a core that has none.
        build_from: makes it, from the table if it has one; a callable that `pickle` accepts, since proofs run in other
            processes.
        call: the Python expression that makes it, for a regression test.
        right: the table that it is compared with, if it is not `table`.
        verilog: whether `generate` writes it, so that its netlists are compared too.
        on_request: whether it is proved only if it is named: its proof takes minutes, or others have the same parts.
        parameters: those of the core; None if it has none.
    """

    name: str
    table: EncodingTable | None
    build_from: Callable[..., Any]
    call: str
    right: EncodingTable | None = None
    verilog: bool = False
    on_request: bool = False
    parameters: CoreParameters | None = None

    @staticmethod
    def of(parameters: CoreParameters, *, on_request: bool = False) -> Configuration:
        """The configuration for a core's parameters.

        Raises:
            InvalidArgumentError: the proofs have no reference for the core.
        """
        kind = _kind_of(parameters)
        if kind.reason:
            raise InvalidArgumentError(f"the proofs have no reference for {kind.reason}")
        return Configuration(
            kind.name,
            getattr(parameters, "table", None),
            partial(_built, parameters),
            parameters.expression(),
            verilog=kind.verilog,
            on_request=on_request,
            parameters=parameters,
        )

    def build(self) -> Any:
        """The core."""
        return self.build_from() if self.table is None else self.build_from(self.table)


_NETLIST_LANES = {False: 8, True: 4}
"""Upper bound on the lanes of a sparse and of a packed core whose netlists are compared."""


def _built(parameters: Any, table: EncodingTable | None = None) -> Any:
    return (parameters if table is None else replace(parameters, table=table)).build()


class _Kind(NamedTuple):
    """What the catalogue must know of a kind of core.

    Attributes:
        reason: what the proofs have no reference for, and what to use; empty if they have one.
    """

    name: str
    verilog: bool = False
    reason: str = ""


@singledispatch
def _kind_of(parameters: CoreParameters) -> _Kind:
    return _Kind(parameters.name, verilog=True)


@_kind_of.register
def _(parameters: DecoderParameters) -> _Kind:
    is_default = parameters.table is TABLE_3_7 and not parameters.kind
    is_small = parameters.lanes <= _NETLIST_LANES[parameters.packed]
    return _Kind(_decoder_name(parameters), is_default and is_small)


@_kind_of.register
def _(parameters: ValidatorParameters) -> _Kind:
    return _Kind(parameters.name, reason="a validator: it is simulated")


@_kind_of.register
def _(parameters: TranscoderParameters) -> _Kind:
    words = [f"transcoder-{parameters.from_}-to-{parameters.to}", *parameters.words(without=("from_", "to"))]
    return _Kind("-".join(words).replace(" ", "-"))


@_kind_of.register
def _(parameters: RemoverParameters) -> _Kind:
    return _Kind(parameters.name, parameters.lanes <= _NETLIST_LANES[True])


_NAMED = ("table", "lanes", "optimize", "packed")
"""The fields of a decoder's parameters that its name has words of its own for."""


def _decoder_name(parameters: DecoderParameters) -> str:
    """What differs from a plain decoder of the same lanes."""
    table, lanes = parameters.table, parameters.lanes
    if lanes == 1:
        words = [f"serial-{parameters.optimize}"]
    else:
        words = ["packed" if parameters.packed else "parallel", f"{lanes}"]
        if parameters.optimize == "area":
            words.append("area")
        if parameters.fastest and not replace(parameters, fastest=False).fastest:
            words.append("fastest")
    if parameters.kind:
        words.append("kind")
    if not parameters.replacement:
        words.append("no-replacement")
    if table is not TABLE_3_7:
        words.append(re.sub("[^a-z0-9]+", "-", spelled(table).lower()).strip("-"))
    return "-".join([*words, *(re.sub("[^a-z0-9]+", "-", word.lower()) for word in parameters.words(without=_NAMED))])


_FIELDS: Sequence[Mapping[str, Any]] = (
    {},
    {"kind": True},
    {"replacement": False},
    {"kind": True, "replacement": False},
)
_OTHER_TABLES = (RFC_2279, GENERALISED_UTF_8, CESU_8_CODE_UNITS, MODIFIED_UTF_8_CODE_UNITS)
"""The tables of the catalogue that a serial decoder supports, besides that of UTF-8."""


def _all_serial() -> Iterator[DecoderParameters]:
    for fields in _FIELDS:
        for optimize in OPTIMIZE:
            yield DecoderParameters(optimize=optimize, **fields)
    for table in _OTHER_TABLES:
        for optimize in OPTIMIZE:
            yield DecoderParameters(table=table, optimize=optimize, kind=True)


def _all_parallel() -> Iterator[DecoderParameters]:
    sparse = partial(DecoderParameters, packed=False)
    for lanes in (2, 3, 4, 8):
        yield sparse(lanes=lanes)
        yield sparse(lanes=lanes, kind=True)
    for lanes in (2, 4):
        yield sparse(lanes=lanes, optimize="area")
        yield sparse(lanes=lanes, fastest=True)
    for table in _OTHER_TABLES:
        for lanes in (4, 8):
            yield sparse(table=table, lanes=lanes, kind=True)


def _all_packed() -> Iterator[DecoderParameters]:
    for lanes in (2, 3, 4):
        for fields in _FIELDS[:2]:
            yield DecoderParameters(lanes=lanes, packed=True, **fields)
    for table in _OTHER_TABLES:
        yield DecoderParameters(table=table, lanes=2, packed=True, kind=True)


def _is_on_request(parameters: DecoderParameters) -> bool:
    """Whether a decoder has an option that changes little of what others show, or takes minutes."""
    if parameters.table is not TABLE_3_7:
        return True
    if parameters.lanes == 1:
        return parameters.kind and not parameters.replacement
    lanes = (2,) if parameters.packed else (2, 4)
    varies = parameters.optimize == "area" or (parameters.kind and parameters.lanes != lanes[-1])
    return varies or parameters.lanes not in lanes


_WIDE = [DecoderParameters(lanes=lanes, packed=False) for lanes in (16, 32, 64)]
"""Wide decoders, whose proofs take minutes each."""


_ENCODERS = [
    EncoderParameters(),
    EncoderParameters(to="utf-16-le"),
    EncoderParameters(to="utf-16-be"),
]
_TRANSCODERS = [
    TranscoderParameters(optimize="area"),
    TranscoderParameters(to="utf-16-le", optimize="area"),
    TranscoderParameters(to="utf-16-be", optimize="area"),
    TranscoderParameters(from_="utf-16-be", to="utf-8", optimize="area"),
    TranscoderParameters(from_="utf-16-le", to="utf-16-be", optimize="area"),
]
_WIDE_ENCODERS = [
    EncoderParameters(to="utf-16-le", lanes=2),
    TranscoderParameters(to="utf-16-le", lanes=2),
    TranscoderParameters(to="utf-16-le"),
]
"""Encoders and transcoders with two lanes, whose Verilog is compared, and one with a queue in registers."""
_REMOVERS = [RemoverParameters(lanes=lanes) for lanes in (1, 2)]


_ALL = (
    *(
        Configuration.of(each, on_request=_is_on_request(each))
        for each in (*_all_serial(), *_all_parallel(), *_all_packed())
    ),
    *(Configuration.of(parameters, on_request=True) for parameters in (*_WIDE, *_WIDE_ENCODERS, *_REMOVERS[1:])),
    *map(
        Configuration.of,
        (
            *_ENCODERS,
            *_TRANSCODERS,
            _REMOVERS[0],
        ),
    ),
)

CONFIGURATIONS = {configuration.name: configuration for configuration in _ALL}
"""The configurations of `utf8fpga prove`, by name."""

PROPERTIES = (
    *(str(wanted) for wanted in Property if wanted is not Property.DRAINED),
    *(f"netlist-{family}" for family in FAMILIES),
    "verilog",
)
"""Every property by its name."""
