# SPDX-License-Identifier: BSD-2-Clause
"""The command `check`: compares any UTF-8 core in Verilog with the golden function: its verdict, and the causes."""

from __future__ import annotations

import json
from pathlib import Path

import click

from utf8fpga.cli.command import command
from utf8fpga.cli.options import json_option, practice_option
from utf8fpga.cli.output import CommandError, progress
from utf8fpga.model import Practice, spell
from utf8fpga.model.render import columns
from utf8fpga.sim.foreign_check import check_foreign_core
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.foreign_module import OWN_PORTS, read_description
from utf8fpga.sim.report import Report, Row, abridged

SCHEMA_VERSION = 2
"""The version of the JSON of a report, which `check.schema.json` describes."""


@command("check utf8_decoder.v", "check theirs.sv --top theirs --ports ports.toml")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--top", metavar="NAME", help="The top module; default: the one without parent.")
@click.option("--ports", metavar="FILE", help="The ports in TOML; default: our cores'.")
@practice_option
@json_option
def check(files: tuple[str, ...], top: str | None, ports: str | None, practice: str, as_json: bool) -> None:
    """Compare the UTF-8 core in the Verilog FILE with the golden model.

    Printed are the verdict, that the core conforms, or its defects, the worst first, each with the shortest input; and
    a table by cause.

    The core is a decoder or a validator. The name of a FILE ends in .v, in .sv for SystemVerilog, or in .il for RTLIL.
    It requires the extra fast. The exit status is 1 if the core differs from the model.
    """
    description = read_description(Path(ports)) if ports else OWN_PORTS
    with progress("checking"):
        core = ForeignCore([Path(file) for file in files], top, description)
        report = check_foreign_core(core, Practice(practice))
    print(_json(report) if as_json else "\n".join(_lines(report)))
    if report.defects:
        wrong = ", ".join(row.name for row in report.failed)
        raise CommandError(f"{report.module} differs from the model: {wrong}", status=1)


def _json(report: Report) -> str:
    """The report as JSON."""
    return json.dumps(
        {"version": SCHEMA_VERSION, **vars(report)},
        indent=1,
        default=lambda each: spell(each, 8) if isinstance(each, bytes) else vars(each),
    )


def _lines(report: Report) -> list[str]:
    """The verdict, the ill-formed texts that are accepted, and a row for each cause."""
    is_default = report.practice is Practice.MAXIMAL_SUBPARTS
    conforms = "conforms" if is_default else f"conforms to practice {report.practice}"
    lines = [*(f"{each.name}: {each.shortest}" for each in report.defects), ""] if report.defects else [conforms, ""]
    if report.accepted:
        found = [(each, each.shortest) for each in report.accepted if each.shortest]
        rows = [[each.name, str(each.differ), first.input, abridged(first.given)] for each, first in found]
        lines += [*columns(rows, ["ill-formed, but accepted", "texts", "first", "output"]), ""]
    heading = ["cause", "runs", "differ", "shortest input", "expected", "given"][: 6 if report.failed else 2]
    lines += columns([_cells(row)[: len(heading)] for row in report.causes if row.runs], heading)
    if without := [row.name for row in report.causes if not row.runs]:
        lines.append(f"no runs, for want of a port or of a correct text: {', '.join(without)}")
    lines += ["(! is a word with the error flag)"] if any("!" in line for line in lines) else []
    return [line.rstrip() for line in lines]


def _cells(row: Row) -> list[str]:
    """The cells of a row; all but the first two are needed only if a row differs."""
    found, numbers = row.shortest, [row.name, str(row.runs), str(row.differ)]
    if found is None:
        return [*numbers, "", "", ""]
    reason = f"; {found.reason}" if found.reason else ""
    return [*numbers, found.input, abridged(found.expected), f"{abridged(found.given)}{reason}"]
