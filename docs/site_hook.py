"""Adds the files of the top folder that are pages of the site, and lets links between pages lead somewhere there."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

TOP = Path(__file__).parents[1]
#: Files of the top folder that are pages of the site, by what they are called there.
TOP_PAGES = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changes.md": "CHANGELOG.md"}
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages whose text is in the top folder."""
    for page, name in TOP_PAGES.items():
        files.append(File.generated(config, page, content=(TOP / name).read_text()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to pages of the site."""
    del config, files
    uri = page.file.src_uri
    folder = "" if uri in TOP_PAGES else posixpath.join("docs", posixpath.dirname(uri))
    return _LINK.sub(lambda found: _on_site(found, folder, uri), markdown)


def _on_site(link: re.Match[str], folder: str, uri: str) -> str:
    """Give the link as the site needs it; of a file that is no page of the site only the text."""
    text, name, anchor = link[1], link[2], link[3] or ""
    path = posixpath.normpath(posixpath.join(folder, name))
    pages = {name: page for page, name in TOP_PAGES.items()}
    target = path.removeprefix("docs/") if path.startswith("docs/") else pages.get(path)
    if target is None:
        return text
    return f"[{text}]({posixpath.relpath(target, posixpath.dirname(uri) or '.')}{anchor})"
