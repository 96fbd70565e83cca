# SPDX-License-Identifier: BSD-2-Clause
"""Compile the theorems and print what was proved: ``python formal/specification/check.py``.

With ``--record`` the rows and the DFA of the model are written to `Rows.v` instead.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from utf8fpga.model import DFA, REJECT, TABLE_3_7, Range

FOLDER = Path(__file__).parent
ROWS = FOLDER / "Rows.v"
NO_AXIOMS = "Closed under the global context\n"
REPORT = """\
From Coq Require Import List NArith.
From Specification Require Import Rows Definitions Theorems.
Import ListNotations.
Open Scope N_scope.
"""


def rows_text() -> str:
    """The contents of `Rows.v`: the rows of Table 3-7 and the DFA that the model derives from them."""
    dfa = DFA.of(TABLE_3_7)
    rows = [
        f"(0x{row.code_points.first:04X}, 0x{row.code_points.last:04X}, {_ranges(row.units)})" for row in TABLE_3_7.rows
    ]
    targets = [
        _list("None" if target == REJECT else f"Some {target}%nat" for target in state.transitions)
        for state in dfa.states
    ]
    parts = [
        ("rows : list (N * N * list (byte * byte))", "First and last code point, and the ranges of the bytes.", rows),
        ("classes : list (list (byte * byte))", "The byte classes.", [_ranges(each.ranges) for each in dfa.classes]),
        ("transitions : list (list (option nat))", "For each state the next state by byte class.", targets),
    ]
    head = f"""\
(* SPDX-License-Identifier: BSD-2-Clause *)
(** {TABLE_3_7.source}, and the automaton that the model derives from it.

    Written by "python formal/specification/check.py --record". *)

From Coq Require Import List NArith Strings.Byte.
Import ListNotations.
Open Scope N_scope.
"""
    lines = (
        f"\n(** {meaning} *)\nDefinition {name} :=\n  [ {_SEPARATOR.join(each)} ].\n" for name, meaning, each in parts
    )
    return head + "".join(lines)


_SEPARATOR = ";\n    "


def _list(elements: Iterable[str]) -> str:
    return f"[{'; '.join(elements)}]"


def _ranges(ranges: Iterable[Range]) -> str:
    return _list(f"(x{each.first:02x}, x{each.last:02x})" for each in ranges)


def check() -> str:
    """Compile the theorems in a folder of its own, and return what was proved.

    Raises:
        ProofError: A file does not compile, or a theorem rests on an axiom.
    """
    theorems = re.findall(r"^Theorem (\w+)", (FOLDER / "Theorems.v").read_text(encoding="utf-8"), re.MULTILINE)
    report = REPORT + "".join(f"Check {theorem}.\nPrint Assumptions {theorem}.\n" for theorem in theorems)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for source in FOLDER.glob("*.v"):
            shutil.copy(source, folder)
        (folder / "Report.v").write_text(report, encoding="utf-8")
        for module in ("Rows", "Definitions", "Theorems", "Report"):
            command = ["coqc", "-q", "-R", ".", "Specification", f"{module}.v"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise ProofError(f"{module}.v does not compile:\n{done.stdout}{done.stderr}".rstrip())
    if not theorems or done.stdout.count(NO_AXIOMS) != len(theorems):
        raise ProofError(f"not every theorem is free of axioms:\n{done.stdout}".rstrip())
    return f"{done.stdout.replace(NO_AXIOMS, '')}\n{len(theorems)} theorems proved, without axioms"


class ProofError(Exception):
    """Not every theorem is proved."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Compile the theorems and print what was proved.")
    parser.add_argument("--record", action="store_true", help=f"write the rows and the DFA of the model to {ROWS.name}")
    options = parser.parse_args()
    if options.record:
        ROWS.write_text(rows_text(), encoding="utf-8")
        return
    if shutil.which("coqc") is None:
        sys.exit("coqc is not installed (Debian: apt-get install coq)")
    try:
        print(check())
    except ProofError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
