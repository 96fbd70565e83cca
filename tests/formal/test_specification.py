# SPDX-License-Identifier: BSD-2-Clause
"""The theorems about the rows and the DFA, and what they are about: the model's rows, DFA and decoder."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.processes import run

from utf8fpga.model import decode

FOLDER = Path(__file__).parents[2] / "formal" / "specification"

needs_coqc = pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq (coqc) is not installed")


def check(folder: Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ if path is None else {**os.environ, "PATH": path}
    command = [sys.executable, str(folder / "check.py")]
    return run(command, capture_output=True, text=True, env=environment)


def test_recorded_rows_are_those_of_the_model() -> None:
    text = runpy.run_path(str(FOLDER / "check.py"))["rows_text"]()
    assert (FOLDER / "Rows.v").read_text(encoding="utf-8") == text


def test_missing_coqc_is_reported(tmp_path: Path) -> None:
    done = check(FOLDER, str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "coqc is not installed (Debian: apt-get install coq)\n"


@needs_coqc
@pytest.mark.slow
def test_theorems_are_proved_without_axioms() -> None:
    done = check(FOLDER)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\n10 theorems proved, without axioms\n")


def changed(folder: Path, name: str, text: str, change: str) -> Path:
    """A copy of the theorems in `folder`, with the first `text` in the file `name` replaced."""
    copy = Path(shutil.copytree(FOLDER, folder / "changed"))
    contents = (copy / name).read_text(encoding="utf-8")
    assert text in contents
    (copy / name).write_text(contents.replace(text, change, 1), encoding="utf-8")
    return copy


@needs_coqc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "change"),
    [
        pytest.param("Rows.v", "(xf4, xf4); (x80, x8f)", "(xf4, xf4); (x80, x90)", id="a longer row"),
        pytest.param("Rows.v", "(xed, xed); (x80, x9f)", "(xed, xed); (x80, x9e)", id="a shorter row"),
        pytest.param("Rows.v", "0x0800, 0x0FFF", "0x0801, 0x0FFF", id="a code point"),
        pytest.param("Rows.v", "Some 0%nat; None;", "None; None;", id="a transition"),
        pytest.param("Definitions.v", "11110uuu", "11110uu0", id="a pattern"),
    ],
)
def test_no_theorem_holds_with_a_change(tmp_path: Path, name: str, text: str, change: str) -> None:
    done = check(changed(tmp_path, name, text, change))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Theorems.v does not compile:\nFile ")


@needs_coqc
@pytest.mark.slow
def test_an_axiom_is_reported(tmp_path: Path) -> None:
    proof = "rows = true.\nProof. vm_cast_no_check (eq_refl true). Qed."
    done = check(changed(tmp_path, "Theorems.v", proof, "rows = true.\nAdmitted."))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("not every theorem is free of axioms:\n")
    assert "Axioms:\nrows_correct : " in done.stderr


@needs_coqc
@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [b"", b"A\xc3\xa9\xe1\x80\xf1\x80\xff\xf0", b"\xed\xa0\x80\xf4\x8f\xbf\xbf\xf4\x90\x80"]
)
def test_the_decoder_of_the_definitions_decodes_as_the_model(tmp_path: Path, text: bytes) -> None:
    for source in FOLDER.glob("*.v"):
        shutil.copy(source, tmp_path)
    items = [
        f"Scalar {item.code_point}"
        if item.error is None
        else f"IllFormed {coq_bytes(text[item.offset : item.offset + item.length])}"
        for item in decode(text)
    ]
    (tmp_path / "Example.v").write_text(
        "From Coq Require Import List NArith Strings.Byte. From Specification Require Import Definitions.\n"
        "Import ListNotations. Open Scope N_scope.\n"
        f"Goal decode {coq_bytes(text)} = [{'; '.join(items)}]. Proof. reflexivity. Qed.\n",
        encoding="utf-8",
    )
    for module in ("Rows", "Definitions", "Example"):
        command = ["coqc", "-q", "-R", ".", "Specification", f"{module}.v"]
        run(command, cwd=tmp_path, check=True)


def coq_bytes(text: bytes) -> str:
    return f"[{'; '.join(f'x{byte:02x}' for byte in text)}]"
