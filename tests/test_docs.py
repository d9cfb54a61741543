"""What the README and the docs say is true of the code: blocks run, links and commands exist, the site builds."""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from ghosts_sim.cli import commands, main
from makers import add_landmarks, make_root

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^    .*\n)+", re.MULTILINE)
INLINE = re.compile(r"`([^`]+)`")
GHOSTS = re.compile(r"(?:^|\s)ghosts ([a-z].*)")


def page_name(page: Path) -> str:
    return page.name


@pytest.mark.parametrize("page", [page for page in PAGES if PYTHON.search(page.read_text())], ids=page_name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    add_landmarks(make_root(tmp_path / "ROOT"))  # what pages call ROOT
    paths = make_root(tmp_path / "runs" / "demo" / "world-299") / "r2r"  # what `make demo` leaves
    (paths / "R2R_train.json").rename(paths / "R2R_val_unseen.json")
    names: dict[str, object] = {}
    for block in PYTHON.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", [*PAGES, *REFERENCE], ids=page_name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which does not exist"


def command_lines(text: str) -> list[list[str]]:
    """Words of every `ghosts …` command in shell blocks, indented blocks and inline code of a page."""
    lines = [body for kind, body in FENCED.findall(text) if kind in ("", "sh", "bash", "console")]
    text = FENCED.sub("", text)
    lines += INDENTED.findall(text)
    lines = [line for block in lines for line in block.replace("\\\n", " ").splitlines()]
    lines += [" ".join(code.split()) for code in INLINE.findall(INDENTED.sub("", text))]
    found = (GHOSTS.search(line.split(" #")[0]) for line in lines)
    return [match.group(1).translate(str.maketrans("[]|;", "    ")).split() for match in found if match]


@cache
def help_of(*words: str) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return text.getvalue()


def test_commands_are_found_in_every_kind_of_block() -> None:
    page = "`ghosts view\n--data A`\n\n```sh\nx=1 ghosts tiles \\\n    --data B # why\n```\n\n    ghosts doctor C\n"
    assert sorted(command_lines(page)) == [["doctor", "C"], ["tiles", "--data", "B"], ["view", "--data", "A"]]
    assert command_lines("```text\nghosts said: no\n```\n") == []


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("page", [page for page in PAGES if command_lines(page.read_text())], ids=page_name)
def test_commands_and_their_options_exist(page: Path) -> None:
    known = commands()
    for words in command_lines(page.read_text()):
        line = "ghosts " + " ".join(words)
        assert words[0] in known, f"{page.name}: {line}"
        what = words[:1]
        if words[0] in ("train", "eval", "bench") and len(words) > 1 and not words[1].startswith("-"):
            what = words[:2]
        if what[0] == "train" and "--preset" in words and words[words.index("--preset") + 1] != "NAME":
            what = [*what, "--preset", words[words.index("--preset") + 1]]
        text = help_of(*what)
        assert "usage:" in text, f"{page.name}: {line}"
        for flag in words:
            if flag.startswith("--") and flag not in ("--help", "--preset"):
                assert re.search(rf"{re.escape(flag)}(?![\w.-])", text), f"{page.name}: {line} has no option {flag}"


def test_the_page_of_commands_is_up_to_date() -> None:
    maker = runpy.run_path(str(ROOT / "docs" / "reference" / "commands.py"))
    assert maker["PAGE"].read_text(encoding="utf-8") == maker["page"](), "run python docs/reference/commands.py"


def test_the_site_builds_and_needs_no_network(tmp_path: Path) -> None:
    for package in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(package, reason="the site is built with: pip install '.[docs]'")
    site = tmp_path / "site"
    # Without ruff, which would be started for each of 500 signatures to break their lines; without the theme's index
    # of words, which takes a quarter of the time, and without colours in signatures.
    mkdocs = "import gc, sys; gc.disable(); sys.modules['ruff'] = None; from material.plugins.search import plugin;"
    mkdocs += "plugin.SearchIndex.add_entry_from_context = lambda *_: None; import mkdocstrings;"
    mkdocs += "mkdocstrings.Highlighter.highlight = lambda _, text, *__, **___: f'<pre>{text}</pre>';"
    mkdocs += "from mkdocs.__main__ import cli; cli()"
    run = subprocess.run(
        [sys.executable, "-c", mkdocs, "build", "--strict", "--site-dir", str(site)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    pages = sorted(site.rglob("*.html"))
    assert {page.stem for page in PAGES if page.parent.name == "docs"} <= {page.stem for page in pages}
    loads = re.compile(
        r"<(?:script|img|iframe)[^>]*\ssrc=\"(?:https?:)?//|<link[^>]*stylesheet[^>]*href=\"(?:https?:)?//"
    )
    for page in pages:
        assert not loads.search(page.read_text(encoding="utf-8")), f"{page.name} loads something from elsewhere"
    assert "arithmatex" in (site / "model.html").read_text(encoding="utf-8")
    assert "propagate" in (site / "reference" / "belief.html").read_text(encoding="utf-8")
