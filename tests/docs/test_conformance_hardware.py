# SPDX-License-Identifier: BSD-2-Clause
"""The comparison of cores in hardware: its tables are those of the record, and the record is that of the ports."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from support.engines import requires_graph
from support.foreign_cores import use_few_texts
from support.processes import run
from support.site import DOCS, program

from utf8fpga.cli.record import with_block
from utf8fpga.sim.foreign_check import check_foreign_core
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.foreign_module import read_description

FOLDER = DOCS / "conformance"
STALE = "stale: python docs/conformance/hardware.py SOURCES"


hardware = program(FOLDER, "hardware")


def test_the_page_and_the_record_are_current(hardware: ModuleType) -> None:
    results, page = json.loads(hardware.RESULTS.read_text()), hardware.PAGE.read_text(encoding="utf-8")
    digests = {name: found["digest"] for name, found in results.items()}
    assert digests == {name: hardware.digest_of(name) for name in hardware.CORES}, STALE
    assert with_block(page, "cores", hardware.block(results)) == page, STALE


def test_each_verdict_follows_from_the_rows_of_its_core(hardware: ModuleType) -> None:
    for name, found in json.loads(hardware.RESULTS.read_text()).items():
        differing = [row for row in found["check"]["causes"] if row["differ"]]
        row = hardware.row(hardware.CORES[name], found)
        assert ("conforms" in row) == (not differing), name
        assert sum(row["runs"] for row in found["check"]["causes"]) > 100_000


def test_a_core_is_fetched_by_commit_and_its_digest_is_checked(hardware: ModuleType, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    origin.mkdir()
    (origin / "core.v").write_text("module core; endmodule\n")
    git = ["git", "-C", str(origin), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "--quiet"], ["add", "core.v"], ["commit", "--quiet", "-m", "core"]):
        run([*git, *words], check=True)
    commit = run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    digest = hashlib.sha256((origin / "core.v").read_bytes()).hexdigest()
    core = {"repository": str(origin), "commit": commit, "files": {"core.v": digest}}
    (path,) = hardware.fetch("core", core, tmp_path / "sources")
    assert path.read_text() == "module core; endmodule\n"
    path.write_text("module other; endmodule\n")
    with pytest.raises(SystemExit, match=re.escape(f"{path} has another digest")):
        hardware.fetch("core", core, tmp_path / "sources")


few_texts = pytest.fixture(use_few_texts)

WRAPPERS = sorted(path.stem for path in FOLDER.glob("*_wrapper.v"))


@requires_graph
@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize("name", WRAPPERS)
def test_a_correct_core_behind_a_wrapper_passes(name: str) -> None:
    files = [Path(__file__).with_name("stand_ins.v"), FOLDER / f"{name}.v"]
    assert check_foreign_core(ForeignCore(files, name, read_description(FOLDER / "wrapper.toml"))).failed == ()
