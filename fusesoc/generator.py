# SPDX-License-Identifier: BSD-2-Clause
"""The FuseSoC generator `utf8fpga`: calls `utf8fpga generate` with its parameters as options."""

from __future__ import annotations

import shlex
import subprocess
import sys

from fusesoc.capi2.generator import Generator


def options_of(parameters: dict[str, object]) -> list[str]:
    """The options of the command for parameters: a true one is a flag, a false one or none is left out."""
    words: list[str] = []
    for name, value in parameters.items():
        if value is not None and value is not False:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return words


class CoreGenerator(Generator):
    """Writes the Verilog of a core, with `testbench` also that of its test bench, and a core file for both."""

    def run(self) -> None:
        parameters = dict(self.config or {})
        core, bench = str(parameters.pop("core", "decoder")), bool(parameters.pop("testbench", False))
        name = str(parameters.setdefault("name", f"utf8_{core}"))
        words = ["generate", core, *options_of(parameters), "--output", f"{name}.v"]
        if bench:
            words += ["--testbench", f"{name}_bench.v", "--vectors", "vectors.hex"]
        run_command(*words)
        self.add_files([f"{name}.v"], fileset="rtl", file_type="verilogSource")
        if bench:
            vectors = {"vectors.hex": {"file_type": "user", "copyto": "vectors.hex"}}
            files = [{f"{name}_bench.v": {"file_type": "verilogSource"}}, vectors]
            self.add_files(files, fileset="bench")


def run_command(*words: str) -> None:
    """Run `utf8fpga`; end with its exit status if it fails."""
    status = subprocess.run([sys.executable, "-m", "utf8fpga", *words], check=False).returncode
    if status:
        sys.exit(f"generator utf8fpga: `{shlex.join(['utf8fpga', *words])}` failed with status {status}")


if __name__ == "__main__":
    generator = CoreGenerator()
    generator.run()
    generator.write()
