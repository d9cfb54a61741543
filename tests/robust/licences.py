"""Writes docs/licences.md: what the package needs, and under which licence, from the metadata of what is installed.

Run `python tests/robust/licences.py` after dependencies changed.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "docs" / "licences.md"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
# Optional packages of which nothing is installed with the tests: as the project's own files state it.
_ELSEWHERE = {
    "rerun-sdk": ("MIT OR Apache-2.0", "https://www.rerun.io"),
    "embreex": ("BSD-2-Clause", "https://github.com/trimesh/embreex"),
    "usd-core": ("LicenseRef-TOST-1.0", "https://openusd.org"),
}


def dependencies() -> dict[str, list[str]]:
    """Names of the packages asked for in pyproject.toml, by group."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"always": project["dependencies"], **project["optional-dependencies"]}
    found = {}
    for group, lines in groups.items():
        names = (_NAME.match(line) for line in lines)
        found[group] = [name.group() for name in names if name is not None]
    return found


def licence(name: str) -> tuple[str, str] | None:
    """Licence and home page of an installed package; None where it is not installed."""
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return None
    classifiers = [line.rsplit(" :: ", 1)[1] for line in about.get_all("Classifier", []) if line.startswith("License")]
    text = about.get("License-Expression") or ", ".join(classifiers)
    if not text:  # some put the licence's whole text there
        text = (about.get("License") or "not stated").strip().splitlines()[0][:60]
    pages = dict(line.split(", ", 1) for line in about.get_all("Project-URL", []) if ", http" in line)
    kinds = ("homepage", "home", "repository", "source", "source code", "github", "documentation")
    named = {kind.lower(): address for kind, address in pages.items()}
    return text, about.get("Home-page") or next((named[kind] for kind in kinds if kind in named), "")


def page() -> str:
    """The whole document."""
    lines = [
        "# Licences",
        "",
        "Ghosts itself is under the MIT licence (`LICENSE`). Two of the [shipped weights](weights.md),",
        "`landmarks-agent` and `landmarks-speaker`, were trained on R2R, a set of directions through real buildings.",
        "Like R2R's data, they are for non-commercial research.",
        "",
        "The table lists the packages that Ghosts depends on directly, with the licence that each states, in its own",
        "words. *Always* means that `pip install .` brings the package. Any other word names the extra that brings it:",
        "`pip install '.[web]'` for `web`.",
        "",
        "| package | for | licence | home |",
        "| --- | --- | --- | --- |",
    ]
    for group, names in dependencies().items():
        for name in sorted(names):
            text, home = licence(name) or _ELSEWHERE[name]
            lines.append(f"| {name} | {group} | {text} | {home} |")
    lines += [
        "",
        "Two libraries are copied into the repository:",
        "",
        "- three.js (MIT, `src/ghosts/view/static/vendor/three.LICENSE`) draws the viewer's houses. It is installed",
        "  with Ghosts. The copied file is npm's `three` 0.170.0, unchanged.",
        "- KaTeX (MIT, `docs/assets/katex/LICENSE`) draws the formulas of these pages. It is not installed with",
        "  Ghosts.",
        "",
        "Three files about English words come with Ghosts: vectors of GloVe 6B (public domain, PDDL 1.0), a",
        "thesaurus made from WordNet 3.0, whose licence is in `src/ghosts/weights/thesaurus.LICENSE`, and the Moby",
        "Thesaurus II (public domain), and a table of which words follow which in R2R's instructions, for",
        "non-commercial research too.",
        "",
        "Ghosts contains none of the data sets Matterport3D, R2R and REVERIE. They have terms of their own. The",
        "ImageNet weights of ResNet-34, which `ghosts weights` fetches, come from torchvision (BSD-3-Clause).",
        "",
        "`python tests/robust/licences.py` writes this page. A test fails if a dependency of `pyproject.toml` is",
        "missing here.",
        "",
        "Next: [shipped weights](weights.md), [reliability](reliability.md).",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)} written")
