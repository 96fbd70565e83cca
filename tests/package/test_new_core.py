# SPDX-License-Identifier: BSD-2-Clause
"""What a new core takes: a circuit with its parameters, a golden function, and an entry that names both."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import processes

CHECKOUT = Path(__file__).parents[2]
FOLDERS = ("model", "hdl", "sim", "formal", "bench", "boards", "cli")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package to which the core `pass-through` is added."""
    folder = tmp_path_factory.mktemp("extended")
    package = folder / "utf8fpga"
    shutil.copytree(CHECKOUT / "package", package)
    for name in FOLDERS:
        shutil.copytree(CHECKOUT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    new_core = CHECKOUT / "tests" / "support" / "new_core"
    shutil.copy(new_core / "golden.py", package / "model" / "pass_through.py")
    shutil.copy(new_core / "core.py", package / "hdl" / "pass_through.py")
    registry = package / "hdl" / "cores.py"
    text = registry.read_text(encoding="utf-8")
    entry = "    DecoderParameters: DecoderEntry,\n"
    assert text.count(entry) == 1
    text = text.replace(entry, entry + "    PassThroughParameters: PassThroughEntry,\n")
    first = "from utf8fpga.model import"
    line = "from utf8fpga.hdl.pass_through import PassThroughEntry, PassThroughParameters\n"
    registry.write_text(text.replace(first, line + first, 1), encoding="utf-8")
    return folder


RUN = """
import json, sys
from support.command import utf8fpga
done = [utf8fpga(*words) for words in json.loads(sys.argv[1])]
print(json.dumps([(each.returncode, each.stdout.decode("utf-8", "replace"), each.stderr.decode()) for each in done]))
"""


def run(folder: Path, *commands: Sequence[str]) -> list[tuple[int, str, str]]:
    """Status, standard output and standard error of commands of the extended package, in one process."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(CHECKOUT / "tests")])}
    command = [sys.executable, "-c", RUN, json.dumps(commands)]
    done = processes.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    return [(status, output, errors) for status, output, errors in json.loads(done.stdout)]


def test_simulate_compares_it_with_its_golden_function(extended: Path) -> None:
    patterns = ("--input-pauses", "010", "--output-pauses", "110")
    [(status, output, _)] = run(extended, ("simulate", "pass-through", "--hex", "C2 41 80", "--lanes", "4", *patterns))
    rows = "offset  bytes  output\n0       C2     C2\n1       41     41\n2       80     80\n"
    verdict = "3 symbols in, 3 symbols out\nthe simulated pass-through gave exactly the model's symbols\n"
    assert (status, output) == (0, rows + verdict)


def test_a_wrong_circuit_is_found_with_how_to_replay_it(extended: Path) -> None:
    circuit = extended / "utf8fpga" / "hdl" / "pass_through.py"
    text = circuit.read_text(encoding="utf-8")
    circuit.write_text(text.replace("beat.eq(self.input.payload)", "beat.eq(self.input.payload.as_value() ^ 1)"))
    [(status, _, errors)] = run(extended, ("simulate", "pass-through", "--hex", "41 42"))
    circuit.write_text(text, encoding="utf-8")
    assert status == 1
    assert errors.splitlines() == [
        "utf8fpga: the pass-through differs from the model at offset 0 of 41",
        "  model:     65",
        "  simulated: 64",
        "  replay:    utf8fpga simulate pass-through --hex 41 --vcd mismatch.vcd",
    ]


def test_generate_writes_it_as_verilog(extended: Path) -> None:
    [(status, output, errors)] = run(extended, ("generate", "pass-through", "--lanes", "2", "-o", "-"))
    assert status == 0, errors
    assert "module utf8_pass_through (" in output
    assert "// Command: utf8fpga generate pass-through --lanes 2" in output
    assert "input wire [15:0] s_axis_tdata," in output
    assert "m_axis_tuser" not in output  # its symbols have no error flag
