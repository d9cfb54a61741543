"""The `--preset` option, which decides what the other options start from."""

from __future__ import annotations


def take_preset(arguments: list[str], default: str) -> tuple[str, list[str]]:
    """The value of `--preset`, and the other arguments."""
    name, rest = default, []
    pending = iter(arguments)
    for word in pending:
        if word == "--preset":
            name = next(pending, "")
        elif word.startswith("--preset="):
            name = word.split("=", 1)[1]
        else:
            rest.append(word)
    return name, rest
