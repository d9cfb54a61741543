"""The error tree: an error a user can cause is a `GhostsError` that says what is wrong, where, and what to do next."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

_FOLDERS = {"ghosts-sim": "sim", "ghosts-houses": "houses", "ghosts": "ghosts"}
_CHECKOUT = (Path(__file__).parents[3] / "houses" / "pyproject.toml").is_file()
"""Whether this is the repository, whose distributions pip knows by their folders, rather than an installed package."""


class GhostsError(Exception):
    """Base of every error this package raises on purpose; the command line prints it without a traceback."""


class DataError(GhostsError):
    """A file is missing, malformed or inconsistent.

    Args:
        problem: what is wrong, in one sentence.
        file: the file or folder at fault.
        record: which record in it: an index, an identifier, or words that say so themselves ("line 3").
        field: which field of the record.
        value: the offending value, quoted in the message (shortened, as JSON writes it); None is JSON's null, or a
            field that is not there.
        hint: the next command or action.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: Path | str | None = None,
        record: object = None,
        field: str | None = None,
        value: object = ...,
        hint: str | None = None,
    ) -> None:
        self.problem, self.record, self.field, self.value, self.hint = problem, record, field, value, hint
        self.file = Path(file) if file is not None else None
        where = [str(file)] if file is not None else []
        if record is not None:
            where.append(str(record) if " " in str(record) else f"record {record}")
        if field is not None:
            where.append(f"field {field!r}")
        text = f"{', '.join(where)}: {problem}" if where else problem
        if value is not ...:
            text += f" (got {quoted(value)})"
        if hint is not None:
            text += f"; {hint}"
        super().__init__(text)

    def in_file(self, file: Path) -> DataError:
        """The same error, told by a reader that knows the file."""
        details = {"record": self.record, "field": self.field, "value": self.value, "hint": self.hint}
        return DataError(self.problem, file=file, **details)  # type: ignore[arg-type]


class ConfigError(GhostsError):
    """A setting is out of range or two settings contradict each other."""


class MissingExtraError(GhostsError):
    """An optional dependency is needed and not installed. (With one argument, that is the whole message.)

    Args:
        package: what is missing.
        extra: brings it, with its distribution where that is not `ghosts`: "ghosts-houses[usd]", or "viz".
        what: needs it.
    """

    def __init__(self, package: str, extra: str = "", what: str = "") -> None:
        wanted = extra if "[" in extra else f"ghosts[{extra}]"
        text = f"{what} needs {package}, which is not installed; run: {install_command(wanted)}"
        super().__init__(text if extra else package)

    @classmethod
    def whole(cls, distribution: str, what: str) -> MissingExtraError:
        """A whole distribution is missing."""
        return cls(f"{what} belongs to {distribution}, which is not installed; run: {install_command(distribution)}")


def install_command(wanted: str) -> str:
    """How pip installs a distribution, with or without an extra.

    Example:
        >>> install_command("ghosts[viz]").startswith("pip install ")
        True
    """
    name, bracket, extra = wanted.partition("[")
    return (
        f"pip install './{_FOLDERS[name]}{bracket}{extra}' in the checkout" if _CHECKOUT else f"pip install '{wanted}'"
    )


class UnknownNameError(GhostsError, LookupError):
    """A name (scan, viewpoint, split, preset, command) does not exist; suggests the nearest that do.

    With one argument, that is the whole message: libraries that re-raise (Gymnasium, multiprocessing) rely on it.
    """

    def __init__(
        self, kind: str, name: str | None = None, options: Iterable[str] = (), where: str | None = None
    ) -> None:
        place = f" in {where}" if where else ""
        text = f"unknown {kind} {name!r}{place}{did_you_mean(name, options)}" if name is not None else kind
        super().__init__(text)

    def __str__(self) -> str:  # LookupError's subclasses would otherwise print the repr
        return str(self.args[0])


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """Return `"; did you mean 'x'?"`, or the whole list when it is short, or an empty string.

    Example:
        >>> did_you_mean("trian", ["train", "eval"])
        "; did you mean 'train'?"
    """
    options = sorted(set(options))
    import difflib

    near = difflib.get_close_matches(name, options, n=3, cutoff=0.6)
    if near:
        return "; did you mean " + " or ".join(repr(option) for option in near) + "?"
    if 0 < len(options) <= 12:
        return "; choose one of " + ", ".join(options)
    return ""


def quoted(value: object) -> str:
    """A value for a message: as a user's file or command has it, shortened.

    Example:
        >>> quoted(None), quoted("x"), quoted([True, None])
        ('nothing', "'x'", '[true, null]')
    """
    text = _json(value) if isinstance(value, (bool, list, tuple, dict)) else repr(value)
    text = "nothing" if value is None else str(value) if isinstance(value, Path) else text
    return text if len(text) <= 80 else text[:79] + "…"


def _json(value: object) -> str:
    """As the user's file has it, rather than as Python does; Python's way where JSON has none."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return repr(value)
