# SPDX-License-Identifier: BSD-2-Clause
"""SVG for the pictures of the documentation: text, boxes, lines and animation, in light and dark.

The files have no script and no font, as an image in a page must. Colours are classes, not variables, for viewers that
have no variables; those show the light ones. Without animation, and at its start, a picture shows everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path

_Colours = dict[str, tuple[str, str] | str]
_LIGHT: _Colours = {
    "canvas": ("#ffffff", "#d0d7de"),
    "panel": ("#f3f5f8", "#8c959f"),
    "good": ("#dbeafe", "#2563ab"),
    "other": ("#e3f3e6", "#2b7a3d"),
    "bad": ("#ffdcd8", "#c5221f"),
    "ink": "#1f2328",
    "quiet": "#59636e",
    "alarm": "#b3140f",
}
_DARK: _Colours = {
    "canvas": ("#0d1117", "#3d444d"),
    "panel": ("#1c232d", "#6e7781"),
    "good": ("#15304f", "#5aa2f0"),
    "other": ("#14361f", "#4fb36a"),
    "bad": ("#561b1b", "#ff7b72"),
    "ink": "#e9eef4",
    "quiet": "#a3adb8",
    "alarm": "#ff9089",
}
"""A pair is the fill and the edge of a box, and a line has the colour of the edge; text has one colour."""

_SANS = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif"
_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

Frames = Sequence[tuple[float, str]]
"""Times in seconds, and the declarations from which and to which an element changes between them."""


def _rules(colours: _Colours) -> str:
    rules = []
    for name, colour in colours.items():
        if isinstance(colour, str):
            rules.append(f".{name}{{fill:{colour}}}")
        else:
            rules.append(f".{name}{{fill:{colour[0]};stroke:{colour[1]}}}.{name}-line{{stroke:{colour[1]};fill:none}}")
    return "".join(rules)


class Picture:
    """A picture that grows by its parts, in the order in which they are painted.

    Args:
        width: the width; a character of size 18 is readable if 640 units are 390 pixels.
        description: the same for readers who do not see it.
        seconds: the length of the animation, which repeats.
        scale: pixels per unit on a wide screen.
    """

    def __init__(
        self, width: int, height: int, title: str, description: str, seconds: float = 0, scale: float = 1
    ) -> None:
        self.width, self.height, self.seconds, self.scale = width, height, seconds, scale
        self._head = f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>\n"
        self._parts: list[str] = []
        self._animations: dict[str, str] = {}
        self.box(1, 1, width - 2, height - 2, "canvas", radius=10)

    def text(self, x: float, y: float, words: str, kind: str = "ink", *, size: int = 18, at: str = "middle") -> None:
        """A line of text on the baseline `y`; the kind may also contain ``mono`` and ``bold``."""
        self._parts.append(
            f'<text class="{kind}" x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{at}">{escape(words)}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, kind: str = "panel", *, radius: float = 5) -> None:
        """A rectangle."""
        self._parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}"/>'
        )

    def path(self, data: str, kind: str = "panel-line", *, arrow: bool = False) -> None:
        """A line or an area; with `arrow` the last point has a head."""
        head = ' marker-end="url(#head)"' if arrow else ""
        self._parts.append(f'<path class="{kind}" d="{data}"{head}/>')

    @contextmanager
    def group(self, frames: Frames = ()) -> Iterator[None]:
        """What is drawn inside changes as `frames` say."""
        self._parts.append(f'<g class="{self._animation(frames)}">' if frames else "<g>")
        yield
        self._parts.append("</g>")

    def _animation(self, frames: Frames) -> str:
        steps = "".join(f"{100 * time / self.seconds:.4g}%{{{state}}}" for time, state in frames)
        return self._animations.setdefault(steps, f"a{len(self._animations)}")

    def __str__(self) -> str:
        moves = "".join(f"@keyframes {name}{{{steps}}}" for steps, name in self._animations.items())
        uses = "".join(
            f".{name}{{animation:{name} {self.seconds:g}s infinite linear}}" for name in self._animations.values()
        )
        still = "@media(prefers-reduced-motion:reduce){g{animation:none!important}}" if uses else ""
        style = (
            f"text{{font-family:{_SANS};fill:{_LIGHT['ink']}}}.mono{{font-family:{_MONO}}}.bold{{font-weight:700}}"
            f"rect,path{{stroke-width:1.5}}.thick{{stroke-width:3}}"
            f"{_rules(_LIGHT)}@media(prefers-color-scheme:dark){{text{{fill:{_DARK['ink']}}}{_rules(_DARK)}}}"
            f"{moves}{uses}{still}"
        )
        head = (
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path class="quiet" d="M0 0L8 4L0 8z"/></marker></defs>'
        )
        size = f'width="{self.width * self.scale:g}" height="{self.height * self.scale:g}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
            f'viewBox="0 0 {self.width} {self.height}" role="img">\n{self._head}<style>{style}</style>\n{head}\n'
            + "\n".join(self._parts)
            + "\n</svg>\n"
        )

    def save(self, file: Path) -> None:
        """Write the picture."""
        file.write_text(str(self), encoding="utf-8", newline="\n")
