# SPDX-License-Identifier: BSD-2-Clause
"""The documentation site, built once for all tests."""

from __future__ import annotations

import importlib
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from support.builds import alone
from support.processes import run

CHECKOUT = Path(__file__).parents[2]
DOCS = CHECKOUT / "docs"
COMMAND = "sphinx-build -W --keep-going -b html docs SITE"


def build_site(source: Path, target: Path) -> subprocess.CompletedProcess[bytes]:
    """Run the command on other folders."""
    options = shlex.split(COMMAND)[1:-2]
    command = [sys.executable, "-m", "sphinx", "-q", *options, str(source), str(target)]
    return run(command, capture_output=True, cwd=CHECKOUT)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, which was built without warnings."""
    for name in ("sphinx", "myst_parser", "furo", "sphinx_copybutton"):
        pytest.importorskip(name, reason="requires the extra 'docs'")
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    target, outcome = folder / "site", folder / "site.txt"
    with alone(folder / "site.lock"):
        if not outcome.exists():
            done = build_site(DOCS, target)
            text = f"{done.returncode}{done.stdout.decode()}{done.stderr.decode()}"
            outcome.write_text(text, encoding="utf-8")
    assert outcome.read_text(encoding="utf-8") == "0"
    return target


def program(folder: Path, name: str) -> Callable[..., ModuleType]:
    """A fixture: the module of a script in a folder, as if it were run."""

    @pytest.fixture
    def imported(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        monkeypatch.syspath_prepend(str(folder))
        return importlib.import_module(name)

    return imported
