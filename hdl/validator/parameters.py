# SPDX-License-Identifier: BSD-2-Clause
"""The parameters of a validator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from utf8fpga.hdl.core import CoreParameters, option
from utf8fpga.hdl.validator.report import REPORTS
from utf8fpga.hdl.validator.tap import MAX_TAP_LANES, ValidatorTap
from utf8fpga.hdl.validator.tapped import TappedStream
from utf8fpga.hdl.validator.verdict import VerdictTap
from utf8fpga.model import CATALOGUE, TABLE_3_7, EncodingTable, ErrorKind, ValidatorReport
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.table import checked_table
from utf8fpga.model.validator import (
    COUNTER_WIDTH,
    MAX_COUNTER_WIDTH,
    MIN_COUNTER_WIDTH,
    GoldenValidator,
    ReportSymbol,
    checked_counter_width,
)

__all__ = ["AnyTap", "ValidatorParameters"]

AnyTap: TypeAlias = ValidatorTap | VerdictTap

_BYTE_TABLES = tuple(
    name for name, table in CATALOGUE.items() if isinstance(table, EncodingTable) and table.unit_width == 8
)


@dataclass(frozen=True, kw_only=True)
class ValidatorParameters(CoreParameters):
    """The parameters of a validator.

    Attributes:
        table: the encoding form; default: UTF-8.
        lanes: code units per beat, 1 to 256; default: 1.
        report: what a report holds, one of `REPORTS`; default: everything.
        counters: the width of the numbers in a report in bits, 4 to 64; default: 32. Always 32 in a verdict, which has
            none.

    Raises:
        InvalidArgumentError: a value is out of its range.
        TypeError: `table` is not an `EncodingTable`.

    >>> ValidatorParameters(lanes=8, report="offset").arguments()
    ['--lanes', '8', '--report', 'offset']
    >>> ValidatorParameters(counters=48).name
    'validator-counters-48'
    """

    core: ClassVar[str] = "validator"
    input_noun: ClassVar[str] = "code unit"
    output_noun: ClassVar[str] = "report"

    table: EncodingTable = field(default=TABLE_3_7, metadata=option("The encoding form.", choices=_BYTE_TABLES))
    lanes: int = field(default=1, metadata=option("Bytes per beat.", range=(1, MAX_TAP_LANES)))
    report: str = field(
        default=REPORTS[-1],
        metadata=option(
            "What a report holds: the verdict; also the offset of the first error; or also its cause, the number of"
            " errors and the lengths (default).",
            choices=REPORTS,
        ),
    )
    counters: int = field(
        default=COUNTER_WIDTH,
        metadata=option(
            "Width of the numbers in a report, which saturate. Default: 32.",
            range=(MIN_COUNTER_WIDTH, MAX_COUNTER_WIDTH),
            metavar="BITS",
        ),
    )

    def __post_init__(self) -> None:
        checked_table(self.table)
        if not 1 <= self.lanes <= MAX_TAP_LANES:
            raise InvalidArgumentError(f"lanes {self.lanes} is not in 1..{MAX_TAP_LANES}")
        if self.report not in REPORTS:
            raise InvalidArgumentError(f"report {self.report!r} is not one of {', '.join(REPORTS)}")
        checked_counter_width(self.counters)
        if self.report == REPORTS[0]:
            object.__setattr__(self, "counters", COUNTER_WIDTH)

    def tap(self) -> AnyTap:
        """The tap by itself, without the stream of reports.

        Raises:
            TableError: see `ValidatorTap`.
        """
        if self.lanes == 1 and self.report == REPORTS[0]:
            return VerdictTap(self.table)
        return ValidatorTap(self.table, lanes=self.lanes, report=self.report, counters=self.counters)

    def build(self) -> TappedStream:
        """The tap with its reports as a stream.

        Raises:
            TableError: see `ValidatorTap`.
        """
        return TappedStream(self.tap(), self)

    def golden(self) -> GoldenValidator:
        """The golden validator."""
        return GoldenValidator(self.table, self.counters)

    def comparable(self, symbol: ReportSymbol) -> ValidatorReport:
        """The report without the fields that this validator does not have, which are 0 or None."""
        report = symbol.value
        if self.report == REPORTS[-1]:
            return report
        offset = None if self.report == REPORTS[0] else report.offset
        return ValidatorReport(report.well_formed, offset, None, 0, 0, 0, 0)

    def observed(self, fields: Mapping[str, int], previous: Any) -> ValidatorReport:
        """The report.

        Raises:
            InvalidArgumentError: it is well-formed, but has an offset or a cause; or the contrary.
        """
        well_formed = bool(fields["well_formed"])
        kind = fields.get("kind", 0)
        if well_formed and (fields.get("offset") or kind):
            raise InvalidArgumentError(
                f"the packet is well-formed, but its offset is {fields['offset']}, its kind {kind}"
            )
        if not well_formed and "kind" in fields and not kind:
            raise InvalidArgumentError("the packet is ill-formed, but its kind is Kind.NONE")
        return ValidatorReport(
            well_formed,
            None if well_formed else fields.get("offset"),
            ErrorKind(kind) if kind else None,
            *(fields.get(name, 0) for name in ValidatorReport._fields[3:]),
        )

    @property
    def input_table(self) -> EncodingTable:
        """The table."""
        return self.table

    @property
    def absent_symbol(self) -> int:
        """A unit that continues a sequence, if the validator does not ignore it."""
        return max(self.table.rows, key=lambda row: len(row.units)).units[-1].last

    @property
    def obstacle(self) -> str:
        """A table outside the catalogue, which no option selects."""
        known = CATALOGUE.get(self.table.name) == self.table
        return "" if known else f"no option selects the table {self.table.name}"

    def label(self, symbol: ValidatorReport) -> str:
        """The verdict, with the cause and the offset if the report has them."""
        if symbol.well_formed:
            return "well-formed"
        cause = "ill-formed" if symbol.kind is None else symbol.kind.name.replace("_", " ").lower()
        return cause if symbol.offset is None else f"{cause} at {symbol.offset}"

    def as_bytes(self, symbols: Iterable[ReportSymbol]) -> bytes:
        """A line of JSON for each report, with all fields of the model."""
        return b"".join(json.dumps(symbol.value._asdict()).encode() + b"\n" for symbol in symbols)

    @property
    def series(self) -> str:
        """The core and what it reports."""
        return f"validator, {self.report}"

    def description(self) -> list[str]:
        """The table, the lanes and what is reported."""
        units = f"{self.lanes} code unit{'s' if self.lanes > 1 else ''}"
        numbers = "" if self.report == REPORTS[0] else f", numbers of {self.counters} bits that saturate"
        return [
            f"{self.table.name} validator, a tap beside a stream, {units} per cycle; report: {self.report}{numbers}.",
            f"Generated from: {self.table.source}.",
        ]
