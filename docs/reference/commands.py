"""Write docs/reference/cli.md: every command with its options, as its own parser tells them.

`python docs/reference/commands.py`; `tests/test_docs.py` checks that the page is up to date.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from ghosts.cli.train import DEFAULTS
from ghosts_sim.cli import commands, main

PAGE = Path(__file__).with_name("cli.md")
KINDS = {
    "bench": ("simulator", "prepare", "houses", "model", "growth", "viewer", "buildings"),
    "eval": ("goal", "vln", "ce"),
    "train": tuple(DEFAULTS),
}
INTRODUCTION = """# Commands

`ghosts COMMAND --help` prints the same.
This page is made by `python docs/reference/commands.py`.
An option marked *repeatable* can be given several times: `--run A --run B`.

These pages explain the terms: [data](../data.md#a-data-root) (data root, scan, viewpoint, split, R2R),
[from images to maps](../images.md) (backbone, tile), [the model](../model.md) (belief, filter, agent and filter steps,
candidate), [acting](../navigation.md) (planner, seq2seq), [the speaker](../speaker.md), [landmarks](../landmarks.md).
*Paper* means [Anderson et al. 2019](https://arxiv.org/abs/1907.02022), and *released code* its authors' code.
A *run* is one training, and a *checkpoint* is a file of weights in its folder.
*Shipped weights* come with the package; give their name, as in `--run houses-agent`. `ghosts runs` lists both.

In bash, these lines complete commands and options with Tab (put them into `~/.bashrc`):

```sh
_ghosts() {
    local help="$(ghosts ${COMP_WORDS[@]:1:COMP_CWORD-1} --help 2>/dev/null)"
    local told="$(grep -oE '^  [a-z]+|• [a-z]+|--[a-z.-]+[a-z]' <<< "$help" | tr -d • | sort -u)"
    COMPREPLY=($(compgen -W "$told" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _ghosts ghosts
```
"""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for name, about in commands().items():
        parts.append(f"## ghosts {name}\n\n{about}\n")
        for words in [(name, kind) for kind in KINDS[name]] if name in KINDS else [(name,)]:
            text = help_of(*words)
            if len(words) > 1:
                parts.append(f"### ghosts {' '.join(words)}\n\n{description(text)}\n")
            rows = [f"| `{flags}` | {meaning} |" for flags, meaning in options(text)]
            parts.append("\n".join(["| option | meaning |", "| --- | --- |", *rows, ""]))
    return "\n".join(parts)


def help_of(*words: str) -> str:
    """What `ghosts … --help` prints, on lines of 100 characters and without colour."""
    text = io.StringIO()
    with (
        mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}),
        contextlib.redirect_stdout(text),
        contextlib.suppress(SystemExit),
    ):
        main([*words, "--help"])
    return text.getvalue()


def description(text: str) -> str:
    """What a help text says between its usage and its options."""
    return " ".join(text.split("\n\n")[1].split())


def options(text: str) -> Iterator[tuple[str, str]]:
    """Flags and meaning of every option in a help text."""
    found: list[list[str]] = []
    for line in text.splitlines():
        line = line[2:].rstrip() if line.startswith("  ") else ""  # the description has one space
        if re.match(r"--?[a-z]|[A-Z]+  ", line):
            flags, _, meaning = line.partition("  ")
            found.append([flags, meaning.strip()])
        elif line.startswith("  ") and found:
            found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
    for flags, meaning in found:
        if "--help" not in flags:
            yield flags.replace("|", "\\|"), meaning.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
