# SPDX-License-Identifier: BSD-2-Clause
"""Checks and measures the UTF-8 cores of others in `cores.toml`, and writes docs/conformance.md.

``python docs/conformance/hardware.py SOURCES`` fetches the files of each core by commit into the folder SOURCES, checks
their digests, runs `utf8fpga check` and `utf8fpga bench` on each, and writes their answers to hardware.json and the
tables of the page. Cores whose files and ports have not changed are not run again. It requires git and Numba.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click

from utf8fpga.cli.record import with_block
from utf8fpga.model.render import markdown

FOLDER = Path(__file__).parent
PAGE, CORES, RESULTS = FOLDER.parent / "conformance.md", FOLDER / "cores.toml", FOLDER / "hardware.json"

DEVICES = ("hx8k", "ecp5-85k")
"""The devices of the figures: area and clock on the first one, clock on the second one."""

KEPT = ("module", "practice", "verdict", "causes", "cycles_per_byte")
"""What of the answer of `check` is recorded."""

MOST_CELLS = 48
"""Characters of an input or an output in a table."""


def catalogue() -> dict[str, dict[str, Any]]:
    """The cores by name, as in `cores.toml`."""
    return tomllib.loads(CORES.read_text(encoding="utf-8"))


def ports_file(name: str, core: dict[str, Any]) -> Path:
    """The description of the ports of a core, or of its wrapper."""
    return FOLDER / ("wrapper.toml" if "wrapper" in core else f"{name}.toml")


def fetch(name: str, core: dict[str, Any], sources: Path) -> list[Path]:
    """The files of a core in `sources`, fetched from its repository where they are missing.

    Raises:
        click.ClickException: git failed, or a file has another digest than in the catalogue.
    """
    paths = []
    for source, digest in core["files"].items():
        path = sources / name / Path(source).name
        if not path.exists():
            repository = sources / name / "repository.git"
            _run("git", "init", "--quiet", "--bare", str(repository))
            _run("git", "-C", str(repository), "fetch", "--quiet", "--depth", "1", core["repository"], core["commit"])
            path.write_bytes(_run("git", "-C", str(repository), "show", f"{core['commit']}:{source}"))
        if (found := hashlib.sha256(path.read_bytes()).hexdigest()) != digest:
            raise click.ClickException(f"{path} has the digest {found}, not {digest} as in {CORES.name}")
        paths.append(path)
    return paths


def _run(*command: str, failures: tuple[int, ...] = (0,)) -> bytes:
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode not in failures:
        raise click.ClickException(f"status {done.returncode} of: {' '.join(command)}")
    return done.stdout


def answers(name: str, core: dict[str, Any], files: list[Path]) -> dict[str, Any]:
    """What `check` and `bench` print for a core."""
    ports, paths = ports_file(name, core), [str(path) for path in files]
    program = (sys.executable, "-m", "utf8fpga")
    checked, measured, top = paths, ports, []
    if "wrapper" in core:
        checked, top = [*paths, str(FOLDER / core["wrapper"])], ["--top", Path(core["wrapper"]).stem]
        measured = files[0].parent / "measured.json"
        measured.write_text(json.dumps({"title": name, **core["measured"]}), encoding="utf-8")
    # The status is 1 where the core differs from the model.
    report = json.loads(_run(*program, "check", *checked, *top, "--ports", str(ports), "--json", failures=(0, 1)))
    title = name if "wrapper" in core else report["module"]
    given = [each for path in paths for each in ("--against", path)]
    devices = [each for device in DEVICES for each in ("--device", device)]
    rows = json.loads(_run(*program, "bench", *given, "--ports", str(measured), *devices, "--json"))
    return {
        "digest": digest_of(name, core),
        "check": {key: report[key] for key in KEPT},
        "figures": [row for row in rows if row["title"] == title],
    }


def digest_of(name: str, core: dict[str, Any]) -> str:
    """A digest of all that the answers on a core depend on, but the tools."""
    ours = [ports_file(name, core), *(FOLDER / core[key] for key in ("wrapper",) if key in core)]
    given = json.dumps([core["files"], core.get("measured"), *(each.read_text(encoding="utf-8") for each in ours)])
    return hashlib.sha256(given.encode()).hexdigest()


def page(text: str, results: dict[str, Any]) -> str:
    """The page with its tables made from recorded results."""
    cores = catalogue()
    for name, content in (("summary", summary(cores, results)), ("cores", sections(cores, results))):
        text = with_block(text, name, content)
    return text


def summary(cores: dict[str, Any], results: dict[str, Any]) -> str:
    """A row for each core."""
    rows = []
    for name, core in cores.items():
        found = results[name]
        speeds = {row["device"]: row for row in found["figures"]}
        first, second = (speeds[device] for device in DEVICES)
        rows.append(
            [
                f"[{core['title']}](#{_anchor(core['title'])})",
                core["language"],
                verdict(found["check"]),
                _cycles(found["check"]),
                str(first["cells"]),
                *(str(round(row["usable_mhz"])) for row in (first, second)),
            ]
        )
    heading = ["core", "language", "verdict", "cycles per byte", "cells", "MHz, iCE40 HX8K", "MHz, ECP5"]
    tools = {tool for found in results.values() for row in found["figures"] for tool in row["tools"].split(", ")}
    versions = ", ".join(sorted(tools))
    remark = (
        "*Cycles per byte* are those on the best and on the worst input, with a host that waits for each answer; cells"
        f" are those of an iCE40. {versions}; written by `python docs/conformance/hardware.py sources`."
    )
    return f"{markdown(heading, rows, left=(0, 1, 2))}\n\n{remark}"


def _anchor(title: str) -> str:
    return "".join(letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter in "-_")


def verdict(report: dict[str, Any]) -> str:
    """The verdict of a check in few words: the practice, or the worst defect."""
    found = report["verdict"]
    if practice := found["conforms_to"]:
        is_default = practice == report["practice"]
        return "conforms" if is_default else f"conforms to {practice}"
    return str(found["defects"][0]["defect"])


def _cycles(report: dict[str, Any]) -> str:
    ends = [report["cycles_per_byte"][end] for end in ("best", "worst")]
    return " to ".join(f"{found['cycles']:.3g}" for found in ends if found) or "none"


def sections(cores: dict[str, Any], results: dict[str, Any]) -> str:
    """A section for each core: where it is, what is good about it, and each cause in which it differs."""
    return "\n\n".join(_section(name, core, results[name]["check"]) for name, core in cores.items())


def _section(name: str, core: dict[str, Any], report: dict[str, Any]) -> str:
    where = ", ".join(f"`{source}`" for source in core["files"])
    lines = [
        f"### {core['title']}",
        "",
        f"{core['note']} Licence: {core['license']}.",
        f"Source: [{core['repository'].removeprefix('https://')}]({core['repository']}), {where} at",
        f"`{core['commit']}`.",
        f"Protocol: {core['protocol']}; {_ports(name, core)}.",
        f"Verdict: {', '.join(each['defect'] for each in report['verdict']['defects']) or 'conforms'}.",
        "",
    ]
    differing = [row for row in report["causes"] if row["differ"]]
    if not differing:
        runs = sum(row["runs"] for row in report["causes"])
        return "\n".join([*lines, f"It gave exactly the model's output in {runs:,} runs."])
    rows = [
        [
            row["cause"],
            f"{row['differ']:,} of {row['runs']:,}",
            *(_short(cell) for cell in _shortest(row["shortest"])),
        ]
        for row in differing
    ]
    lines.append(markdown(["cause", "differ", "shortest input", "expected", "given"], rows, left=(0, 2, 3, 4)))
    same = [row["cause"] for row in report["causes"] if row["runs"] and not row["differ"]]
    if same:
        lines += ["", f"No difference: {', '.join(same)}."]
    return "\n".join(lines)


def _ports(name: str, core: dict[str, Any]) -> str:
    """What connects a core, with a link."""
    what, file = ("wrapper", core["wrapper"]) if "wrapper" in core else ("ports", f"{name}.toml")
    return f"{what}: [{file}](conformance/{file})"


def _shortest(found: dict[str, Any]) -> tuple[str, str, str]:
    texts = " / ".join(found["texts"])
    return texts, " ".join(found["expected"]) or "nothing", " ".join(found["given"]) or "nothing"


def _short(text: str) -> str:
    return text if len(text) <= MOST_CELLS else f"{text[: MOST_CELLS - 4]} ..."


@click.command()
@click.argument("sources", type=click.Path(file_okay=False, path_type=Path))
@click.option("--core", "names", multiple=True, type=click.Choice(list(catalogue())), help="Check this one again.")
def main(sources: Path, names: tuple[str, ...]) -> None:
    """Check and measure the UTF-8 cores of others, and write docs/conformance.md."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name, core in catalogue().items():
        if name in names or results.get(name, {}).get("digest") != digest_of(name, core):
            click.echo(f"{name}: checking and measuring", err=True)
            results[name] = answers(name, core, fetch(name, core, sources))
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
