# SPDX-License-Identifier: BSD-2-Clause
"""The parameters of a validator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from utf8fpga.hdl.core import TableParameters, option
from utf8fpga.hdl.validator.report import REPORTS
from utf8fpga.hdl.validator.tap import ValidatorTap
from utf8fpga.hdl.validator.tapped import TappedStream
from utf8fpga.hdl.validator.verdict import VerdictTap
from utf8fpga.model import CATALOGUE, TABLE_3_7, EncodingTable, ErrorKind, InvalidArgumentError, ValidatorReport
from utf8fpga.model.render import counted
from utf8fpga.model.validator import (
    COUNTER_WIDTH,
    MAX_COUNTER_WIDTH,
    MIN_COUNTER_WIDTH,
    GoldenValidator,
    ReportSymbol,
)

AnyTap: TypeAlias = ValidatorTap | VerdictTap

MAX_TAP_LANES = 256
"""Upper bound on the lanes of a validator."""

_BYTE_TABLES = tuple(
    name for name, table in CATALOGUE.items() if isinstance(table, EncodingTable) and table.unit_width == 8
)


@dataclass(frozen=True, kw_only=True)
class ValidatorParameters(TableParameters):
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

    table: EncodingTable = option(TABLE_3_7, "The encoding form.", choices=_BYTE_TABLES)
    lanes: int = option(1, "Bytes per beat.", range=(1, MAX_TAP_LANES))
    report: str = option(
        REPORTS[-1],
        "What a report holds: the verdict; also the offset of the first error; or also its cause, the number of"
        " errors and the lengths (default).",
        choices=REPORTS,
    )
    counters: int = option(
        COUNTER_WIDTH,
        "Width of the numbers in a report, which saturate. Default: 32.",
        range=(MIN_COUNTER_WIDTH, MAX_COUNTER_WIDTH),
        metavar="BITS",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.report == REPORTS[0]:
            self._set("counters", COUNTER_WIDTH)

    def tap(self) -> AnyTap:
        """The tap by itself, without the stream of reports.

        Raises:
            TableError: see `ValidatorTap`.
        """
        is_smallest = self.lanes == 1 and self.report == REPORTS[0]
        return VerdictTap(self) if is_smallest else ValidatorTap(self)

    def build(self) -> TappedStream:
        """The tap with its reports as a stream.

        Raises:
            TableError: see `ValidatorTap`.
        """
        return TappedStream(self)

    output_noun = "report"

    def golden(self) -> GoldenValidator:
        """The golden function of the output stream: of reports."""
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

    def label(self, symbol: Any) -> str:
        """The verdict, with the cause and the offset if the report has them."""
        if symbol.well_formed:
            return "well-formed"
        cause = "ill-formed" if symbol.kind is None else symbol.kind.name.replace("_", " ").lower()
        return cause if symbol.offset is None else f"{cause} at {symbol.offset}"

    def as_bytes(self, symbols: Iterable[Any]) -> bytes:
        """A line of JSON for each report, with all fields of the model."""
        return b"".join(json.dumps(symbol.value._asdict()).encode() + b"\n" for symbol in symbols)

    @property
    def series(self) -> str:
        """The core and what it reports."""
        return f"validator, {self.report}"

    def description(self) -> list[str]:
        """The table, the lanes and what is reported."""
        units = counted(self.lanes, "code unit")
        numbers = "" if self.report == REPORTS[0] else f", numbers of {self.counters} bits that saturate"
        return [
            f"{self.table.name} validator, a tap beside a stream, {units} per cycle; report: {self.report}{numbers}.",
            f"Generated from: {self.table.source}.",
        ]

    def board_forms(self) -> tuple[str, ...]:
        """The report."""
        return ("report",)
