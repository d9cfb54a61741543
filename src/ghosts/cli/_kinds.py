"""Commands of several kinds, such as `ghosts train goal|vln`: help at both levels, and hints that name both words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union, get_args

from ghosts.cli._options import check_roots, parse_form
from ghosts.errors import ConfigError, UnknownNameError


def parse_kind(
    command: str, verb: str, kinds: Mapping[str, Any], arguments: list[str], about: str, likely: str = "goal"
) -> Any:
    """Options of `ghosts COMMAND KIND …`.

    Args:
        command: its name.
        verb: what it does, for messages.
        kinds: options of each kind, annotated as tyro's subcommands.
        arguments: after the command's name; none asks for help.
        about: for the command's own help.
        likely: kind to propose where options come first.

    Raises:
        UnknownNameError: no such kind.
        ConfigError: options come before the kind.
    """
    word = arguments[0] if arguments else "--help"
    if word in kinds:
        # On its own: from a union, tyro's hints would name the kind without the command before it.
        found = parse_form(kinds[word], f"{command} {word}", arguments[1:], get_args(kinds[word])[0].__doc__)
        check_roots(getattr(found, "data", None))
        return found
    if word in ("-h", "--help"):
        every: Any = Union[tuple(kinds.values())]  # noqa: UP007 (made at run time)
        return parse_form(every, command, [word], about)
    if word.startswith("-"):
        line = f"ghosts {command} {likely} {' '.join(arguments)}"
        raise ConfigError(f"name what to {verb}, {' or '.join(kinds)}, first: {line}")
    raise UnknownNameError(f"thing to {verb}", word, kinds)
