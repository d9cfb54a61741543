"""A word list of our own over the pages and over every string of the package: "per", not "a", and no idle words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = sorted((ROOT / "src" / "ghosts").rglob("*.py"))

COUNTED = """ms s seconds minutes hours days bytes kB MB GB m cm mm m² metres pixels px texels % fps frames views images
pictures panoramas viewpoints cells points tiles rows columns values numbers entries channels words tokens labels goals
paths moves steps looks episodes instructions iterations walks doors rooms objects things houses buildings files lines
calls threads processes workers samples panels pages scores once twice"""
WHOLE = """iteration house view viewpoint frame panorama batch step second minute hour day file row column side building
core instruction episode path process word label cell pixel texel image picture room door axis call thread worker
machine device run seed split storey scan walk walker look map page line window query request world object metre"""
ONE = re.compile(rf" an? (?:{'|'.join(WHOLE.split())})\b(?!'s)")
MANY = re.compile(
    rf"(?<![\w-])(?:{'|'.join(map(re.escape, COUNTED.split()))}|(?:one|two|three|\d+) (?!in|of|for)\w+)$", re.IGNORECASE
)
IDLE = re.compile(r"\blikewise\b|\bat hand\b", re.IGNORECASE)
ENGLISH = (  # where "a" is no "per"
    "Who walks an episode",
    "calls a cell observed",
    "scores a walk while",
    "around its viewpoints a room",
    "With images a house takes",
)


def stops(text: str) -> Iterator[str]:
    """Places of a text that the word list does not allow, with some words around them."""
    text = " ".join(text.split())
    for phrase in ENGLISH:
        text = text.replace(phrase, "")
    places = [found for found in ONE.finditer(text) if MANY.search(text[max(0, found.start() - 30) : found.start()])]
    for found in (*places, *IDLE.finditer(text)):
        yield f"… {text[max(0, found.start() - 30) : found.end() + 30]} …"


def test_the_list_knows_a_from_per() -> None:
    for bad in ("12 ms a frame", "one file a building", "Words an instruction, mean", "twice a second", "at hand"):
        assert list(stops(bad)), bad
    for good in ("12 ms per frame", "one of a room's walls", "files a building's tiles", "who walks in a house"):
        assert not list(stops(good)), good


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page: Path) -> None:
    assert not list(stops(page.read_text(encoding="utf-8")))


def test_docstrings_help_and_messages() -> None:
    found = []
    for module in MODULES:
        source = module.read_text(encoding="utf-8")
        if not list(stops(re.sub(r'"\s+f?"', "", source))):  # strings over two lines as one
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found += [f"{module.relative_to(ROOT)}:{node.lineno}: {stop}" for stop in stops(node.value)]
    assert not found, "\n".join(found)
