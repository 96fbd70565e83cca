# SPDX-License-Identifier: BSD-2-Clause
"""Writes the folder of a Tiny Tapeout project: the files of `tile`, and the decoder in Verilog.

``python examples/tiny-tapeout/make.py FOLDER``
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from utf8fpga.hdl import DecoderParameters, axi_verilog, build

TILE = Path(__file__).parent / "tile"


def make(folder: Path) -> None:
    """Write the project into a new folder."""
    shutil.copytree(TILE, folder, ignore=shutil.ignore_patterns("sim_build", "results.xml", "*.vcd", "__pycache__"))
    decoder = axi_verilog(build(DecoderParameters(kind=True, optimize="area")))
    (folder / "src" / "utf8_decoder.v").write_text(decoder, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} FOLDER")
    make(Path(sys.argv[1]))
