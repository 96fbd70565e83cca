# SPDX-License-Identifier: BSD-2-Clause
"""The parameters of a validator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from utf8fpga.hdl.core import TableParameters, option
from utf8fpga.hdl.validator.tap import ValidatorTap
from utf8fpga.hdl.validator.tapped import TappedStream
from utf8fpga.model import (
    GENERALISED_UTF_8,
    RFC_2279,
    TABLE_3_7,
    EncodingTable,
    ErrorKind,
    InvalidArgumentError,
    ValidatorReport,
)
from utf8fpga.model.render import counted
from utf8fpga.model.validator import COUNTER_WIDTH, GoldenValidator, ReportSymbol

MAX_TAP_LANES = 256
"""Upper bound on the lanes of a validator."""

_BYTE_TABLES = tuple(table.name for table in (TABLE_3_7, RFC_2279, GENERALISED_UTF_8))


@dataclass(frozen=True, kw_only=True)
class ValidatorParameters(TableParameters):
    """The parameters of a validator.

    Attributes:
        table: the encoding form; default: UTF-8.
        lanes: code units per beat, 1 to 256; default: 1.

    Raises:
        InvalidArgumentError: a value is out of its range.
        TypeError: `table` is not an `EncodingTable`.

    >>> ValidatorParameters(lanes=8).arguments()
    ['--lanes', '8']
    """

    core: ClassVar[str] = "validator"

    table: EncodingTable = option(TABLE_3_7, "The encoding form.", choices=_BYTE_TABLES)
    lanes: int = option(1, "Bytes per beat.", range=(1, MAX_TAP_LANES))

    def tap(self) -> ValidatorTap:
        """The tap by itself, without the stream of reports.

        Raises:
            TableError: see `ValidatorTap`.
        """
        return ValidatorTap(self)

    def build(self) -> TappedStream:
        """The tap with its reports as a stream.

        Raises:
            TableError: see `ValidatorTap`.
        """
        return TappedStream(self)

    output_noun = "report"

    def golden(self) -> GoldenValidator:
        """The golden function of the output stream: of reports."""
        return GoldenValidator(self.table)

    def comparable(self, symbol: ReportSymbol) -> ValidatorReport:
        """The report."""
        return symbol.value

    def observed(self, fields: Mapping[str, int]) -> ValidatorReport:
        """The report.

        Raises:
            InvalidArgumentError: it is well-formed, but has an offset or a cause; or the contrary.
        """
        well_formed = bool(fields["well_formed"])
        offset, kind = fields["offset"], fields["kind"]
        if well_formed and (offset or kind):
            raise InvalidArgumentError(f"the packet is well-formed, but its offset is {offset}, its kind {kind}")
        if not well_formed and not kind:
            raise InvalidArgumentError("the packet is ill-formed, but its kind is Kind.NONE")
        return ValidatorReport(
            well_formed,
            None if well_formed else offset,
            ErrorKind(kind) if kind else None,
            *(fields[name] for name in ValidatorReport._fields[3:]),
        )

    def label(self, symbol: Any) -> str:
        """Whether the packet is well-formed; otherwise the cause of its first error, and where it is."""
        if symbol.well_formed:
            return "well-formed"
        return f"{symbol.kind.name.replace('_', ' ').lower()} at {symbol.offset}"

    def as_bytes(self, symbols: Iterable[Any]) -> bytes:
        """A line of JSON for each report, with all fields of the model."""
        return b"".join(json.dumps(symbol.value._asdict()).encode() + b"\n" for symbol in symbols)

    def description(self) -> list[str]:
        """The table, the lanes and what is reported."""
        units = counted(self.lanes, "code unit")
        return [
            f"{self.table.name} validator, a tap beside a stream, {units} per cycle; "
            f"numbers of {COUNTER_WIDTH} bits that saturate.",
            f"Generated from: {self.table.source}.",
        ]
