# SPDX-License-Identifier: BSD-2-Clause
"""The documentation site: it is built without warnings, complete and self-contained."""

from __future__ import annotations

import importlib
import posixpath
import re
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import pytest
from support.site import COMMAND, DOCS

from utf8fpga.cli.core_command import CoreCommand
from utf8fpga.cli.main import COMMANDS, cli

CHECKOUT = DOCS.parent


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, attribute: str, *tags: str) -> Iterator[str]:
        """The values of an attribute; default: of all elements."""
        return (found[attribute] for tag, found in self.elements if attribute in found and (not tags or tag in tags))


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Elements]:
    """The pages by their paths in the site."""
    return {path.relative_to(site).as_posix(): Elements(path) for path in site.rglob("*.html")}


def test_every_source_is_a_page_but_the_experiments(pages: dict[str, Elements]) -> None:
    sources = {*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")} - {DOCS / "experiments.md"}
    assert set(pages) >= {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in sources}
    assert "experiments.html" not in pages


def test_no_page_loads_anything_from_elsewhere(site: Path, pages: dict[str, Elements]) -> None:
    for name, page in pages.items():
        loaded = [*page.all("src"), *page.all("srcset"), *page.all("href", "link"), *page.all("data", "object")]
        assert len(loaded) > 5
        assert not [each for each in loaded if re.match(r"\s*(\w+:)?//|http", each)], name
    for path in [*site.glob("_static/**/*.css")]:
        assert not re.findall(r"""(?:url\(|@import)\s*["']?(?:\w+:)?//""", path.read_text(encoding="utf-8")), path.name
    for path in site.glob("_static/try/*.js"):
        found = r"\bfetch\b|\bimport\b|XMLHttpRequest|WebSocket|https?:(?!//www.w3.org)"
        assert not re.findall(found, path.read_text(encoding="utf-8")), path.name


def test_every_link_within_the_site_has_a_target(site: Path, pages: dict[str, Elements]) -> None:
    identifiers = {name: set(page.all("id")) for name, page in pages.items()}
    checked = 0
    for name, page in pages.items():
        for link in page.all("href", "a"):
            address = urlsplit(link)
            if address.scheme:
                assert address.scheme in ("https", "http"), link
                continue
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(address.path)))
            target = target if address.path else name
            assert (site / target).is_file(), f"{name}: {link}"
            if address.fragment and target in identifiers:
                assert unquote(address.fragment) in identifiers[target], f"{name}: {link}"
            checked += 1
    assert checked > 1000


def inventory(site: Path) -> set[str]:
    """The names that the reference has, from the file for links of other projects."""
    packed = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return {line.split()[0] for line in zlib.decompress(packed).decode().splitlines()}


@pytest.mark.parametrize("module", ["model", "model.arrays", "model.vectors", "hdl", "sim"])
def test_every_public_name_is_in_the_reference(site: Path, module: str) -> None:
    names = importlib.import_module(f"utf8fpga.{module}").__all__
    assert not {f"utf8fpga.{module}.{name}" for name in names} - inventory(site)


def test_constants_of_the_reference_have_their_own_docstrings(pages: dict[str, Elements]) -> None:
    text = " ".join(pages["reference/model.html"].text.split())
    assert "Every table by its name, the Unicode encoding forms first." in text
    assert "Built-in immutable sequence" not in text


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_a_page_with_its_examples_and_options(pages: dict[str, Elements], name: str) -> None:
    page, command = pages[f"commands/{name}.html"], cli.get_command(click.Context(cli), name)
    assert command
    text = " ".join(page.text.split())
    for line in re.findall(r"\$ utf8fpga .*", command.epilog or ""):
        assert line in text
    cores = command.commands if isinstance(command, CoreCommand) else {}
    shown = set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", text))
    for each in (command, *cores.values()):
        words = {word for option in each.params for word in (*option.opts, *option.secondary_opts)}
        assert {word for word in words if word.startswith("-")} - {"-h", "--help"} <= shown
    assert all(f"Options of the {core}" in text for core in cores)
    described = [each for each in page.all("id", "dt") if each.startswith("cmdoption-")]
    assert described
    assert all("FILE" not in each for each in described), "an argument is no option"
    assert f"commands/{name}.html" in set(pages["commands.html"].all("href", "a"))


def test_places_that_publish_the_site_build_it_with_the_command() -> None:
    command = COMMAND.replace("SITE", "build/site")
    assert f"- run: {command}\n" in (CHECKOUT / ".github" / "workflows" / "pages.yml").read_text(encoding="utf-8")
    assert command in (DOCS / "contributing.md").read_text(encoding="utf-8")
    read_the_docs = (CHECKOUT / ".readthedocs.yaml").read_text(encoding="utf-8")
    assert (CHECKOUT / re.findall("configuration: (.*)", read_the_docs)[0]).is_file()


def test_no_other_page_loads_the_scripts_of_the_page_to_try(pages: dict[str, Elements]) -> None:
    assert [name for name, page in pages.items() if any("/try/" in each for each in page.all("src", "script"))] == [
        "try.html"
    ]
    # A module is not loaded from a file.
    assert not [each for tag, each in pages["try.html"].elements if tag == "script" and "type" in each]
