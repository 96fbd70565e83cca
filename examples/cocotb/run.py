# SPDX-License-Identifier: BSD-2-Clause
"""Generates a decoder and runs the cocotb tests on it, with the simulator SIM and as many lanes as LANES."""

import os
import sys
from pathlib import Path

from cocotb_tools.runner import get_results, get_runner

from utf8fpga.hdl import Decoder, axi_verilog

HERE = Path(__file__).parent


def run(simulator: str, lanes: int, build: Path) -> int:
    """Run the tests in the folder `build`; the number of those that failed."""
    build.mkdir(parents=True, exist_ok=True)
    verilog = build / "utf8_decoder.v"
    verilog.write_text(axi_verilog(Decoder(lanes=lanes)))
    runner = get_runner(simulator)
    runner.build(sources=[verilog], hdl_toplevel="utf8_decoder", build_dir=build, timescale=("1ns", "1ps"))
    results = runner.test(test_module="test_decoder", hdl_toplevel="utf8_decoder", build_dir=build, test_dir=HERE)
    return get_results(results)[1]


if __name__ == "__main__":
    sys.exit(min(1, run(os.getenv("SIM", "icarus"), int(os.getenv("LANES", "4")), HERE / "build")))
