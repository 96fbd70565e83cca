# SPDX-License-Identifier: BSD-2-Clause
"""The commands for a validator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command import utf8fpga


def test_simulate_prints_and_writes_reports(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes("aé😀".encode() + b"\xe2\x82")
    expected = {
        "well_formed": False,
        "offset": 7,
        "kind": 7,
        "errors": 1,
        "units": 9,
        "code_points": 4,
        "utf16_units": 5,
    }
    done = utf8fpga("simulate", "validator", "--lanes", "2", "--json", str(text))
    assert json.loads(done.stdout) == {"length": 9, "value": expected}
    done = utf8fpga("simulate", "validator", "--report", "verdict", "-o", "-", str(text))
    assert json.loads(done.stdout) == expected


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--registered"], "registered is for cores with an output stream, which a tap does not have"),
        (["--flags", "byte"], "flags byte is for cores with an output stream, which a tap does not have"),
        (["--checks"], "checks is for cores with an input stream, which a tap only watches"),
        (["--attributes", "vivado"], "attributes vivado is for cores with an input stream, which a tap only watches"),
        (["--kind"], "--kind is for decoders, not for the core validator"),
        (["--testbench", "bench.v"], "a test bench is written for decoders of UTF-8 only, since the vectors are UTF-8"),
    ],
)
def test_generate_rejects_what_a_tap_does_not_have(option: list[str], message: str, tmp_path: Path) -> None:
    done = utf8fpga("generate", "validator", *option, "-o", str(tmp_path / "validator.v"))
    assert (done.returncode, done.stderr.decode().strip()) == (2, f"utf8fpga: {message}")
    assert not (tmp_path / "validator.v").exists()


def test_prove_states_which_report_has_a_reference() -> None:
    done = utf8fpga("prove", "validator", "--lanes", "2")
    message = "utf8fpga: the proofs have no reference for report full of a validator: use report verdict\n"
    assert (done.returncode, done.stderr.decode()) == (2, message)


def test_a_counter_is_within_its_bounds() -> None:
    done = utf8fpga("generate", "validator", "--counters", "3")
    assert done.returncode == 2
    assert "3 is not in the range 4<=x<=64" in done.stderr.decode()
