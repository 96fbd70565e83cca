# SPDX-License-Identifier: BSD-2-Clause
"""The files of a release: cores with the usual parameters as Verilog, with test benches, vectors and descriptions."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution, version
from importlib.resources import files
from string import Template

from utf8fpga.hdl.core import Core, CoreParameters
from utf8fpga.hdl.cores import command_words
from utf8fpga.hdl.decoder.parameters import DecoderParameters
from utf8fpga.hdl.remover import RemoverParameters
from utf8fpga.hdl.toolchain import present_version
from utf8fpga.hdl.transcoder.parameters import TranscoderParameters
from utf8fpga.hdl.validator.parameters import ValidatorParameters
from utf8fpga.hdl.verilog.bench_vectors import bench_vectors
from utf8fpga.hdl.verilog.testbench import axi_testbench
from utf8fpga.hdl.verilog.writer import axi_verilog
from utf8fpga.model.vectors import render_vectors

RELEASED: tuple[CoreParameters, ...] = (
    *(DecoderParameters(pipeline=pipeline) for pipeline in (0, 1, 2)),
    DecoderParameters(architecture="parallel"),
    *(DecoderParameters(lanes=lanes) for lanes in (2, 4, 8, 16)),
    *(DecoderParameters(lanes=lanes, packed=False) for lanes in (2, 4, 8, 16)),
    DecoderParameters(lanes=4, packed=False, buffer="registers"),
    DecoderParameters(lanes=4, compact_input=True),
    *(TranscoderParameters(to=to, lanes=lanes) for to in ("utf-16-le", "utf-8") for lanes in (1, 4, 16)),
    *(ValidatorParameters(lanes=lanes) for lanes in (1, 4, 16)),
    RemoverParameters(lanes=4),
    RemoverParameters(lanes=4, width=32, user=1),
)
"""The cores of a release."""

_FOLDER = "verilog"

_VECTORS = {"readmemh": "vectors.hex", "json": "vectors.json"}
"""The files of vectors by format."""


@dataclass(frozen=True)
class Released:
    """A core of a release.

    Attributes:
        name: the name of its module and its files.
        vectors_name: the name of their file, which the decoders share.
    """

    parameters: CoreParameters
    name: str
    core: Core
    verilog: str
    bench: str
    vectors: str
    vectors_name: str

    @classmethod
    def of(cls, parameters: CoreParameters, notes: Callable[[str], Sequence[str]]) -> Released:
        """The core with these parameters; `notes` makes lines for its header, see `axi_verilog`."""
        name = f"utf8_{parameters.name.replace('-', '_')}"
        core, command = parameters.build(), [*command_words(parameters), "--name", name]
        verilog = axi_verilog(core, name, command=command, notes=notes)
        vectors = bench_vectors(core)
        vectors_name = _VECTORS["readmemh"] if vectors == render_vectors("readmemh") else f"{name}.hex"
        bench = axi_testbench(core, name, command=command, vectors=vectors_name)
        return cls(parameters, name, core, verilog, bench, vectors, vectors_name)

    @property
    def command(self) -> str:
        """The command line that writes its files."""
        words = ["utf8fpga", "generate", *command_words(self.parameters), "--name", self.name, "-o", f"{self.name}.v"]
        return shlex.join([*words, "--testbench", f"{self.name}_bench.v", "--vectors", self.vectors_name])

    @property
    def paths(self) -> str:
        """Its combinational paths, as the header of the Verilog states them."""
        found = re.search(r"^// Combinational paths .*?: ?(none\.)?\n((?://   .*\n)*)", self.verilog, re.MULTILINE)
        assert found is not None
        return found[1].rstrip(".") if found[1] else "; ".join(line[5:] for line in found[2].splitlines())

    def files(self) -> dict[str, str]:
        """The text of each of its files by name."""
        return {
            f"{self.name}.v": self.verilog,
            f"{self.name}.core": self._fusesoc(),
            f"{self.name}_bench.v": self.bench,
            self.vectors_name: self.vectors,
        }

    def _fusesoc(self) -> str:
        """The description for FuseSoC."""
        return _filled(
            "release.yaml",
            command=self.command,
            name=self.name,
            version=version("utf8fpga"),
            title=" ".join(self.parameters.title.split()),
            vectors=self.vectors_name,
        )


def release_files(
    figures: Mapping[str, bytes],
    summary: str | None,
    *,
    notes: Callable[[str], Sequence[str]],
    show: Callable[[int], object] = lambda _: None,
) -> dict[str, bytes]:
    """The files of a release by path, the same byte for byte each time.

    Args:
        figures: files with the recorded figures, by name.
        summary: a table of these figures in Markdown; None: there are no figures.
        notes: makes lines for the header of a core, see `axi_verilog`.
        show: called with the number of cores that have been written.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    cores = []
    for number, parameters in enumerate(RELEASED):
        show(number)
        cores.append(Released.of(parameters, notes))
    texts = {name: text for core in cores for name, text in core.files().items()}
    texts |= {name: render_vectors(form) for form, name in _VECTORS.items()}
    made = {f"{_FOLDER}/{name}": text.encode() for name, text in texts.items()}
    made |= {f"figures/{name}": data for name, data in figures.items()}
    made |= {"README.md": _readme(cores, summary).encode(), "LICENSE": _license()}
    sums = "".join(f"{hashlib.sha256(made[name]).hexdigest()}  {name}\n" for name in sorted(made))
    return {**made, "SHA256SUMS": sums.encode()}


def _license() -> bytes:
    """The text of the licence, which is a part of the installed package's metadata."""
    (found,) = [file for file in distribution("utf8fpga").files or () if file.name == "LICENSE"]
    return found.read_binary()


def _readme(cores: Sequence[Released], summary: str | None) -> str:
    """The description of the archive."""
    rows = [
        f"| `{each.name}` | {each.parameters.title} | {each.core.latency} | {each.core.reset_cycles} | {each.paths} |"
        for each in cores
    ]
    (as_json,) = [f"utf8fpga vectors --format {form} -o {name}" for form, name in _VECTORS.items() if form == "json"]
    reports = "The reports that these figures are from are in `figures/`."
    return _filled(
        "release.md",
        version=version("utf8fpga"),
        rows="\n".join(rows),
        tools=f"Amaranth {version('amaranth')} and Yosys {present_version('yosys')}",
        commands="\n".join([*(each.command for each in cores), as_json]),
        simulated=cores[0].name,
        other=cores[-1].name,
        figures="This archive has no figures." if summary is None else f"{summary}\n\n{reports}",
    )


def _filled(template: str, **values: str) -> str:
    """A text from a template beside this file."""
    return Template(files("utf8fpga.hdl.verilog").joinpath(template).read_text(encoding="utf-8")).substitute(values)
