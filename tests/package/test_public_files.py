# SPDX-License-Identifier: BSD-2-Clause
"""Files for visitors of the repository and for indices of packages: one version, links that lead to files."""

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


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md"])
def test_links_lead_to_files(name: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)", (CHECKOUT / name).read_text(encoding="utf-8")):
        assert (CHECKOUT / name).parent.joinpath(target).exists(), target


def test_the_workflow_runs_the_checks_of_ci_and_the_test_line_of_the_readme() -> None:
    jobs = yaml.safe_load((CHECKOUT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    commands = {name: [step.get("run", "") for step in job["steps"]] for name, job in jobs.items()}
    assert ".ci/run" in commands["linux"]
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    [(install, tests)] = re.findall(
        r"^python3 -m venv .*pip (install -e '.*') && .*bin/(pytest.*)$", readme, re.MULTILINE
    )
    assert commands["smoke"][-2:] == [f"python -m pip {install}".replace("'", '"'), f"python -m {tests}"]
