"""One grammar of options over all commands."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from ghosts_sim.cli import commands, main
from ghosts_sim.cli._options import names_of, wrapped

KINDS = {
    "bench": ("simulator", "prepare", "houses", "model", "growth", "viewer", "buildings"),
    "eval": ("goal", "vln", "ce"),
    "train": ("goal", "vln", "speaker"),
}
LEAFS = [[name, *kind] for name in commands() for kind in ([(), *((item,) for item in KINDS.get(name, ()))])]


@pytest.mark.parametrize("words", [[], *LEAFS], ids=" ".join)
def test_help_fits_and_has_no_noise(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit, match="0") if words else nullcontext():
        main([*words, "--help"])
    text = capsys.readouterr().out
    lines = [line for line in text.splitlines() if not line.startswith("usage:")]
    assert [line for line in lines if len(line) > 100] == []
    assert not re.search(r"None\}|default:\s+(│\s+│\s+)?(None|'')", text)
    # Several values are an option given several times: no lists of words, no commas.
    assert not re.search(r"\[\w+ \[|commas", text)
    named = set(re.findall(r"│ --([a-z]+) ", text))
    assert not named & {"root", "splits", "scans", "kinds", "baselines", "runs", "episodes"}


def test_a_missing_root_is_said_before_torch_is_read(tmp_path: object) -> None:
    commands = [
        ["eval", "goal", "--run", "houses-agent"],
        ["train", "goal"],
        ["film", "--data", "data", "--run", "houses-agent", "--out", "film.mp4"],
    ]
    told = f"import sys; from ghosts_sim.cli import main\nfor words in {commands!r}:\n try: main(words)\n"
    told += " except SystemExit: "
    told += "print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], cwd=str(tmp_path), capture_output=True, text=True, check=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("ghosts ")]
    assert len(lines) == len(commands)
    for line, words in zip(lines, commands):
        assert line.startswith(f"ghosts {words[0]}: data: no such folder")
    assert done.stdout == "False\n" * len(commands)


def test_tab_completes_as_the_page_of_commands_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    program = tmp_path / "ghosts"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from ghosts_sim.cli import main; main()" "$@"\n')
    program.chmod(0o755)
    lines = page.split("```sh\n")[1].split("```")[0]
    for words, found in (("ghosts eval g", "goal"), ("ghosts report --run X --re", "--record")):
        asked = f'COMP_WORDS=({words}) COMP_CWORD={len(words.split()) - 1}; _ghosts; echo "${{COMPREPLY[*]}}"'
        told = subprocess.run(
            ["bash", "-c", f"PATH={tmp_path}:$PATH; {lines}\n{asked}"], capture_output=True, text=True, check=True
        )
        assert told.stdout.split() == [found]


def test_names_given_with_a_repeated_option() -> None:
    usual = ("random", "stop")
    assert names_of((), usual) == ["random", "stop"]
    assert names_of(("stop",), usual) == ["stop"]
    assert names_of(("none",), usual) == []


def test_wrapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = "A line that\nwent on here.\n\nlist:\n  entry   of a list that does not fit in forty columns"
    assert wrapped(text, 10) == (
        " A line that went on here.\n list:\n  entry   of a list that does not fit in\n          forty columns"
    )
