# SPDX-License-Identifier: BSD-2-Clause
"""The architecture: the permitted imports between folders, and requirements for all source files."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
MAY_IMPORT = {
    "model": [],
    "hdl": ["model"],
    "sim": ["model", "hdl"],
    "formal": ["model", "hdl", "sim"],
    "bench": ["model", "hdl"],
    "boards": ["model", "hdl", "sim"],
    "cli": ["model", "hdl", "sim", "formal", "bench", "boards", "package"],
    "package": ["cli", "hdl"],
    "docs": ["model", "hdl", "sim", "formal", "bench", "boards", "cli", "package"],
}
"""For each folder the other folders that it may import."""

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


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_imports_follow_the_layers(path: Path) -> None:
    folder = path.relative_to(CHECKOUT).parts[0]
    allowed = {folder, *MAY_IMPORT[folder]}
    wrong = {module for module in imported_modules(path) if (folder_of(module) or folder) not in allowed}
    assert not wrong


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_every_public_name_is_defined(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defined: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            defined |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
    public = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    assert not {name for names in public for name in names} - defined


@pytest.mark.parametrize("path", sorted((CHECKOUT / "model").glob("**/*.py")), ids=lambda path: path.name)
def test_model_needs_only_the_standard_library(path: Path) -> None:
    import sys

    known = {*sys.stdlib_module_names, "utf8fpga"}
    outside = {module for module in imported_modules(path) if module.split(".")[0] not in known}
    # NumPy is optional, so no other module of the model may import the arrays.
    assert not {module.split(".")[0] for module in outside} - ({"numpy"} if path.name == "arrays.py" else set())
    assert path.name == "arrays.py" or "utf8fpga.model.arrays" not in imported_modules(path)


@pytest.mark.parametrize("folder", [folder for folder in MAY_IMPORT if folder != "model"])
def test_no_byte_range_of_table_3_7_outside_the_model(folder: str) -> None:
    bounds = {0xC2, 0xDF, 0xE0, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xA0, 0xBF, 0x9F, 0x8F, 0x90}
    for path in (CHECKOUT / folder).glob("**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                assert node.value not in bounds, f"{path}:{node.lineno}: {node.value:#x}"


@pytest.mark.parametrize(
    "path",
    [path for folder in [*MAY_IMPORT, "tests"] for path in sorted((CHECKOUT / folder).glob("**/*.py"))],
    ids=lambda path: str(path.relative_to(CHECKOUT)),
)
def test_every_source_file_has_its_licence_line(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# SPDX-License-Identifier: BSD-2-Clause\n")
