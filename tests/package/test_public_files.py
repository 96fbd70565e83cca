# SPDX-License-Identifier: BSD-2-Clause
"""Files for visitors of the repository and for indices of packages: one version, one test line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from utf8fpga import __version__

yaml = pytest.importorskip("yaml", reason="requires the extra 'docs'")

CHECKOUT = Path(__file__).parents[2]


def test_every_file_names_the_version_of_the_package() -> None:
    citation = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = re.findall(r"^## (\d+\.\d+\.\d+)", (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert str(citation["version"]) == __version__
    assert changes[0] == __version__


def test_the_workflow_runs_the_checks_of_ci_and_the_test_line_of_the_readme() -> None:
    jobs = yaml.safe_load((CHECKOUT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    commands = {name: [step.get("run", "") for step in job["steps"]] for name, job in jobs.items()}
    assert ".ci/run" in commands["linux"]
    lines = re.findall("^python3 -m venv .*", (CHECKOUT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    demo, tests = (line.split(" && ")[-1].rpartition("/")[2] for line in lines)
    assert (demo, tests) == ("utf8fpga demo", "pytest -n auto"), "two lines without prerequisites"
    [install] = re.findall(r"pip (install -e '.*') && ", lines[1])
    assert commands["smoke"][-2:] == [f"python -m pip {install}".replace("'", '"'), f"python -m {tests}"]
