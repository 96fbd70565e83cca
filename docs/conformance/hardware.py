# SPDX-License-Identifier: BSD-2-Clause
"""Checks and measures the UTF-8 cores of others in `cores.toml`, and writes the comparison in docs/checking.md.

``python docs/conformance/hardware.py SOURCES`` fetches the files of each core by commit into the folder SOURCES, checks
their digests, runs `utf8fpga check` and `utf8fpga bench` on each, and writes their answers to hardware.json and the
page. Cores whose files and ports have not changed are not run again. It requires git and Numba.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from utf8fpga.cli.record import with_block
from utf8fpga.model.render import markdown

FOLDER = Path(__file__).parent
PAGE, RESULTS = FOLDER.parent / "checking.md", FOLDER / "hardware.json"
CORES: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "cores.toml").read_text(encoding="utf-8"))
DEVICES = ("hx8k", "ecp5-85k")

HEADING = ("core", "licence", "verdict", "cells, HX8K", "MHz, HX8K", "MHz, ECP5")


def ports_file(name: str) -> Path:
    """The description of the ports of a core, or of its wrapper."""
    return FOLDER / ("wrapper.toml" if "wrapper" in CORES[name] else f"{name}.toml")


def fetch(name: str, core: dict[str, Any], sources: Path) -> list[Path]:
    """The files of a core, fetched into `sources` where they are missing, with the digests of the catalogue."""
    paths = []
    for source, digest in core["files"].items():
        path = sources / name / Path(source).name
        if not path.exists():
            repository = str(sources / name / "repository.git")
            run("git", "init", "--quiet", "--bare", repository)
            run("git", "-C", repository, "fetch", "--quiet", "--depth", "1", core["repository"], core["commit"])
            path.write_bytes(run("git", "-C", repository, "show", f"{core['commit']}:{source}"))
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            sys.exit(f"{path} has another digest than in cores.toml")
        paths.append(path)
    return paths


def run(*command: str, failures: tuple[int, ...] = (0,)) -> bytes:
    """What a command prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode not in failures:
        sys.exit(f"status {done.returncode} of: {' '.join(command)}")
    return done.stdout


def digest_of(name: str) -> str:
    """A digest of all that the answers on a core depend on, but the tools."""
    core = CORES[name]
    ours = [ports_file(name), *([FOLDER / core["wrapper"]] if "wrapper" in core else [])]
    parts = [core["files"], core.get("measured"), *(each.read_text(encoding="utf-8") for each in ours)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def answers(name: str, files: list[Path]) -> dict[str, Any]:
    """What `check` and `bench` print for a core; `check` is of its wrapper, if it has one."""
    core, program = CORES[name], (sys.executable, "-m", "utf8fpga")
    checked, measured, top = list(map(str, files)), ports_file(name), []
    if "wrapper" in core:
        checked.append(str(FOLDER / core["wrapper"]))
        top = ["--top", Path(core["wrapper"]).stem]
        measured = files[0].parent / "measured.toml"
        measured.write_text(core["measured"], encoding="utf-8")
    # The status is 1 where the core differs from the model.
    report = run(*program, "check", *checked, *top, "--ports", str(ports_file(name)), "--json", failures=(0, 1))
    options = [f"--against={path}" for path in files] + [f"--device={device}" for device in DEVICES]
    rows = run(*program, "bench", *options, "--ports", str(measured), "--json")
    checked_core = json.loads(report)
    title = name if "wrapper" in core else checked_core["module"]
    figures = [each for each in json.loads(rows) if each["title"] == title]
    return {"digest": digest_of(name), "check": checked_core, "figures": figures}


def block(results: dict[str, Any]) -> str:
    """A table with a row for each core, and a list of what each does well and where it differs."""
    rows = [row(core, results[name]) for name, core in CORES.items()]
    notes = [note(name, core, results[name]["check"]["defects"]) for name, core in CORES.items()]
    tools = {tool for found in results.values() for each in found["figures"] for tool in each["tools"].split(", ")}
    remark = f"Measured with {', '.join(sorted(tools))}."
    return "\n\n".join([markdown(HEADING, rows, left=(0, 1, 2)), remark, "\n".join(notes)])


def row(core: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """The row of a core in the table."""
    defects = found["check"]["defects"]
    small, fast = (next(each for each in found["figures"] if each["device"] == device) for device in DEVICES)
    address = f"{core['repository']}/blob/{core['commit']}/{next(iter(core['files']))}"
    return [
        f"[{core['title']}]({address})",
        core["license"],
        defects[0]["name"] if defects else "conforms",
        str(small["cells"]),
        *(str(round(each["usable_mhz"])) for each in (small, fast)),
    ]


def note(name: str, core: dict[str, Any], defects: list[dict[str, Any]]) -> str:
    """A line about a core: what is good about it, how it is connected, and its defects with the shortest inputs."""
    file = core.get("wrapper", f"{name}.toml")
    said = [f"- **{core['title']}.** {core['note']} Connected by [{file}](conformance/{file}): {core['protocol']}."]
    for defect in defects:
        shortest = defect["shortest"]
        given, expected = (" ".join(shortest[side]) or "nothing" for side in ("given", "expected"))
        said.append(f"It {defect['name']}: {' / '.join(shortest['texts'])} gives {given}, not {expected}.")
    return " ".join(said).replace("It wrong number of marks", "It has a wrong number of marks")


def main(sources: Path) -> None:
    """Check and measure what has changed, and write the page."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for name, core in CORES.items():
        if results.get(name, {}).get("digest") != digest_of(name):
            results[name] = answers(name, fetch(name, core, sources))
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_block(PAGE.read_text(encoding="utf-8"), "cores", block(results)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
