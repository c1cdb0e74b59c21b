"""What a package index shows: README.md, whose links lead somewhere from there too, and the project's addresses."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

TOP = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
URLS: dict[str, str] = PYPROJECT["project"]["urls"]
BASE = f"{URLS['Repository']}/blob/main/"
README = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
LINK = re.compile(r"(!?)\[[^\]]*\]\(([^)\s]+)\)")


def shown() -> str:
    """Return the text that the build makes of README.md."""
    text = "".join((TOP / fragment["path"]).read_text() for fragment in README["fragments"])
    for substitution in README["substitutions"]:
        text = re.sub(substitution["pattern"], substitution["replacement"], text)
    return text


def test_no_link_is_relative() -> None:
    """Links to pages and to pictures are absolute."""
    relative = LINK.findall((TOP / "README.md").read_text())
    absolute = LINK.findall(shown())

    assert [target for _, target in absolute if not target.startswith("https://")] == []
    assert len(absolute) == len(relative)
    assert "<img" not in shown()
    assert "href=" not in shown()


def test_links_lead_to_files_of_the_repository() -> None:
    """A picture to the file itself."""
    targets = [
        (is_picture, target.removeprefix(BASE)) for is_picture, target in LINK.findall(shown()) if BASE in target
    ]

    assert targets
    assert [target for is_picture, target in targets if bool(is_picture) != target.endswith("?raw=true")] == []
    files = [target.removesuffix("?raw=true").partition("#")[0] for _, target in targets]
    assert [file for file in files if not (TOP / file).exists()] == []


def test_all_addresses_are_of_one_repository() -> None:
    """Pages and folders that they name exist."""
    assert [url for url in URLS.values() if not url.startswith(URLS["Repository"])] == []
    named = [re.sub(r".*/(blob|tree)/main/", "", url) for url in URLS.values() if "/main/" in url]
    assert named
    assert [name for name in named if not (TOP / name).exists()] == []
