# SPDX-License-Identifier: BSD-2-Clause
"""The command `check`: compares any UTF-8 core in Verilog with the golden function: its verdict, and the causes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from utf8fpga.cli.command import command
from utf8fpga.cli.options import json_option, practice_option
from utf8fpga.cli.output import CommandError, coloured, progress
from utf8fpga.model import Practice, spell
from utf8fpga.model.render import columns, counted
from utf8fpga.sim.causes import STEPS, check_foreign_core
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.foreign_ports import OWN_PORTS, CheckedPorts, read_checked_ports
from utf8fpga.sim.report import Failure, Finding, Report, Row, Throughput

SCHEMA_VERSION = 1
"""The version of the output of `--json`, which `check.schema.json` describes."""


@command("check utf8_decoder.v", "check theirs.sv --top theirs --ports ports.toml")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--top", metavar="NAME", help="The top module; default: the one without parent.")
@click.option("--ports", metavar="FILE", help="The ports in TOML or JSON; default: our cores'.")
@practice_option
@json_option
def check(files: tuple[str, ...], top: str | None, ports: str | None, practice: str, as_json: bool) -> None:
    """Compare the UTF-8 core in the Verilog FILE with the golden model.

    Printed are the verdict, that the core conforms, or its defects, the worst first, each with the shortest input; and
    a table by cause.

    The core is a decoder or a validator. The name of a FILE ends in .v, in .sv for SystemVerilog, or in .il for RTLIL.
    It requires the extra fast. The exit status is 1 if the core differs from the model.
    """
    described = read_checked_ports(Path(ports)) if ports else OWN_PORTS
    with progress("checking", STEPS) as done:
        core = ForeignCore([Path(file) for file in files], top, described, Practice(practice))
        report = check_foreign_core(core, Practice(practice), done)
    print(json.dumps(_report_dict(report, core.ports), indent=1) if as_json else "\n".join(_lines(report)))
    if report.defects:  # What the verdict and the JSON name.
        wrong = ", ".join(row.cause for row in report.failed)
        raise CommandError(f"{core.name} differs from the model: {wrong}", status=1)
    if not as_json:
        print(coloured(f"{core.name} gave exactly the model's output in {counted(report.runs, 'run')}", "green"))


def _verdict_lines(report: Report) -> list[str]:
    """That the core conforms, or its defects, the worst first."""
    lines = []
    if (practice := report.conforms_to) is not None:
        other = f", not {report.practice}" if practice is not report.practice else ""
        is_default = practice is Practice.MAXIMAL_SUBPARTS and not other
        lines = ["conforms" if is_default else f"conforms to practice {practice}{other}"]
    return [*lines, *map(_defect_line, report.defects)]


def _defect_line(finding: Finding) -> str:
    found = finding.shortest
    reason = f" ({found.reason})" if found.reason else ""
    return f"{finding.defect}: {_input(found)} gives {_abridged(found.given)}, not {_abridged(found.expected)}{reason}"


def _lines(report: Report) -> list[str]:
    heading = ["cause", "runs", "differ", "shortest input", "expected", "given", "marks expected", "given"]
    rows = [_cells(row) for row in report.rows]
    if not report.failed:
        heading, rows = heading[:4], [row[:4] for row in rows]
    lines = [line.rstrip() for line in columns(rows, heading)]
    if any("!" in cell for row in rows for cell in row):
        lines.append("(! is a word with the error flag)")
    findings = _accepted_lines(report) if report.failed else ()
    return [*_verdict_lines(report), "", *findings, *lines, *_throughput_lines(report)]


def _accepted_lines(report: Report) -> list[str]:
    """The ill-formed texts that are accepted, and the nearest practice."""
    lines = []
    if report.accepted:
        rows = [
            [each.cause, str(each.texts), each.first.input, _abridged(each.first.given)] for each in report.accepted
        ]
        lines = columns(rows, ["ill-formed, but accepted", "texts", "first", "output"])
    if report.agreement:
        (nearest, count), *others = report.agreement.items()
        rest = "".join(f" ({practice} in {number})" for practice, number in others[:1])
        found = f"{nearest}, in {count} of {report.ill_formed} ill-formed texts{rest}"
        lines.append(f"nearest practice: {found if count else 'none, since no ill-formed text has the words of one'}")
    return [*(line.rstrip() for line in lines), *([""] if lines else [])]


def _cells(row: Row) -> list[str]:
    if row.not_checked:
        return [row.cause, "0", "", f"({row.not_checked})", *[""] * 4]
    if (found := row.shortest) is None:
        return [row.cause, str(row.texts), "0", *[""] * 5]
    marks = ["" if number is None else str(number) for number in (found.expected_marks, found.given_marks)]
    given = "; ".join(filter(None, [_abridged(found.given), found.reason]))
    return [row.cause, str(row.texts), str(row.failed), _input(found), _abridged(found.expected), given, *marks]


def _input(failure: Failure) -> str:
    """The input of a failure in one line of limited length."""
    text = failure.input
    size = counted(sum(map(len, failure.texts)), "byte")
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 4]} ... ({size})"


_WIDEST = 60
"""Characters of an input in a table."""

_MOST_WORDS = 6
"""Words of an output in a table."""


def _abridged(words: Sequence[str]) -> str:
    if len(words) <= _MOST_WORDS:
        return " ".join(words) or "nothing"
    return f"{' '.join(words[:_MOST_WORDS])} ... ({counted(len(words), 'word')})"


def _throughput_lines(report: Report) -> list[str]:
    if report.best is None or report.worst is None:
        return ["throughput: not measured, since no long text was accepted"]
    ends = [("best", report.best), ("worst", report.worst)]
    return [
        f"{name} throughput: {found.cycles_per_byte:g} {'cycle' if found.cycles_per_byte == 1 else 'cycles'} per byte"
        f" ({spell(found.text, 8)} repeated, {found.cause})"
        for name, found in ends
    ]


def _report_dict(report: Report, ports: CheckedPorts) -> dict[str, Any]:
    conforms_to = report.conforms_to
    return {
        "version": SCHEMA_VERSION,
        "module": report.name,
        "kind": ports.kind,
        "protocol": ports.protocol,
        "practice": report.practice.value,
        "verdict": {
            "conforms_to": conforms_to and conforms_to.value,
            "defects": [
                {"defect": each.defect.value, "shortest": _failure_dict(each.shortest)} for each in report.defects
            ],
        },
        "accepted": [
            {"cause": each.cause, "texts": each.texts, "first": _failure_dict(each.first)} for each in report.accepted
        ],
        "ill_formed": report.ill_formed,
        "agreement": {practice.value: count for practice, count in report.agreement.items()},
        "causes": [_row_dict(row) for row in report.rows],
        "cycles_per_byte": {"best": _throughput_dict(report.best), "worst": _throughput_dict(report.worst)},
    }


def _row_dict(row: Row) -> dict[str, Any]:
    return {
        "cause": row.cause,
        "runs": row.texts,
        "differ": row.failed,
        "not_checked": row.not_checked or None,
        "shortest": row.shortest and _failure_dict(row.shortest),
    }


def _failure_dict(failure: Failure) -> dict[str, Any]:
    return {
        "texts": [spell(text, 8) for text in failure.texts],
        "input_pauses": failure.input_pauses,
        "output_pauses": failure.output_pauses,
        "expected": failure.expected,
        "given": failure.given,
        "marks": {"expected": failure.expected_marks, "given": failure.given_marks},
        "reason": failure.reason or None,
    }


def _throughput_dict(found: Throughput | None) -> dict[str, Any] | None:
    return found and {"text": spell(found.text, 8), "cause": found.cause, "cycles": found.cycles_per_byte}
