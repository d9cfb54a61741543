"""The `ghosts` command: one module of this package per command, found by name, imported only when it is asked for."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import shutil
import sys
import textwrap
from io import TextIOWrapper
from pathlib import Path

from ghosts import __version__
from ghosts.errors import GhostsError, did_you_mean


def names() -> list[str]:
    """Names of all commands."""
    return [item.name for item in pkgutil.iter_modules([str(Path(__file__).parent)]) if not item.name.startswith("_")]


def commands() -> dict[str, str]:
    """Command names and their one-line help (the first line of each module's docstring)."""
    sources = {name: (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8") for name in names()}
    return {name: (ast.get_docstring(ast.parse(source)) or "").split("\n")[0] for name, source in sources.items()}


def main(arguments: list[str] | None = None) -> None:
    """Run `ghosts COMMAND …`; exits with 2 on a wrong word, and with 1 on a `GhostsError`, after its message."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a character shows another; a table must not be lost for one of them.
            stream.reconfigure(errors="replace")
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        _print_help(commands())
        return
    name, rest = arguments[0], arguments[1:]
    if name in ("--version", "version"):
        print(f"ghosts {__version__}")
        return
    if name not in names():
        nearest = did_you_mean(name, names())
        print(f"ghosts: unknown command {name!r}{nearest} (ghosts --help lists them)", file=sys.stderr)
        raise SystemExit(2)
    try:
        importlib.import_module(f"ghosts.cli.{name}").main(rest)
    except GhostsError as error:
        print(f"ghosts {name}: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except OSError as error:
        # A disk or a folder that refuses outside the package's own writers (logs, films, sockets).
        if error.strerror is None:
            raise
        where = f"{error.filename}: " if error.filename is not None else ""
        print(f"ghosts {name}: {where}{error.strerror}", file=sys.stderr)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        print(f"ghosts {name}: interrupted; the same command goes on where it stopped", file=sys.stderr)
        raise SystemExit(130) from None


def _print_help(known: dict[str, str]) -> None:
    width = max((len(name) for name in known), default=0)
    wide = max(60, shutil.get_terminal_size((100, 24)).columns)
    print("usage: ghosts COMMAND [options]      (ghosts COMMAND --help lists a command's options)\n")
    for name, line in known.items():
        print(textwrap.fill(f"  {name:<{width}}  {line}", wide, subsequent_indent=" " * (width + 4)))
