"""Settings that older versions had. A run that left them off still loads; one that used them is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ghosts_sim.errors import DataError

TAG, LATER = "the git tag ideas-2026-11", "the git commit eb01373"
"""The last versions with these ideas, none of which helped (docs/ideas.md)."""
_REWARD = (0.0, "with its success as a reward", LATER)
_GONE: dict[str, tuple[object, str, str]] = {
    "hidden_words": (None, "on words alone (ghosts train words)", TAG),
    "model.language.encoder": ("lstm", "with the transformer encoder", TAG),
    "model.language.rooms": (False, "to predict rooms from words", TAG),
    "model.language.progress": (False, "to predict the distance left from words", TAG),
    "train.room_loss": (0.0, "to predict rooms from words", TAG),
    "train.progress_loss": (0.0, "to predict the distance left from words", TAG),
    "train.distil": (0.0, "with teachers", TAG),
    "train.reward": _REWARD,
    "navigation.reward": _REWARD,
}
"""The value that means "off", what another value says of a run ("trained …"), and which version reads that run."""
_MEANINGLESS = (
    *("model.language.layers", "model.language.heads", "landmarks.word_vectors"),
    *("train.samples", "navigation.samples"),
)
"""Settings that meant nothing without another: layers and heads were the transformer's, samples the reward's."""


def without_retired(settings: Any, file: Path) -> Any:
    """A checkpoint's settings (JSON values) without those that this version has no more.

    Raises:
        DataError: the run used one of them.
    """
    for name in (*_GONE, *_MEANINGLESS):
        settings, value = _without(settings, name.split("."))
        if name in _GONE and value is not ... and value != _GONE[name][0]:
            _, trained, version = _GONE[name]
            problem = f"trained {trained}, which this version has no more"
            raise DataError(problem, file=file, field=name, value=value, hint=f"{version} reads it")
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
