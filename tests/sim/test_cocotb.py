# SPDX-License-Identifier: BSD-2-Clause
"""The cocotb bench: words of received packets, the example and the test of the documentation in a simulator."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.icarus import requires_icarus
from support.processes import run

from utf8fpga.hdl import DecoderParameters, axi_verilog, build

pytest.importorskip("cocotb", reason="requires the extra 'cocotb'")
pytest.importorskip("cocotbext.axi", reason="requires the extra 'cocotb'")

from utf8fpga.sim.cocotb import packet, pauses

CHECKOUT = Path(__file__).parents[2]


def test_an_empty_packet_is_one_byte_without_keep() -> None:
    assert packet(b"").tkeep == [0]
    assert bytes(packet(b"ab")) == b"ab"


def test_pauses_are_determined_by_the_seed() -> None:
    first, second = pauses(3, 0.25), pauses(3, 0.25)
    drawn = [next(first) for _ in range(1000)]
    assert drawn == [next(second) for _ in range(1000)]
    assert 200 < sum(drawn) < 300


def run_tests(tests: str, folder: Path, *, verilog: str | None = None, **environment: str) -> dict[str, str]:
    """Run cocotb tests in Icarus with the example's runner: by test the message of its failure, or nothing.

    Args:
        tests: the tests.
        folder: the folder for all files.
        verilog: the circuit; default: the runner generates a decoder.
        environment: variables of the runner.
    """
    runner = (CHECKOUT / "examples" / "cocotb" / "run.py").read_text(encoding="utf-8")
    if verilog is not None:
        (folder / "core.v").write_text(verilog, encoding="utf-8")
        runner = runner.replace("axi_verilog(decoder_core(lanes=lanes))", "Path('core.v').read_text()")
    (folder / "run.py").write_text(runner, encoding="utf-8")
    (folder / "test_decoder.py").write_text(tests, encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = os.environ | environment | {"PATH": path}
    done = run([sys.executable, "run.py"], cwd=folder, env=variables, capture_output=True, text=True)
    results = folder / "build" / "results.xml"
    assert results.exists(), done.stdout + done.stderr
    failures = {
        case.attrib["name"]: "".join(failure.attrib["message"] for failure in case.findall("failure"))
        for case in ElementTree.parse(results).iter("testcase")
    }
    assert done.returncode == int(any(failures.values())), done.stdout
    return failures


def documented() -> str:
    """The test of the documentation."""
    page = (CHECKOUT / "docs" / "integration.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    return block


ONE_LANE = """
from utf8fpga.model import RFC_2279, decode
from utf8fpga.model.vectors import vectors

@cocotb.test()
async def packets_before_a_reset_are_forgotten(dut):
    bench = DecoderBench(dut)
    await bench.reset()
    bench.sink.pause = True
    await bench.send(*[b"abcdefgh"] * 5)
    await bench.reset()
    bench.sink.pause = False
    await bench.send(b"c")
    assert await bench.check() == 1

@cocotb.test()
async def named_vectors(dut):
    bench = DecoderBench(dut)
    await bench.reset()
    await bench.send(*[vector.units for vector in vectors()])
    assert await bench.check() > 200

@cocotb.test()
async def other_golden_decoder(dut):
    bench = DecoderBench(dut, golden=lambda data: decode(data, RFC_2279))
    await bench.reset()
    await bench.send(b"a", bytes.fromhex("62 ED A0 80"))
    await bench.check()

@cocotb.test()
async def nothing_arrives(dut):
    bench = DecoderBench(dut)
    await bench.reset()
    bench.sink.pause = True
    await bench.send(b"a")
    await bench.check(timeout_us=1)
"""


@requires_icarus
def test_a_decoder_of_one_lane_passes_and_a_difference_has_packet_word_and_bytes(tmp_path: Path) -> None:
    assert run_tests(documented() + ONE_LANE, tmp_path, LANES="1") == {
        "accents": "",
        "packets_before_a_reset_are_forgotten": "",
        "named_vectors": "",
        "other_golden_decoder": "packet 1, word 1: U+FFFD (ill-formed), expected U+D800; bytes: 62 ED A0 80",
        "nothing_arrives": "packet 0 did not arrive within 1 us: 61",
    }


@requires_icarus
def test_the_bench_passes_with_options_of_the_ports(tmp_path: Path) -> None:
    decoder = DecoderParameters(lanes=2, packed=False, kind=True)
    # An ill-formed item also in lane 1.
    block = documented().replace('"\\xf0\\x9f"', '"a\\xff"').replace("== 3", "== 4")
    assert "a\\xff" in block
    verilog = axi_verilog(build(decoder), "utf8_decoder", reset_low=True)
    assert run_tests(block, tmp_path, verilog=verilog) == {"accents": ""}
