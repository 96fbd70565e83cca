# SPDX-License-Identifier: BSD-2-Clause
"""The documentation site, built once for all tests."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from support.builds import made_once
from support.processes import run

CHECKOUT = Path(__file__).parents[2]
DOCS = CHECKOUT / "docs"
COMMAND = "sphinx-build -W --keep-going -b html docs SITE"


def build_site(target: Path) -> tuple[Path, str]:
    """Run the command on another folder; the folder, and the errors and warnings."""
    words = COMMAND.replace("SITE", str(target)).split()
    done = run([sys.executable, "-m", "sphinx", "-q", *words[1:]], capture_output=True, cwd=CHECKOUT, text=True)
    return target, done.stdout + done.stderr + "failed" * done.returncode


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, which was built without warnings."""
    for name in ("sphinx", "myst_parser", "furo", "sphinx_copybutton"):
        pytest.importorskip(name, reason="requires the extra 'docs'")
    target, errors = made_once(tmp_path_factory, "site", build_site)
    assert errors == ""
    return Path(target)


def program(folder: Path, name: str) -> Callable[..., ModuleType]:
    """A fixture: the module of a script in a folder, as if it were run."""

    @pytest.fixture
    def imported(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        monkeypatch.syspath_prepend(str(folder))
        return importlib.import_module(name)

    return imported
