"""What all settings share: bounds of their values, and going to plain JSON values and back."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from ghosts_sim.errors import ConfigError, did_you_mean, quoted
from ghosts_sim.values import require


@dataclasses.dataclass(frozen=True)
class Bound:
    """What a setting's value must be, in words and as a test. The setting's type carries it."""

    words: str
    holds: Callable[[Any], bool]


def at_least(least: int) -> Bound:
    """Not smaller than this."""
    return Bound(f"must be at least {least}", lambda value: value >= least)


def within(least: int | float, most: int | float) -> Bound:
    """Neither smaller nor larger than these."""
    return Bound(f"must lie in {least}..{most}", lambda value: least <= value <= most)


NOT_NEGATIVE = Bound("must not be negative", lambda value: value >= 0)
POSITIVE = Bound("must be positive", lambda value: value > 0.0)
Count = Annotated[int, at_least(1)]
Whole = Annotated[int, NOT_NEGATIVE]
Number = Annotated[float, Bound("must be a number", lambda value: not math.isnan(value))]
Positive = Annotated[float, POSITIVE]
Fraction = Annotated[float, Bound("must lie in [0, 1]", lambda value: 0.0 <= value <= 1.0)]
Dropout = Annotated[float, Bound("must lie in [0, 1)", lambda value: 0.0 <= value < 1.0)]
Weight = Annotated[float, Bound("must be finite and not negative", lambda value: math.isfinite(value) and value >= 0.0)]


def _bounds(kind: type) -> dict[str, list[Bound]]:
    """Bounds of every field; a choice among words is one too."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        # What may be None has its bounds inside: `Count | None`.
        parts = (hint, *get_args(hint)) if get_origin(hint) is Union else (hint,)
        marks = [mark for part in parts for mark in getattr(part, "__metadata__", ())]
        found[name] = [mark for mark in marks if isinstance(mark, Bound)]
        if get_origin(hint) is Literal:
            words = get_args(hint)
            found[name] = [Bound("must be " + " or ".join(map(str, words)), words.__contains__)]
    return found


class Config:
    """Settings of a part of a run: dataclasses whose values must keep to what their types say."""

    part: ClassVar[str]
    """Name of the part in messages."""
    bounds: ClassVar[dict[str, list[Bound]]]
    """Of every setting."""
    inline: ClassVar[bool] = False
    """Whether the command line leaves out the name of the part: `--observation`, not `--data.observation`."""

    def __init_subclass__(cls, part: str = "") -> None:
        super().__init_subclass__()
        cls.part, cls.bounds = part or cls.part, _bounds(cls)

    def __post_init__(self) -> None:
        for name, bounds in self.bounds.items():
            value = getattr(self, name)
            for bound in bounds if value is not None else ():
                require(bound.holds(value), f"{self.called(name)} {bound.words}", value)

    def called(self, name: str) -> str:
        """What a setting is called in messages."""
        return f"{self.part}.{name}"


class CommandOptions(Config, part="--"):
    """Options of a command: their types carry bounds too, and messages name them as they are typed."""

    def called(self, name: str) -> str:
        return f"--{name.replace('_', '-')}"


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
        if not nested and not _fits(value, types[name]):
            raise ConfigError(f"{where}.{name} must be {_said(types[name])}, got {quoted(value)}")
        arguments[name] = from_dict(nested, value, f"{where}.{name}") if nested else value
        if get_origin(types[name]) is tuple:
            arguments[name] = tuple(value)  # JSON has lists alone
    for name, item in known.items():
        if name not in values and item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING:
            raise ConfigError(f"{where}.{name} is missing and has no default; name {_said(types[name])}")
    return kind(**arguments)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a JSON value is of a field's type."""
    if kind in _KINDS:
        return type(value) in _KINDS[kind] and _sensible(value)
    parts = get_args(kind)
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in parts
    if get_origin(kind) is UnionType:
        return any(value is None if part is NoneType else _fits(value, part) for part in parts)
    if get_origin(kind) is tuple:
        return isinstance(value, list | tuple) and all(_fits(item, parts[0]) for item in value)
    return True


def _said(kind: Any) -> str:
    """A field's type in words."""
    parts = get_args(kind)
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(parts)
    if get_origin(kind) is UnionType:
        return " or ".join("nothing" if part is NoneType else _said(part) for part in parts)
    return _SAID.get(kind, "a list of such values")


_KINDS: dict[Any, tuple[type, ...]] = {int: (int,), float: (int, float), bool: (bool,), str: (str,)}
_SAID = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
_MOST = 1 << 40
"""No whole number in a sound config is larger. One from a damaged file would only exhaust memory."""


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
