"""What all settings share: refusing wrong values by name, and going to plain JSON values and back."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, get_type_hints

from ghosts.errors import ConfigError, did_you_mean, quoted


def require(condition: bool, what: str, value: object) -> None:
    """Raise `ConfigError` quoting the bad value unless the condition holds."""
    if not condition:
        raise ConfigError(f"{what}, got {quoted(value)}")


def to_dict(config: Any) -> dict[str, Any]:
    """A config as plain JSON values."""
    return dataclasses.asdict(config)


def from_dict(kind: type, values: Any, where: str = "config") -> Any:
    """A config from plain JSON values; unknown fields are refused with the nearest known name."""
    if not isinstance(values, dict):
        raise ConfigError(f"{where} must be an object with its settings, got {quoted(values)}")
    known = {item.name: item for item in dataclasses.fields(kind)}
    types = get_type_hints(kind)
    arguments = {}
    for name, value in values.items():
        if name not in known:
            raise ConfigError(f"{where}: unknown field {name!r}{did_you_mean(name, known)}")
        default = known[name].default_factory
        nested = default if isinstance(default, type) and dataclasses.is_dataclass(default) else None
        arguments[name] = from_dict(nested, value, f"{where}.{name}") if nested else value
        if types[name] == _NUMBERS:
            if not isinstance(value, list | tuple) or not all(
                type(item) in _KINDS[float] and _sensible(item) for item in value
            ):
                raise ConfigError(f"{where}.{name} must be a list of numbers, got {quoted(value)}")
            arguments[name] = tuple(float(item) for item in value)
        if types[name] in _KINDS and not (type(value) in _KINDS[types[name]] and _sensible(value)):
            raise ConfigError(f"{where}.{name} must be {_SAID[types[name]]}, got {quoted(value)}")
    return kind(**arguments)


_KINDS: dict[Any, tuple[type, ...]] = {
    int: (int,),
    int | None: (int, type(None)),
    float: (int, float),
    bool: (bool,),
    str: (str,),
}
_SAID = {
    int: "a whole number",
    int | None: "a whole number or null",
    float: "a number",
    bool: "true or false",
    str: "a text",
}
_NUMBERS = tuple[float, ...]
_MOST = 1 << 40
"""No whole number in a config is larger; what is comes from a damaged file and would only exhaust memory."""


def _sensible(value: Any) -> bool:
    return not (isinstance(value, int) and abs(value) > _MOST) and not (isinstance(value, float) and value != value)


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """Where two configs differ, as "train.batch 32 → 64"; tuples equal lists, since JSON knows no tuples.

    Example:
        >>> differences({"train": {"batch": 32}}, {"train": {"batch": 64}})
        ['train.batch 32 → 64']
    """
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            line
            for name in dict.fromkeys([*old, *new])
            for line in differences(old.get(name), new.get(name), f"{where}.{name}" if where else name)
        ]
    same = json.dumps(old) == json.dumps(new)
    return [] if same else [f"{where} {json.dumps(old)} → {json.dumps(new)}"]
