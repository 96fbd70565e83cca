# SPDX-License-Identifier: BSD-2-Clause
"""The command `release`: the same archive each time, whose files are those that its commands write."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.command import COMMAND, utf8fpga
from support.icarus import requires_icarus, run_icarus
from support.lint import requires_linters, warnings_of
from support.processes import run
from support.programs import write_program

from utf8fpga.hdl import CoreParameters, DecoderParameters, RemoverParameters
from utf8fpga.hdl.verilog import release as files_of_release

CHECKOUT = Path(__file__).parents[2]
NAME = "utf8fpga-0.1.0-verilog"
FIGURES = ["figures.json", "scaling.json", "scaling.svg"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A release of two small cores, written in an empty folder."""
    cores: tuple[CoreParameters, ...] = (DecoderParameters(pipeline=1), RemoverParameters(lanes=1))
    monkeypatch.setattr(files_of_release, "RELEASED", cores)
    monkeypatch.chdir(tmp_path)


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def unpacked(archive: Path, folder: Path) -> Path:
    """The folder with the files of an archive."""
    with tarfile.open(archive) as files:
        assert {(each.uid, each.gid, each.mode, each.mtime, each.isfile()) for each in files} == {
            (0, 0, 0o644, 315532800, True)
        }
        assert files.getnames() == sorted(files.getnames())
        # Python 3.11 has the filter, and the argument for it, from 3.11.4 on.
        files.extraction_filter = getattr(tarfile, "data_filter", None)
        files.extractall(folder)
    assert [path.name for path in folder.iterdir()] == [NAME]
    return folder / NAME


@pytest.mark.usefixtures("small")
def test_files_are_those_that_the_commands_write(tmp_path: Path) -> None:
    done = utf8fpga("release", "new/dist", "--checkout", CHECKOUT)
    archive = tmp_path / "new" / "dist" / f"{NAME}.tar.gz"
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n"
    folder = unpacked(archive, tmp_path / "unpacked")

    readme = (folder / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^utf8fpga (.*)$", readme, re.MULTILINE)
    written = tmp_path / "written"
    written.mkdir()
    os.chdir(written)
    for command in commands:
        assert utf8fpga(*shlex.split(command)).returncode == 0, command
    names = {path.name for path in written.iterdir()}
    modules = ["utf8_decoder_pipeline_1", "utf8_remover_1"]
    written_for_each = {f"{module}{end}.v" for module in modules for end in ("", "_bench")}
    assert names == {*written_for_each, "vectors.hex", "vectors.json", "utf8_remover_1.hex"}
    descriptions = {f"{module}.core" for module in modules}
    assert {path.name for path in (folder / "verilog").iterdir()} == names | descriptions
    for name in names:
        assert (folder / "verilog" / name).read_bytes() == (written / name).read_bytes(), name
    # `m_axis_tready` to `s_axis_tready`, as docs/verilog-reference.md says of serial decoders with registered output.
    assert (
        "| `utf8_decoder_pipeline_1` | serial, 1 lane, pipeline 1 | 2 | 0 | m_axis_tready -> s_axis_tready |" in readme
    )
    assert re.search(r"\| `utf8_remover_1` \| remover \| \d+ \| \d+ \| none \|", readme)

    for name in FIGURES:
        assert (folder / "figures" / name).read_bytes() == (CHECKOUT / "bench" / "results" / name).read_bytes()
    (summary,) = re.findall(
        r"summary: begin -->\n(.*?)\n<!-- ", (CHECKOUT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    assert summary in readme
    assert (folder / "LICENSE").read_bytes() == (CHECKOUT / "LICENSE").read_bytes()

    sums = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text(encoding="ascii").splitlines())
    present = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    assert set(sums) == set(present) - {"SHA256SUMS"}
    assert all(hashlib.sha256(present[name].read_bytes()).hexdigest() == value for name, value in sums.items())


@pytest.mark.usefixtures("small")
def test_archive_does_not_depend_on_the_folder_the_umask_or_an_older_archive(tmp_path: Path) -> None:
    written = []
    for name, mask in (("one", 0o022), ("another", 0o077)):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{NAME}.tar.gz").write_bytes(b"older")
        os.chdir(tmp_path / name)
        with umask(mask):
            assert utf8fpga("release", ".").returncode == 0
        assert [path.name for path in (tmp_path / name).iterdir()] == [f"{NAME}.tar.gz"]
        written.append((tmp_path / name / f"{NAME}.tar.gz").read_bytes())
    assert written[0] == written[1]
    assert len(written[0]) > 1000


@pytest.mark.usefixtures("small")
def test_without_a_checkout_there_are_no_figures_which_is_said(tmp_path: Path) -> None:
    done = utf8fpga("release", "dist")
    said = "the archive is without figures, since this folder is no checkout: see --checkout\n"
    assert (done.returncode, done.stderr.decode()) == (0, said)
    folder = unpacked(tmp_path / "dist" / f"{NAME}.tar.gz", tmp_path / "unpacked")
    assert not (folder / "figures").exists()
    assert "This archive has no figures." in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("small")
def test_errors_are_one_line_and_leave_no_file(tmp_path: Path) -> None:
    def rejected(message: str, *words: str) -> None:
        done = utf8fpga("release", *words)
        assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"utf8fpga: {message}\n")

    figures = Path("bench", "results", "figures.json")
    rejected(f"cannot read {str(figures)!r}: No such file or directory", "dist", "--checkout", ".")
    (tmp_path / figures.parent).mkdir(parents=True)
    for text in ("{}", "[", '{"figures": [], "tools": {}}'):
        for name in FIGURES:
            (tmp_path / figures.parent / name).write_text(text, encoding="utf-8")
        no_figures = "is not a file that bench --record has written"
        rejected(f"'bench/results/figures.json' or 'scaling.json' beside it {no_figures}", "dist")
    assert not (tmp_path / "dist").exists()
    shutil.rmtree(tmp_path / "bench")

    (tmp_path / "file").touch()
    for words in (["file"], ["file/dist"]):
        done = utf8fpga("release", *words)
        assert done.returncode == 2
        assert re.search(
            rf"^utf8fpga: cannot write '{words[0]}': (File exists|Not a directory)$", done.stderr.decode(), re.M
        )
    failing = write_program(tmp_path / "yosys", "print('ERROR: no memory'); raise SystemExit(1)")
    done = utf8fpga("release", "dist", env=os.environ | {"YOSYS": str(failing)})
    assert done.stderr.decode().splitlines()[-1] == "utf8fpga: yosys failed with status 1: ERROR: no memory"
    assert (done.returncode, list((tmp_path / "dist").iterdir())) == (1, [])
    assert utf8fpga("release").returncode == 2


def full(folder: Path, seed: int, mask: int) -> Path:
    """The archive with all cores, written by another process in an empty folder."""
    folder.mkdir()
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "LC_ALL": "C"}
    with umask(mask):
        command = [*COMMAND, "release", "dist", "--checkout", str(CHECKOUT)]
        run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return folder / "dist" / f"{NAME}.tar.gz"


