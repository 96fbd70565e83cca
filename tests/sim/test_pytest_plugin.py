# SPDX-License-Identifier: BSD-2-Clause
"""The fixture of the pytest plugin, in scratch projects as its users have them."""

from __future__ import annotations

import os
import shutil

import pytest
from support.engines import requires_graph
from support.foreign_cores import CORES, FOLDER

pytest_plugins = "pytester"
HOME = os.environ.get("HOME", "")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project. Compiled tools are in the cache of the user's home."""
    monkeypatch.setenv("HOME", HOME)
    # The tests run in a worker of pytest-xdist, the project does not.
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    return pytester


def test_a_run_without_the_fixture_imports_the_plugin_alone(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys
        def test_modules():
            packages = ("utf8fpga", "amaranth", "filelock", "numba", "numpy")
            found = {name for name in sys.modules if name.partition(".")[0] in packages}
            assert {name for name in found if not name.startswith("utf8fpga.model")} == {
                "utf8fpga", "utf8fpga.pytest_plugin"
            }
        """
    )
    project.runpytest_subprocess("-p", "no:xdist").assert_outcomes(passed=1)


@requires_graph
@pytest.mark.slow
def test_fixture_takes_files(project: pytest.Pytester) -> None:
    for name in ("validator", "leaky"):
        shutil.copy(FOLDER / f"{name}.v", project.path)
        shutil.copy(FOLDER / CORES[name], project.path)
    project.makepyfile(
        """
        def test_correct(assert_utf8_core):
            assert_utf8_core("validator.v", ports="validator.toml")

        def test_faulty(assert_utf8_core):
            assert_utf8_core(["leaky.v"], top="leaky", ports="handshake.toml")
        """
    )
    done = project.runpytest_subprocess()
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["E * leaky differs from the model", "E * back-to-back texts: *"])
