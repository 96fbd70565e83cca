# SPDX-License-Identifier: BSD-2-Clause
"""The tests that pytest's option ``--utf8-core`` adds to a run: one for each row of the report of the check.

The check runs once per session, with the first of its tests. With pytest-xdist, the worker that is the first to have
such a test runs it, and the other ones read its report.
"""

from __future__ import annotations

import pickle
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from utf8fpga.model import Practice, UserError
from utf8fpga.sim.assertion import difference
from utf8fpga.sim.causes import check_foreign_core, row_names
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.foreign_ports import OWN_PORTS, read_checked_ports
from utf8fpga.sim.report import Report

_ROOT = "utf8-core"
"""The first part of the names of the tests."""


class _DifferenceError(Exception):
    """The core differs from the model; the message has the shortest input."""


class CoreSuite:
    """The core of a run and its tests.

    Args:
        config: the configuration of the run, with the options.

    Raises:
        UsageError: a file cannot be read, the core cannot be checked, or Yosys or Numba is missing.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._options = {name: config.getoption(f"--utf8-{name}") for name in ("core", "top", "ports", "practice")}
        self._core: ForeignCore | None = None
        self._report: Report | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        # What the main process tells the workers of pytest-xdist.
        known = getattr(config, "workerinput", {}).get(_ROOT)
        if known is None:
            try:
                self._core = self._read()
            except UserError as error:
                raise pytest.UsageError(f"--utf8-core: {error}") from None
            known = {"name": self._core.name, "causes": row_names(self._core.ports), "folder": ""}
        self._known = known
        self.name: str = known["name"]
        self.causes: dict[str, str] = {re.sub(r"[^\w-]+", "-", cause): cause for cause in known["causes"]}
        chosen = {arg: name for arg in config.args if (name := _name_of(arg))}
        nodeids = [f"{_ROOT}::{self.name}::{test}" for test in self.causes]
        for arg, name in chosen.items():
            if not any(_is_inside(nodeid, name) for nodeid in nodeids):
                raise pytest.UsageError(f"not found: {arg}")
        names = chosen.values() or [_ROOT]
        self.chosen = {nodeid for nodeid in nodeids if any(_is_inside(nodeid, name) for name in names)}
        config.args[:] = [arg for arg in config.args if arg not in chosen]

    def _read(self) -> ForeignCore:
        files, ports = [Path(name) for name in self._options["core"]], self._options["ports"]
        described = read_checked_ports(Path(ports)) if ports else OWN_PORTS
        return ForeignCore(files, self._options["top"], described, self._practice)

    @property
    def _practice(self) -> Practice:
        try:
            return Practice(self._options["practice"] or Practice.MAXIMAL_SUBPARTS)
        except UserError as error:
            raise pytest.UsageError(f"--utf8-practice: {error}") from None

    @property
    def source(self) -> str:
        """The first file."""
        first: str = self._options["core"][0]
        return first

    def report(self) -> Report:
        """The report of the check, which the first call runs."""
        if self._report is None:
            self._report = self._shared_report() if self._known["folder"] else self._check()
        return self._report

    def _check(self) -> Report:
        self._core = self._core or self._read()
        return check_foreign_core(self._core, self._practice)

    def _shared_report(self) -> Report:
        path = Path(self._known["folder"]) / "report"
        with FileLock(path.with_suffix(".lock")):
            if not path.exists():
                path.write_bytes(pickle.dumps(self._check()))
            found: Report = pickle.loads(path.read_bytes())
        return found

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist the names of the tests, and the folder for the report."""
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="utf8fpga-")
        node.workerinput[_ROOT] = {**self._known, "folder": self._temporary.name}

    def pytest_unconfigure(self) -> None:
        """Delete the folder."""
        if self._temporary is not None:
            self._temporary.cleanup()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the tests."""
        items += session.genitems(_Core.from_parent(session, name=_ROOT, nodeid=_ROOT, suite=self))


def _name_of(arg: str) -> str | None:
    """The name of tests of the core, which pytest shows as ``../utf8-core`` in a folder of the project."""
    path, *names = arg.split("::")
    return "::".join([_ROOT, *names]) if Path(path).name == _ROOT and not Path(path).exists() else None


def _is_inside(nodeid: str, name: str) -> bool:
    return nodeid == name or nodeid.startswith(f"{name}::")


class _Core(pytest.Collector):
    """The core."""

    def __init__(self, *, suite: CoreSuite, **details: Any) -> None:
        super().__init__(**details)
        self._suite = suite

    def collect(self) -> list[pytest.Collector]:
        """Its module."""
        return [_Module.from_parent(self, name=self._suite.name, suite=self._suite)]


class _Module(_Core):
    """The module, which has a test for each row of the report."""

    def collect(self) -> list[Any]:
        """The tests."""
        suite = self._suite
        tests = [_Row.from_parent(self, name=name, suite=suite, cause=cause) for name, cause in suite.causes.items()]
        return [test for test in tests if test.nodeid in suite.chosen]


class _Row(pytest.Item):
    """The test of one row of the report."""

    def __init__(self, *, suite: CoreSuite, cause: str, **details: Any) -> None:
        super().__init__(**details)
        self._suite, self._cause = suite, cause

    def runtest(self) -> None:
        """Fail if the core differs from the model, and skip what cannot be checked."""
        report = self._suite.report()
        (row,) = (row for row in report.rows if row.cause == self._cause)
        if row.not_checked:
            pytest.skip(row.not_checked)
        if row.failed:
            raise _DifferenceError(difference(report, row))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The difference, or the error of a tool, without a traceback."""
        if isinstance(excinfo.value, _DifferenceError | UserError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        """The file and the name."""
        return self._suite.source, None, self.nodeid
