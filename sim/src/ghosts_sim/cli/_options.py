"""One grammar for the options of all commands: what may be given several times is repeated; data roots come first."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, FrozenSet, Tuple, TypeVar, Union, get_args, get_origin, get_type_hints

import tyro
from typing_extensions import Annotated  # of Python 3.8; tyro brings it
from tyro.constructors import ConstructorRegistry, StructConstructorSpec, StructFieldSpec, StructTypeInfo

from ghosts_sim.errors import ConfigError, UnknownNameError
from ghosts_sim.values import require

GRAMMAR = (tyro.conf.DisallowNone, tyro.conf.UseAppendAction)
"""None is never a value to type. An option that takes several values is repeated, without commas or spaces."""
T = TypeVar("T")


def parse(options: type[T], command: str, arguments: list[str], about: str | None, *, sound: bool = True) -> T:
    """Options of `ghosts COMMAND`.

    Args:
        options: dataclass of them; its field `data` names data roots.
        command: its name, with the kind where it has several.
        arguments: after the name.
        about: for the help.
        sound: whether its data roots must be such.

    Raises:
        DataError: there is no such data root. It is said before torch is imported, which takes seconds.
    """
    found: T = parse_form(options, command, arguments, about)
    if sound:
        check_roots(getattr(found, "data", None))
    return found


Hidden = FrozenSet[Tuple[type, str]]
"""Settings that are not offered: the dataclass and the name of each."""


def parse_form(form: Any, command: str, arguments: list[str], about: str | None, hidden: Hidden = frozenset()) -> Any:
    """Options in a form that tyro reads, such as a dataclass annotated with its defaults; roots are not looked at."""
    with _Quiet(hidden):
        found = tyro.cli(form, args=arguments, prog=f"ghosts {command}", description=wrapped(about, 27), config=GRAMMAR)
    _check_numbers(found)
    return found


def _check_numbers(options: Any) -> None:
    """Refuse whole numbers that libraries written in C cannot hold, before anything is begun."""
    for field in fields(options) if is_dataclass(options) else ():
        value, most = getattr(options, field.name), 2**63 if "seed" in field.name else 2**31
        if is_dataclass(value):
            _check_numbers(value)
        elif isinstance(value, int):
            require(-most <= value < most, f"--{field.name.replace('_', '-')} must lie in ±{most}", value)


def parse_kind(
    command: str,
    verb: str,
    kinds: Mapping[str, Any],
    arguments: list[str],
    about: str,
    likely: str = "goal",
    hidden: Mapping[str, Hidden] = MappingProxyType({}),
) -> Any:
    """Options of `ghosts COMMAND KIND …`.

    Args:
        command: its name.
        verb: what it does, for messages.
        kinds: options of each kind, annotated as tyro's subcommands.
        arguments: after the command's name; none asks for help.
        about: for the command's own help.
        likely: kind to propose where options come first.
        hidden: settings of each kind that are not offered.

    Raises:
        UnknownNameError: no such kind.
        ConfigError: options come before the kind.
    """
    word = arguments[0] if arguments else "--help"
    if word in kinds:
        # On its own: from a union, tyro's hints would name the kind without the command before it.
        form = kinds[word]
        whole = f"{command} {word}"
        found = parse_form(form, whole, arguments[1:], get_args(form)[0].__doc__, hidden.get(word, frozenset()))
        check_roots(getattr(found, "data", None))
        return found
    if word in ("-h", "--help"):
        every: Any = Union[tuple(kinds.values())]
        return parse_form(every, command, [word], about)
    if word.startswith("-"):
        line = f"ghosts {command} {likely} {' '.join(arguments)}"
        raise ConfigError(f"name what to {verb}, {' or '.join(kinds)}, first: {line}")
    raise UnknownNameError(f"thing to {verb}", word, kinds)


def settings_of(form: type, paths: Sequence[str]) -> Hidden:
    """Nested settings by their paths, such as "train.seed", as `parse_form` hides them."""
    found = set()
    for path in paths:
        *outer, name = path.split(".")
        owner = form
        for part in outer:
            owner = get_type_hints(owner)[part]
        assert name in get_type_hints(owner), f"{form.__name__} has no setting {path}"
        found.add((owner, name))
    return frozenset(found)


class _Quiet(ConstructorRegistry):
    """Keeps "(default: None)" and "(default: '')" out of the help: such an option is simply not given.

    Settings that are hidden are not offered, and those of a part that says `inline` stand without its name.
    """

    def __init__(self, hidden: Hidden) -> None:
        super().__init__()
        self._asking, self._hidden = False, hidden
        self.struct_rule(self._without_empty_defaults)

    def _without_empty_defaults(self, info: StructTypeInfo) -> StructConstructorSpec | None:
        if self._asking:
            return None  # tyro's own rule answers
        self._asking = True
        try:
            found = ConstructorRegistry.get_struct_spec(info)
        finally:
            self._asking = False
        if not isinstance(found, StructConstructorSpec):
            return None
        owner = get_origin(info.type) or info.type
        return replace(found, fields=tuple(self._offered(owner, field) for field in found.fields))

    def _offered(self, owner: Any, field: StructFieldSpec) -> StructFieldSpec:
        kind: Any = field.type
        if (owner, field.name) in self._hidden:
            kind = Annotated[kind, tyro.conf.Suppress]
        elif getattr(kind, "inline", False):
            kind = Annotated[kind, tyro.conf.arg(name="")]
        elif field.default is None or field.default == "":
            kind = Annotated[kind, tyro.conf.arg(help_behavior_hint="")]
        return replace(field, type=kind)


def check_roots(data: Path | Sequence[Path] | None) -> None:
    """Refuse data roots that are none.

    Raises:
        DataError: what is wrong with the first such one.
    """
    from ghosts_sim.dataroot import DataRoot

    for path in [data] if isinstance(data, Path) else data or ():
        DataRoot(path)


def wrapped(text: str | None, indent: int = 0) -> str | None:
    """A text for the help, as wide as the terminal.

    Args:
        text: paragraphs with empty lines between them; lines that begin with two spaces are those of a list.
        indent: column at which a list's entries go on.
    """
    wide = max(40, shutil.get_terminal_size((100, 24)).columns)
    parts: list[str] = []
    for paragraph in (text or "").strip().split("\n\n"):
        lines = paragraph.split("\n")
        listed = any(line.startswith("  ") for line in lines)
        for line in lines if listed else [" ".join(lines)]:
            # Each line begins with a space, and none is empty: tyro would join the ones and double the others.
            entry = line.startswith("  ")
            first, further = ("", " " * indent) if entry else (" ", " ")
            wrapper = textwrap.TextWrapper(wide, first, further, break_long_words=False, break_on_hyphens=False)
            parts.append(wrapper.fill(line))
    return "\n".join(parts) if text else None


def names_of(given: Sequence[str], usual: Sequence[str]) -> list[str]:
    """Names given with a repeated option. Without any, the usual ones; the word `none` means none at all."""
    return [] if list(given) == ["none"] else list(given or usual)
