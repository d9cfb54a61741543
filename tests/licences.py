"""Writes docs/licences.md: what the package needs, and under which licence, from the metadata of what is installed.

Run `python tests/licences.py` after dependencies changed.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "licences.md"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
# Optional packages of which nothing is installed with the tests: as the project's own files state it.
_ELSEWHERE = {
    "timm": ("Apache-2.0", "https://github.com/huggingface/pytorch-image-models"),
    "rerun-sdk": ("MIT OR Apache-2.0", "https://www.rerun.io"),
    "embreex": ("BSD-2-Clause", "https://github.com/trimesh/embreex"),
    "usd-core": ("LicenseRef-TOST-1.0", "https://openusd.org"),
}


def dependencies() -> dict[str, list[str]]:
    """Names of the packages that the distributions and the repository ask for, by what brings them."""
    found: dict[str, list[str]] = {}
    for folder in ("sim", "houses", "ghosts"):
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        groups = {project["name"]: project["dependencies"]}
        groups |= {f"{project['name']}[{extra}]": lines for extra, lines in project["optional-dependencies"].items()}
        for group, lines in groups.items():
            names = (match.group() for line in lines if (match := _NAME.match(line)))
            found[group] = [name for name in names if not name.startswith("ghosts")]
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    for group, lines in groups.items():
        found[f"{group} (the repository's own)"] = [match.group() for line in lines if (match := _NAME.match(line))]
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
        "The table lists the packages that our distributions depend on directly, with the licence that each states, in",
        "its own words. The second column says what brings the package: a distribution, or one of its extras.",
        "",
        "| package | brought by | licence | home |",
        "| --- | --- | --- | --- |",
    ]
    groups = dependencies()
    for name in sorted({name for names in groups.values() for name in names}):
        text, home = licence(name) or _ELSEWHERE[name]
        brought = ", ".join(group for group, names in groups.items() if name in names)
        lines.append(f"| {name} | {brought} | {text} | {home} |")
    lines += [
        "",
        "Two libraries are copied into the repository:",
        "",
        "- three.js (MIT, `ghosts/src/ghosts/view/static/vendor/three.LICENSE`) draws the viewer's houses. It is",
        "  installed with Ghosts. The copied file is npm's `three` 0.170.0, unchanged.",
        "- KaTeX (MIT, `docs/assets/katex/LICENSE`) draws the formulas of these pages. It is not installed with",
        "  Ghosts.",
        "",
        "Three files about English words come with Ghosts: vectors of GloVe 6B (public domain, PDDL 1.0), a",
        "thesaurus made from WordNet 3.0, whose licence is in `ghosts/src/ghosts/weights/thesaurus.LICENSE`, and the",
        "Moby Thesaurus II (public domain), and a table of which words follow which in R2R's instructions, for",
        "non-commercial research too.",
        "",
        "Ghosts contains none of the data sets Matterport3D, R2R and REVERIE. They have terms of their own. The",
        "ImageNet weights of ResNet-34, which `ghosts weights` fetches, come from torchvision (BSD-3-Clause).",
        "",
        "`python tests/licences.py` writes this page. A test fails if a dependency is missing here.",
        "",
        "Next: [shipped weights](weights.md), [reliability](reliability.md).",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)} written")
