# SPDX-License-Identifier: BSD-2-Clause
"""The architecture: the permitted imports between folders, and requirements for all source files."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.smoke

CHECKOUT = Path(__file__).parents[2]
MAY_IMPORT = {
    "model": [],
    "hdl": ["model"],
    "sim": ["model", "hdl"],
    "formal": ["model", "hdl", "sim"],
    "bench": ["model", "hdl", "sim"],
    "boards": ["model", "hdl", "sim"],
    "cli": ["model", "hdl", "sim", "formal", "bench", "boards", "package"],
    "package": ["model", "cli", "hdl", "sim"],
    "docs": ["model", "hdl", "sim", "formal", "bench", "boards", "cli", "package"],
}
"""For each folder the other folders that it may import."""

PUBLIC = {"utf8fpga", "utf8fpga.hdl", "utf8fpga.hdl.uart", "utf8fpga.litex", "utf8fpga.model", "utf8fpga.sim.cocotb"}
"""The modules that examples may import."""

SOURCES = sorted(path for folder in MAY_IMPORT for path in (CHECKOUT / folder).glob("**/*.py"))


def imported_modules(path: Path) -> set[str]:
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            modules.add(node.module or "")
    return modules


def folder_of(module: str) -> str | None:
    parts = module.split(".")
    if parts[0] != "utf8fpga":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in MAY_IMPORT else "package"


def relative(path: Path) -> str:
    return path.relative_to(CHECKOUT).as_posix()


def test_imports_follow_the_layers() -> None:
    wrong = {
        f"{relative(path)} imports {module}"
        for path in SOURCES
        for module in imported_modules(path)
        if (folder := relative(path).partition("/")[0]) != (other := folder_of(module) or folder)
        and other not in MAY_IMPORT[folder]
    }
    assert not wrong


def module_name(path: Path) -> str:
    folder, *rest = path.relative_to(CHECKOUT).with_suffix("").parts
    parts = rest if folder == "package" else [folder, *rest]
    return ".".join(["utf8fpga", *parts]).removesuffix(".__init__")


def import_graph(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """For each module, by its text, the others that it imports: anywhere, so also in functions and for types alone."""
    graph: dict[str, set[str]] = {}
    for module, text in sources.items():
        found: set[str] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                # A name may be that of a module.
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= {name if name in sources else str(node.module) for name in names}
        graph[module] = found & sources.keys()
    return graph


def test_no_circle_of_imports() -> None:
    sources = {module_name(path): path.read_text(encoding="utf-8") for path in SOURCES if path.parts[-2] != "docs"}
    assert "utf8fpga.hdl.cores" in sources
    TopologicalSorter(import_graph(sources)).prepare()  # Raises CycleError.


PLANTED = {
    "in a function": "def build():\n    from utf8fpga.hdl.cores import entry_of\n",
    "for types": "if TYPE_CHECKING:\n    from utf8fpga.hdl import cores\n",
}


@pytest.mark.parametrize("text", PLANTED.values(), ids=PLANTED)
def test_a_planted_circle_of_imports_is_found(text: str) -> None:
    sources = {"utf8fpga.hdl.cores": "import utf8fpga.hdl.parameters\n", "utf8fpga.hdl.parameters": text}
    with pytest.raises(CycleError):
        TopologicalSorter(import_graph(sources)).prepare()


def test_examples_use_public_modules_and_nothing_imports_them() -> None:
    examples = list((CHECKOUT / "examples").glob("**/*.py"))
    imported = {(relative(path), module) for path in examples for module in imported_modules(path)}
    assert not [each for each in imported if each[1].partition(".")[0] == "utf8fpga" and each[1] not in PUBLIC]
    names = {"examples", *(path.stem for path in examples)}
    users = [path for path in SOURCES if names & {module.partition(".")[0] for module in imported_modules(path)}]
    assert not users


def test_model_needs_only_the_standard_library() -> None:
    known = {*sys.stdlib_module_names, "utf8fpga"}
    sources = [path for path in SOURCES if relative(path).startswith("model/")]
    outside = {(path.name, module.split(".")[0]) for path in sources for module in imported_modules(path)}
    # NumPy and Numba are optional, so no other module of the model may import these two.
    optional = {("arrays.py", "numpy"), ("arrays.py", "numba")}
    assert {(name, module) for name, module in outside if module not in known} == optional
    assert not [path for path in sources if "utf8fpga.model.arrays" in imported_modules(path)]


@pytest.mark.parametrize("folder", [folder for folder in MAY_IMPORT if folder != "model"])
def test_no_byte_range_of_table_3_7_outside_the_model(folder: str) -> None:
    bounds = {0xC2, 0xDF, 0xE0, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xA0, 0xBF, 0x9F, 0x8F, 0x90}
    for path in (CHECKOUT / folder).glob("**/*.py"):
        if path.parent == CHECKOUT / "docs" / "pictures":
            continue  # Its numbers are coordinates.
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                assert node.value not in bounds, f"{path}:{node.lineno}: {node.value:#x}"


def test_every_source_file_has_its_licence_line() -> None:
    sources = [*SOURCES, *(CHECKOUT / "tests").glob("**/*.py"), *(CHECKOUT / "examples").glob("**/*.py")]
    licence = "# SPDX-License-Identifier: BSD-2-Clause\n"
    assert not [relative(path) for path in sources if not path.read_text(encoding="utf-8").startswith(licence)]
