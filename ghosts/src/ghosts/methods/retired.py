"""Settings that older versions had. A run that left them off still loads; one that used them is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ghosts_sim.errors import DataError

TAG = "ideas-2026-11"
"""The last version with these ideas, none of which helped (docs/ideas.md)."""
_GONE: dict[str, tuple[object, str]] = {
    "hidden_words": (None, "on words alone (ghosts train words)"),
    "model.language.encoder": ("lstm", "with the transformer encoder"),
    "model.language.rooms": (False, "to predict rooms from words"),
    "model.language.progress": (False, "to predict the distance left from words"),
    "train.room_loss": (0.0, "to predict rooms from words"),
    "train.progress_loss": (0.0, "to predict the distance left from words"),
    "train.distil": (0.0, "with teachers"),
}
"""The value that means "off", and what another value says of a run: "trained …"."""
_MEANINGLESS = ("model.language.layers", "model.language.heads", "landmarks.word_vectors")
"""Settings that meant nothing without another: layers and heads were the transformer's."""


def without_retired(settings: Any, file: Path) -> Any:
    """A checkpoint's settings (JSON values) without those that this version has no more.

    Raises:
        DataError: the run used one of them.
    """
    for name in (*_GONE, *_MEANINGLESS):
        settings, value = _without(settings, name.split("."))
        if name in _GONE and value is not ... and value != _GONE[name][0]:
            problem = f"trained {_GONE[name][1]}, which this version has no more"
            raise DataError(problem, file=file, field=name, value=value, hint=f"the git tag {TAG} reads it")
    return settings


def _without(settings: Any, names: list[str]) -> tuple[Any, Any]:
    """A copy without one setting, and its value; `...` where there is none."""
    if not isinstance(settings, dict) or names[0] not in settings:
        return settings, ...
    rest = dict(settings)
    if len(names) == 1:
        value = rest.pop(names[0])
    else:
        rest[names[0]], value = _without(rest[names[0]], names[1:])
    return rest, value
