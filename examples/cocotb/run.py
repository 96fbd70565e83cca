# SPDX-License-Identifier: BSD-2-Clause
"""Generates a decoder and runs the tests of this folder on it.

The environment variables SIM, LANES and BUILD select the simulator (icarus, or verilator), the bytes per cycle and the
folder for generated files.
"""

import os
import sys
from pathlib import Path

from cocotb_tools.runner import get_results, get_runner

from utf8fpga.hdl import axi_verilog, decoder_core

HERE = Path(__file__).resolve().parent


def main() -> int:
    simulator, lanes = os.environ.get("SIM", "icarus"), int(os.environ.get("LANES", "4"))
    build = Path(os.environ.get("BUILD", HERE / "build"))
    build.mkdir(parents=True, exist_ok=True)
    verilog = build / "utf8_decoder.v"
    verilog.write_text(axi_verilog(decoder_core(lanes=lanes)))
    runner = get_runner(simulator)
    runner.build(sources=[verilog], hdl_toplevel="utf8_decoder", build_dir=build, timescale=("1ns", "1ps"))
    results = str(build / "results.xml")
    runner.test(
        hdl_toplevel="utf8_decoder", test_module="test_decoder", build_dir=build, test_dir=HERE, results_xml=results
    )
    tests, failed = get_results(Path(results))
    return int(failed > 0 or tests == 0)


if __name__ == "__main__":
    sys.exit(main())
