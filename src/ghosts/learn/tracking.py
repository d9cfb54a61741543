"""A robot's goal tracker from trained weights: model, words and labels come from the file.

What is seen goes by name: an object by its label ("chair", "dining table"), structure by `floor`, `viewpoint`, `up`
and `down`, a room by "room: " and its name or letter, because `toilet` and `bar` are objects as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from ghosts.act.model import GoalModel
from ghosts.act.tracker import GoalTracker
from ghosts.errors import ConfigError, UnknownNameError
from ghosts.learn.backbone import load_backbone
from ghosts.learn.load import LoadedTask, load_task
from ghosts.world.landmarks.labels import STRUCTURE, LabelSet, normalise_label
from ghosts.world.landmarks.regions import ROOM_NAMES

ROOM = "room:"
_LETTERS = {name: letter for letter, name in ROOM_NAMES.items()}


def load_tracker(run: Path, backbone: Path | None = None, margin_m: float = 10.0) -> GoalTracker:
    """A tracker for `observe_landmarks`, or for `observe` where the run was trained on images.

    Args:
        run: a run's folder, a checkpoint, or the name of shipped weights.
        backbone: file or name of the backbone whose features a run on images was trained on; None for landmarks.
        margin_m: the map grows when the robot comes nearer than this to its edge.

    Raises:
        DataError: a file is missing or damaged.
        ConfigError: the run is no filter, or the backbone is missing, does not fit, or is not needed.

    Example:
        >>> tracker = load_tracker(Path("landmarks-agent"))
        >>> tuple(tracker.label_features(["floor", "room: kitchen", "office chair"]).shape)
        (3, 128)
    """
    loaded = load_task(run)
    if loaded.task.kind != "filter" or not isinstance(loaded.task.model, GoalModel):
        raise ConfigError(f"{run} is a {loaded.task.kind} row without a belief to track; name a run of a filter")
    model, vocabulary = loaded.task.model, loaded.vocabulary
    if loaded.labels is not None:
        if backbone is not None:
            raise ConfigError(f"{run} reads labelled landmarks and needs no backbone, got {backbone}; leave it out")
        features = None
    else:
        if backbone is None:
            raise ConfigError(f"{run} reads images; name the backbone it was trained on, such as houses-backbone")
        features = load_backbone(backbone)
        if features.channels != model.config.mapper.features:
            raise ConfigError(
                f"{run} reads {model.config.mapper.features} features, but {backbone} gives {features.channels}; "
                "name the backbone it was trained on"
            )
    return GoalTracker(
        model, lambda text: vocabulary.encode([text])[0], features, label_embedding(loaded), margin_m=margin_m
    )


def label_embedding(loaded: LoadedTask) -> Callable[[Sequence[str]], Float[Tensor, "p c"]] | None:
    """From names of what is seen to their learned embeddings; None for a model that reads images."""
    labels, embedding = loaded.labels, loaded.task.features.embedding
    if labels is None or embedding is None:
        return None

    def features(names: Sequence[str]) -> Float[Tensor, "p c"]:
        ids = [label_id(labels, name) for name in names]
        return embedding.weight.detach()[torch.tensor(ids, device=embedding.weight.device)]

    return features


def label_id(labels: LabelSet, name: str) -> int:
    """The number of a name as a detector gives it.

    An object outside the set counts as what its name ends in ("office chair" is a chair), else as `unknown object`.

    Raises:
        UnknownNameError: there is no such room.
    """
    if name.startswith(ROOM):
        room = name.removeprefix(ROOM).strip()
        letter = room if room in ROOM_NAMES else _LETTERS.get(room.lower())
        if letter is None:
            raise UnknownNameError("room", room, [*_LETTERS, *ROOM_NAMES])
        return labels.room_id(letter)
    name = normalise_label(name)
    return labels.structure_id(name) if name in STRUCTURE else labels.object_id(name)
