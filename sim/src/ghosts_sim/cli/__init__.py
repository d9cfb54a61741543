"""The `ghosts` command. Every distribution adds its subcommands as entry points of the group `ghosts.commands`.

A subcommand is a module with a function `main(arguments)`; it is imported only when it is asked for. The first line of
its docstring is its help.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import shutil
import sys
import textwrap
from importlib.metadata import PackageNotFoundError, entry_points, version
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from ghosts_sim.errors import GhostsError, MissingExtraError, did_you_mean

GROUP = "ghosts.commands"
ELSEWHERE = {
    "ghosts-houses": ("world",),
    "ghosts": (
        *("backbone", "belief", "demo", "doctor", "episodes", "eval", "export", "film", "report", "runs", "serve"),
        *("speak", "submit", "tiles", "track", "train", "view", "weights"),
    ),
}
"""Commands of the distributions that build on this one, to say which is missing."""
KINDS = {
    "try": ("demo", "view", "world"),
    "look": ("belief", "doctor", "episodes", "film", "report", "runs", "weights"),
    "on a robot": ("serve", "track"),
    "train and score": ("backbone", "eval", "export", "speak", "submit", "train"),
    "data": ("landmarks", "mattersim", "prepare", "tiles"),
}
"""What commands are for, in the order of the help; those of other packages come last."""
RESUMED = frozenset({"backbone", "prepare", "tiles", "train", "world"})
"""Commands that go on where they were stopped."""


def modules() -> dict[str, str]:
    """Names of the commands that are installed, in alphabetical order, and their modules."""
    found: Any = entry_points()
    # Before Python 3.10 they are a dictionary of lists, and an item may be there twice.
    items = found.select(group=GROUP) if hasattr(found, "select") else found.get(GROUP, ())
    return dict(sorted((item.name, item.value) for item in items))


def commands() -> dict[str, str]:
    """Command names and their one-line help."""
    return {name: _first_line(module) for name, module in modules().items()}


def _first_line(module: str) -> str:
    """The first line of a module's docstring, without importing it: some import torch, which takes seconds."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    return (ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or "").split("\n")[0]


def main(arguments: list[str] | None = None) -> None:
    """Run `ghosts COMMAND …`; exits with 2 on a wrong word, and with 1 on a `GhostsError`, after its message."""
    try:
        _main(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Who read has gone (`| head`). Python would flush again at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(128 + 13) from None


def _main(arguments: list[str] | None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a character shows another; a table must not be lost for one of them.
            stream.reconfigure(errors="replace")
    if arguments[:1] == ["completion"]:
        print(_completion(arguments[1] if len(arguments) > 1 else "", modules()))
        return
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        _print_help(commands())
        return
    name, rest = arguments[0], arguments[1:]
    if name in ("--version", "version"):
        print(", ".join(f"{item} {version(item)}" for item in ("ghosts-sim", *ELSEWHERE) if _is_installed(item)))
        return
    known = modules()
    if name not in known:
        print(f"ghosts: {_unknown(name, known)}", file=sys.stderr)
        raise SystemExit(2)
    try:
        importlib.import_module(known[name]).main(rest)
    except GhostsError as error:
        print(f"ghosts {name}: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        # A disk or a folder that refuses outside the package's own writers (logs, films, sockets).
        if error.strerror is None:
            raise
        where = f"{error.filename}: " if error.filename is not None else ""
        print(f"ghosts {name}: {where}{error.strerror}", file=sys.stderr)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        hint = "; the same command goes on where it stopped" if name in RESUMED else ""
        print(f"ghosts {name}: interrupted{hint}", file=sys.stderr)
        raise SystemExit(130) from None


def _unknown(name: str, known: dict[str, str]) -> str:
    """What is said of a command that is not there."""
    for distribution, names in ELSEWHERE.items():
        if name in names:
            return str(MissingExtraError.whole(distribution, f"the command {name!r}"))
    return f"unknown command {name!r}{did_you_mean(name, known)} (ghosts --help lists them)"


def _is_installed(distribution: str) -> bool:
    try:
        return bool(version(distribution))
    except PackageNotFoundError:
        return False


def _print_help(known: dict[str, str]) -> None:
    width = max((len(name) for name in known), default=0)
    wide = max(60, shutil.get_terminal_size((100, 24)).columns)
    print("usage: ghosts COMMAND [options]      (ghosts COMMAND --help lists a command's options)\n")
    named = {name for names in KINDS.values() for name in names}
    for kind, names in {**KINDS, "more": tuple(name for name in known if name not in named)}.items():
        here = [name for name in names if name in known]
        if here:
            print(f"{kind}:")
        for name in here:
            print(textwrap.fill(f"  {name:<{width}}  {known[name]}", wide, subsequent_indent=" " * (width + 4)))
    print('\nTab completes commands, options and files after: eval "$(ghosts completion bash)"   (or zsh)')


_SCRIPT = """_ghosts() {
  local words
  if [ "$COMP_CWORD" = 1 ]; then words="COMMANDS"; else words="$(ghosts completion "${COMP_WORDS[1]}")"; fi
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}") $(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o filenames -F _ghosts ghosts"""


def _completion(what: str, known: dict[str, str]) -> str:
    """A script for a shell, or the options of a command, as its module's text names them."""
    if what in ("bash", "zsh"):
        start = "autoload -Uz bashcompinit && bashcompinit\n" if what == "zsh" else ""
        return start + _SCRIPT.replace("COMMANDS", " ".join(known))
    if what not in known:
        print("usage: ghosts completion bash   (or zsh)", file=sys.stderr)
        raise SystemExit(2)
    spec = importlib.util.find_spec(known[what])
    if spec is None or spec.origin is None:
        return ""
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    fields = [
        item.target.id
        for part in ast.walk(tree)
        if isinstance(part, ast.ClassDef)
        for item in part.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]
    return " ".join(f"--{name.replace('_', '-')}" for name in fields if not name.startswith("_"))
