# SPDX-License-Identifier: BSD-2-Clause
"""What can be proved: the cores by name, and the properties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    SanitizerParameters,
    TranscoderParameters,
    ValidatorParameters,
    build,
)
from utf8fpga.model import EncodingTable
from utf8fpga.model.forms import GENERALISED_UTF_8, RFC_2279, UTF_16
from utf8fpga.sim.aiger import CELLS
from utf8fpga.sim.harness import Property


@dataclass(frozen=True)
class Configuration:
    """A core by name.

    Attributes:
        name: its name in reports.
        table: the encoding form that it is compared with; None for a core that has none.
        build: makes it; a callable that `pickle` accepts, since proofs run in other processes.
        call: the Python expression that makes it, for a regression test.
        verilog: whether its netlists and its Verilog are compared with it.
        on_request: whether it is proved only if it is named: its proof takes minutes, or others are like it.
    """

    name: str
    table: EncodingTable | None
    build: Callable[[], Any]
    call: str
    verilog: bool = False
    on_request: bool = False

    @staticmethod
    def of(parameters: CoreParameters, name: str = "", *, on_request: bool = False) -> Configuration:
        """The configuration for a core's parameters; its name is theirs by default."""
        return Configuration(
            name or parameters.name,
            getattr(parameters, "table", None),
            partial(build, parameters),
            f"build({parameters.expression()})",
            verilog=_is_written(parameters),
            on_request=on_request,
        )


_SPARSE_LANES, _OTHER_LANES = 8, 4
"""Upper bounds on the lanes of a sparse decoder, and of any other core, whose netlists and Verilog are compared."""


def _is_written(parameters: CoreParameters) -> bool:
    """It is narrow enough, and `generate` writes it: a decoder has no port for the cause of an error."""
    lanes = getattr(parameters, "lanes", 1)
    if isinstance(parameters, DecoderParameters):
        is_plain = not parameters.kind
        return is_plain and lanes <= (_OTHER_LANES if parameters.packed else _SPARSE_LANES)
    return bool(lanes <= _OTHER_LANES)


_SERIAL = {f"serial-{optimize}": DecoderParameters(optimize=optimize) for optimize in ("area", "speed")}
_SPARSE = {lanes: DecoderParameters(lanes=lanes, packed=False) for lanes in (2, 4, 8, 16, 32, 64)}
_PACKED = DecoderParameters(lanes=2)
_OTHER_TABLES = {"rfc-2279": RFC_2279, "generalised-utf-8": GENERALISED_UTF_8, "utf-16": UTF_16}

_BY_DEFAULT: dict[str, CoreParameters] = {
    **_SERIAL,
    **{f"{name}-kind": replace(each, kind=True) for name, each in _SERIAL.items()},
    "parallel-2": _SPARSE[2],
    "parallel-4": _SPARSE[4],
    "parallel-4-kind": replace(_SPARSE[4], kind=True),
    "packed-2": _PACKED,
    "packed-2-kind": replace(_PACKED, kind=True),
    "sanitizer": SanitizerParameters(),
    "sanitizer-2": SanitizerParameters(lanes=2, replace_with="none"),
    "sanitizer-4": SanitizerParameters(lanes=4),
    "validator": ValidatorParameters(),
    "encoder": EncoderParameters(),
    "encoder-utf-16-le": EncoderParameters(to="utf-16-le"),
    "encoder-utf-16-be": EncoderParameters(to="utf-16-be"),
    "transcoder-utf-8-to-utf-8-area": TranscoderParameters(optimize="area"),
    "transcoder-utf-8-to-utf-16-le-area": TranscoderParameters(to="utf-16-le", optimize="area"),
    "transcoder-utf-8-to-utf-16-be-area": TranscoderParameters(to="utf-16-be", optimize="area"),
    "transcoder-utf-16-be-to-utf-8-area": TranscoderParameters(from_="utf-16-be", to="utf-8", optimize="area"),
    "transcoder-utf-16-le-to-utf-16-be-area": TranscoderParameters(from_="utf-16-le", to="utf-16-be", optimize="area"),
}
_ON_REQUEST: dict[str, CoreParameters] = {
    **{
        f"{name}-kind-{of}": replace(each, table=table, kind=True)
        for of, table in _OTHER_TABLES.items()
        for name, each in {**_SERIAL, "parallel-4": _SPARSE[4]}.items()
    },
    "packed-2-area": replace(_PACKED, optimize="area"),
    "packed-2-utf-16": replace(_PACKED, table=UTF_16),
    **{f"validator-{of}": ValidatorParameters(table=_OTHER_TABLES[of]) for of in ("rfc-2279", "generalised-utf-8")},
    "sanitizer-area": SanitizerParameters(optimize="area"),
    "sanitizer-2-utf-16": SanitizerParameters(table=UTF_16, lanes=2),
    "sanitizer-4-rfc-2279": SanitizerParameters(table=RFC_2279, lanes=4),
    "sanitizer-16": SanitizerParameters(lanes=16),
    "parallel-2-area": replace(_SPARSE[2], optimize="area"),
    "parallel-4-area": replace(_SPARSE[4], optimize="area"),
    **{f"parallel-{lanes}": each for lanes, each in _SPARSE.items() if lanes > 4},
    "transcoder-utf-8-to-utf-16-le": TranscoderParameters(to="utf-16-le"),
}

CONFIGURATIONS = {
    name: Configuration.of(parameters, name, on_request=name in _ON_REQUEST)
    for name, parameters in {**_BY_DEFAULT, **_ON_REQUEST}.items()
}
"""The configurations of `utf8fpga prove`, by name."""

PROPERTIES = (*(str(wanted) for wanted in Property), *(f"netlist-{family}" for family in CELLS), "verilog")
"""Every property by its name."""