@requires_icarus
@requires_linters
@pytest.mark.slow
def test_release_is_reproducible_and_works(tmp_path: Path) -> None:
    archives = [full(tmp_path / f"{seed}", seed, mask) for seed, mask in ((1, 0o022), (2, 0o077))]
    assert archives[0].read_bytes() == archives[1].read_bytes()
    folder = unpacked(archives[0], tmp_path / "unpacked") / "verilog"
    modules = [path.stem for path in folder.glob("utf8_*.v") if not path.stem.endswith("_bench")]
    assert len(modules) == len(files_of_release.RELEASED)
    for module in modules:
        (tmp_path / module).mkdir()
        assert warnings_of((folder / f"{module}.v").read_text(encoding="utf-8"), tmp_path / module) == []
        bench = f"{module}_bench"
        assert (folder / f"{module}.hex").exists() == (not module.startswith("utf8_decoder"))
        done = run_icarus(folder, [f"{module}.v", f"{bench}.v"], top=bench)
        assert re.match(r"PASS: (149|151|40) packets, ", done.stdout), module


def test_the_archive_has_what_is_used_most() -> None:
    kinds = {(each.core, getattr(each, "to", None), getattr(each, "lanes", 1)) for each in files_of_release.RELEASED}
    cores = [("transcoder", "utf-16-le"), ("transcoder", "utf-8"), ("validator", None), ("decoder", None)]
    assert {(*each, lanes) for each in cores for lanes in (1, 4, 16)} <= kinds
    assert not any(getattr(each, "pass_through", False) for each in files_of_release.RELEASED)


@requires_icarus
@pytest.mark.usefixtures("small")
def test_fusesoc_simulates_released_cores(tmp_path: Path) -> None:
    pytest.importorskip("fusesoc", reason="fusesoc is not installed")
    assert utf8fpga("release", "dist").returncode == 0
    folder = unpacked(tmp_path / "dist" / f"{NAME}.tar.gz", tmp_path / "unpacked") / "verilog"
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    command = [sys.executable, "-m", "fusesoc.main", "--cores-root", str(folder), "run", "--target", "sim"]
    environment = {**os.environ, "PATH": path, "XDG_CACHE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    for module, packets in {"utf8_decoder_pipeline_1": 149, "utf8_remover_1": 40}.items():
        core = f"utf8fpga:verilog:{module}"
        done = run([*command, core], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert f"PASS: {packets} packets, " in done.stdout + done.stderr
