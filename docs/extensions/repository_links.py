# SPDX-License-Identifier: BSD-2-Clause
"""Links from a page to files of the repository that are not pages, such as README.md or a source file.

They are relative, so that they work where the repository is browsed. In the site a link goes

- to the page that includes the file, by the configuration value ``repository_pages``;
- otherwise to the file at ``repository_url``, the address in `pyproject.toml`;
- without such an address, nowhere: only its text remains.

A page that includes such a file has its links and images, which are relative to the root of the repository.
"""

from __future__ import annotations

import os
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class RepositoryLinks(SphinxTransform):
    """Replaces the links that MyST-Parser makes for files outside of the folder of the pages."""

    default_priority = 200  # After parsing, before references are resolved.

    def apply(self, **kwargs: Any) -> None:
        """Replace them."""
        del kwargs
        for kind in (addnodes.download_reference, addnodes.pending_xref):
            for link in list(self.document.findall(kind)):
                if path := self._path(link):
                    link.replace_self(self._target(path, link))
        if self._is_included:
            for image in self.document.findall(nodes.image):
                image["uri"] = os.path.relpath(image["uri"], os.path.basename(self.app.srcdir))

    @property
    def _is_included(self) -> bool:
        return self.env.docname in self.config.repository_pages.values()

    def _path(self, link: nodes.Element) -> str | None:
        """The path in the repository of the file that a link leads to; None if that is a page, or no file."""
        if link.get("reftype") != "myst" or link.get("refdomain") not in (None, "doc"):
            return None
        root = os.path.dirname(self.app.srcdir)
        base = os.path.dirname(self.env.doc2path(link["refdoc"]))
        if link["refdomain"] == "doc":
            # The name of a page, relative to the folder of the pages, without suffix.
            base, target = str(self.app.srcdir), f"{link['reftarget']}.md"
            if link["reftarget"] in self.env.found_docs:
                return None
        else:
            target = link["reftarget"]
            if self._is_included:
                base = root
        path = os.path.normpath(os.path.join(base, target))
        return os.path.relpath(path, root).replace(os.sep, "/") if os.path.exists(path) else None

    def _target(self, path: str, link: nodes.Element) -> nodes.Node:
        folder = os.path.basename(self.app.srcdir)
        page = self.config.repository_pages.get(path) or os.path.relpath(os.path.splitext(path)[0], folder)
        if page in self.env.found_docs:
            return addnodes.pending_xref(
                "",
                *link.children,
                refdomain="std",
                reftype="doc",
                reftarget=f"/{page}",
                refdoc=self.env.docname,
                refexplicit=True,
                refwarn=True,
            )
        if self.config.repository_url:
            address = f"{self.config.repository_url.rstrip('/')}/blob/main/{path}"
            return nodes.reference("", "", *link.children, refuri=address)
        return nodes.inline("", "", *link.children)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_config_value("repository_pages", {}, "env", types=[dict])
    app.add_config_value("repository_url", "", "env", types=[str])
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
