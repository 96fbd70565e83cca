# SPDX-License-Identifier: BSD-2-Clause
"""The command `release`: writes the archive that is published with a version."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import click

from utf8fpga import __version__
from utf8fpga.bench.tables import recorded_notes, summary_table
from utf8fpga.cli.options import FOLDER
from utf8fpga.cli.output import CommandError, naming, progress, read_error, say, writing
from utf8fpga.cli.record import FIGURES_FILE, PLOT_FILE, SCALING_FILE
from utf8fpga.hdl import RELEASED, release_files

_TIME = 315532800
"""The time of each file, 1 January 1980: the first that all archive formats can represent."""


@click.command()
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option(
    "--checkout",
    type=FOLDER,
    help="Checkout with the recorded figures; default: the current folder, or no figures if it has none.",
)
def release(folder: str, checkout: str | None) -> None:
    """Write the archive that is published with a version to DIR, and print its SHA-256 checksum.

    It has the Verilog of the usual cores with their commands, test benches, vectors, descriptions for FuseSoC, the
    recorded figures, and checksums. The same version gives the same archive, byte for byte.
    """
    name = f"utf8fpga-{__version__}-verilog"
    path = Path(folder, f"{name}.tar.gz")
    figures = _figures(Path(checkout or "."), is_required=checkout is not None)
    summary = _summary(figures)
    with naming(folder):
        path.parent.mkdir(parents=True, exist_ok=True)
    with writing(str(path)) as file:
        with progress("writing Verilog", len(RELEASED)) as show:
            files = release_files(figures, summary, notes=recorded_notes, show=show)
        data = _archive({f"{name}/{each}": content for each, content in files.items()})
        file.write(data)
    click.echo(f"{hashlib.sha256(data).hexdigest()}  {path.name}")


def _figures(checkout: Path, *, is_required: bool) -> dict[str, bytes]:
    """The files with the figures by name; none, with a message, if they are not there and not required."""
    if not is_required and not (checkout / FIGURES_FILE).exists():
        say("the archive is without figures, since this folder is no checkout: see --checkout")
        return {}
    found = {}
    for each in (FIGURES_FILE, SCALING_FILE, PLOT_FILE):
        try:
            found[each.name] = (checkout / each).read_bytes()
        except OSError as error:
            raise read_error(str(checkout / each), error) from None
    return found


def _summary(figures: Mapping[str, bytes]) -> str | None:
    """The table of the README from the figures; None if there are none."""
    if not figures:
        return None
    try:
        return summary_table(*(json.loads(figures[each.name]) for each in (FIGURES_FILE, SCALING_FILE)))
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration):
        raise CommandError(
            f"{str(FIGURES_FILE)!r} or {SCALING_FILE.name!r} beside it is not a file that bench --record has written"
        ) from None


def _archive(files: Mapping[str, bytes]) -> bytes:
    """A compressed archive that depends on nothing but the names and contents of the files."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=9, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(files[name]), _TIME, 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    return packed.getvalue()
