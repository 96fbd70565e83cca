# SPDX-License-Identifier: BSD-2-Clause
"""The architecture: the permitted imports between folders, and requirements for all source files."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Mapping
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


def relative(path: Path) -> str:
    return path.relative_to(CHECKOUT).as_posix()


def module_name(path: Path) -> str:
    name = relative(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"utf8fpga.{name}".replace(".package", "")


TEXTS = {module_name(path): path.read_text(encoding="utf-8") for path in SOURCES}


def imports_of(text: str, modules: Collection[str] = TEXTS) -> set[str]:
    """What a text imports: anywhere, so also in functions and for types alone; names that are those of modules."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in modules else str(node.module) for name in names}
    return found


def folder_of(module: str) -> str:
    """The folder of a module; empty if it is not of this package."""
    parts = module.split(".")
    if parts[0] != "utf8fpga":
        return ""
    return parts[1] if len(parts) > 1 and parts[1] in MAY_IMPORT else "package"


def test_imports_follow_the_layers() -> None:
    for module, text in TEXTS.items():
        folder = folder_of(module)
        permitted = {"", folder, *MAY_IMPORT[folder]}
        assert not [other for other in imports_of(text) if folder_of(other) not in permitted], module


def assert_no_circle(texts: Mapping[str, str]) -> None:
    graph = {module: imports_of(text, texts) & texts.keys() for module, text in texts.items()}
    TopologicalSorter(graph).prepare()  # Raises CycleError.


def test_no_circle_of_imports() -> None:
    assert "utf8fpga.hdl.cores" in TEXTS
    assert_no_circle(TEXTS)


PLANTED = {
    "in a function": "def build():\n    from utf8fpga.hdl.cores import entry_of\n",
    "for types": "if TYPE_CHECKING:\n    from utf8fpga.hdl import cores\n",
}


@pytest.mark.parametrize("text", PLANTED.values(), ids=PLANTED)
def test_a_planted_circle_of_imports_is_found(text: str) -> None:
    sources = {"utf8fpga.hdl.cores": "import utf8fpga.hdl.parameters\n", "utf8fpga.hdl.parameters": text}
    with pytest.raises(CycleError):
        assert_no_circle(sources)


def test_examples_use_public_modules_and_nothing_imports_them() -> None:
    examples = list((CHECKOUT / "examples").glob("**/*.py"))
    imported = {module for path in examples for module in imports_of(path.read_text(encoding="utf-8"))}
    assert not {module for module in imported if folder_of(module)} - PUBLIC
    names = {"examples", *(path.stem for path in examples)}
    for module, text in TEXTS.items():
        assert not names & {other.partition(".")[0] for other in imports_of(text)}, module


def test_model_needs_only_the_standard_library() -> None:
    # NumPy and Numba are optional, so no other module of the model may import these two.
    optional = {"utf8fpga.model.arrays": {"numpy", "numba"}}
    for module in filter(lambda name: folder_of(name) == "model", TEXTS):
        imported = imports_of(TEXTS[module])
        outside = {other.partition(".")[0] for other in imported} - {*sys.stdlib_module_names, "utf8fpga"}
        assert outside == optional.get(module, set()), module
        assert "utf8fpga.model.arrays" not in imported, module


BOUNDS = {0xC2, 0xDF, 0xE0, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xA0, 0xBF, 0x9F, 0x8F, 0x90}


def test_no_byte_range_of_table_3_7_outside_the_model() -> None:
    for path in SOURCES:
        if relative(path).startswith("model/") or path.parent == CHECKOUT / "docs" / "pictures":
            continue  # The numbers of pictures are coordinates.
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                assert node.value not in BOUNDS, f"{path}:{node.lineno}: {node.value:#x}"
    for path in (CHECKOUT / "docs" / "_static" / "try").glob("*.js"):
        code = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
        numbers = {int(number, 0) for number in re.findall(r"\b(?:0x[0-9a-fA-F]+|[1-9]\d*)\b", code)}
        assert not numbers & BOUNDS, path


def test_tests_start_processes_with_their_helpers() -> None:
    direct = re.compile(r"subprocess\.(run|Popen|call|check_call|check_output)\(|os\.(system|popen|fork|spawn\w*)\(")
    paths = set((CHECKOUT / "tests").rglob("*.py")) - {CHECKOUT / "tests" / "support" / "processes.py"}
    assert not [path for path in paths if direct.search(path.read_text(encoding="utf-8"))]


def test_every_source_file_has_its_licence_line() -> None:
    sources = [*SOURCES, *(CHECKOUT / "tests").glob("**/*.py"), *(CHECKOUT / "examples").glob("**/*.py")]
    sources += (CHECKOUT / "docs" / "_static" / "try").glob("*.js")
    licences = ("# SPDX-License-Identifier: BSD-2-Clause\n", "// SPDX-License-Identifier: BSD-2-Clause\n")
    assert not [relative(path) for path in sources if not path.read_text(encoding="utf-8").startswith(licences)]
