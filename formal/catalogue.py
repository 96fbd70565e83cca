# SPDX-License-Identifier: BSD-2-Clause
"""What can be proved: the decoders by name, and the properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from utf8fpga.formal.netlist import FAMILIES
from utf8fpga.formal.properties import Property
from utf8fpga.hdl import (
    PARALLEL_PIPELINES,
    PIPELINES,
    PackedDecoder,
    ParallelDecoder,
    Refresh,
    RefreshedDecoder,
    SerialDecoder,
)
from utf8fpga.model import TABLE_3_7, EncodingTable
from utf8fpga.model.forms import CESU_8_CODE_UNITS, GENERALISED_UTF_8, MODIFIED_UTF_8_CODE_UNITS, RFC_2279

__all__ = ["CONFIGURATIONS", "PROPERTIES", "Configuration"]


@dataclass(frozen=True)
class Configuration:
    """A decoder, or what resets one, by name.

    Attributes:
        name: what the command line calls it.
        table: the encoding form.
        build_from: makes it from a table; something that `pickle` takes, since proofs have processes of their own.
        call: the expression that makes it, for a regression test.
        right: the table that it is compared with, if that is another.
        verilog: it is what `generate` writes, so its netlists are compared too.
        asked: it takes long, and is proved only if it is asked for.
    """

    name: str
    table: EncodingTable
    build_from: Callable[[EncodingTable], Any]
    call: str
    right: EncodingTable | None = None
    verilog: bool = False
    asked: bool = False

    def build(self) -> Any:
        """The decoder."""
        return self.build_from(self.table)


_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "": {},
    "-full": {"kind": True, "length": True},
    "-no-replacement": {"replacement": False},
    "-full-no-replacement": {"kind": True, "length": True, "replacement": False},
}
_TABLES = {
    "RFC_2279": RFC_2279,
    "GENERALISED_UTF_8": GENERALISED_UTF_8,
    "CESU_8_CODE_UNITS": CESU_8_CODE_UNITS,
    "MODIFIED_UTF_8_CODE_UNITS": MODIFIED_UTF_8_CODE_UNITS,
}
"""The tables of the catalogue that a serial decoder takes, besides that of UTF-8."""


def _serial(
    table: EncodingTable, spelled: str, pipeline: int, suffix: str, options: Mapping[str, Any]
) -> Configuration:
    arguments = "".join(f", {name}={value}" for name, value in options.items())
    where = "" if table is TABLE_3_7 else "-" + spelled.lower().replace("_", "-")
    return Configuration(
        f"serial-{pipeline}{suffix}{where}",
        table,
        partial(SerialDecoder, pipeline=pipeline, **options),
        f"SerialDecoder({spelled}, pipeline={pipeline}{arguments})",
        verilog=table is TABLE_3_7 and "kind" not in options,
    )


def _all_serial() -> Iterator[Configuration]:
    for suffix, options in _OPTIONS.items():
        for pipeline in PIPELINES:
            yield _serial(TABLE_3_7, "TABLE_3_7", pipeline, suffix, options)
    for spelled, table in _TABLES.items():
        for pipeline in PIPELINES:
            yield _serial(table, spelled, pipeline, "-full", _OPTIONS["-full"])


def _parallel(
    table: EncodingTable,
    spelled: str,
    lanes: int,
    suffix: str,
    options: Mapping[str, Any],
    *,
    of: type[ParallelDecoder | PackedDecoder] = ParallelDecoder,
    asked: bool = False,
) -> Configuration:
    given = {"lanes": lanes, **options}
    arguments = "".join(f", {name}={value!r}" for name, value in given.items())
    where = "" if table is TABLE_3_7 else "-" + spelled.lower().replace("_", "-")
    return Configuration(
        f"{'packed' if of is PackedDecoder else 'parallel'}-{lanes}{suffix}{where}",
        table,
        partial(of, **given),
        f"{of.__name__}({spelled}{arguments})",
        verilog=table is TABLE_3_7 and "kind" not in options and lanes <= _NETLIST_LANES[of],
        asked=asked,
    )


_NETLIST_LANES = {ParallelDecoder: 8, PackedDecoder: 4}
"""The most lanes of a decoder whose netlists are compared."""


def _all_parallel() -> Iterator[Configuration]:
    for lanes in (1, 2, 3, 4, 8):
        yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, "", {})
        yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, "-full", _OPTIONS["-full"])
    for lanes in (1, 4):
        for pipeline in PARALLEL_PIPELINES:
            yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, f"-pipeline-{pipeline}", {"pipeline": pipeline})
        for suffix in ("-no-replacement", "-full-no-replacement"):
            yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, suffix, _OPTIONS[suffix])
    for lanes in (4, 8):
        yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, "-registers", {"buffer": "registers"})
    for spelled, table in _TABLES.items():
        for lanes in (1, 4, 8):
            yield _parallel(table, spelled, lanes, "-full", _OPTIONS["-full"])
    for lanes in (16, 32, 64):
        yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, "", {}, asked=True)


def _all_packed() -> Iterator[Configuration]:
    for lanes in (2, 3, 4, 8):
        for suffix in ("", "-full"):
            yield _parallel(TABLE_3_7, "TABLE_3_7", lanes, suffix, _OPTIONS[suffix], of=PackedDecoder)
    for spelled, table in _TABLES.items():
        yield _parallel(table, spelled, 4, "-full", _OPTIONS["-full"], of=PackedDecoder)


def _all_refreshed() -> Iterator[Configuration]:
    yield Configuration("refresh", TABLE_3_7, _refresh, "Refresh(16)")
    for pipeline in PIPELINES:
        yield _refreshed(pipeline)


def _refresh(_table: EncodingTable) -> Refresh:
    return Refresh(16)


def _refreshed(pipeline: int) -> Configuration:
    # Small numbers, since an engine has to find out what each count says: more than the latency, and than is held.
    most = pipeline + 3
    return Configuration(
        f"serial-{pipeline}-refresh",
        TABLE_3_7,
        partial(_refreshed_from, pipeline=pipeline, most=most),
        f"RefreshedDecoder(SerialDecoder(TABLE_3_7, pipeline={pipeline}), Refresh(2, still={most}, most={most}))",
    )


def _refreshed_from(table: EncodingTable, *, pipeline: int, most: int) -> RefreshedDecoder:
    return RefreshedDecoder(SerialDecoder(table, pipeline=pipeline), Refresh(2, still=most, most=most))


_ALL = (*_all_serial(), *_all_parallel(), *_all_packed(), *_all_refreshed())

CONFIGURATIONS = {configuration.name: configuration for configuration in _ALL}
"""What `utf8fpga prove` knows."""

PROPERTIES = (
    *(str(wanted) for wanted in Property if wanted not in (Property.TOGETHER, Property.TWIN)),
    *(f"netlist-{family}" for family in FAMILIES),
)
"""Every property by its name."""
