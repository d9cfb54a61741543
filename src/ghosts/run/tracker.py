"""A robot's goal tracker from trained weights: model, words and labels come from the file.

What is seen goes by name: an object by its label ("chair", "dining table"), structure by `floor`, `viewpoint`, `up`
and `down`, a room by "room: " and its name or letter, because `toilet` and `bar` are objects as well.
"""

from __future__ import annotations

from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from ghosts.act.model import GoalModel
from ghosts.act.tracker import GoalTracker
from ghosts.errors import ConfigError, UnknownNameError
from ghosts.mapping.saved_backbone import load_backbone
from ghosts.run.load import load_run
from ghosts.world.landmarks.labels import STRUCTURE, UNKNOWN_OBJECT, LabelSet, normalise_label
from ghosts.world.landmarks.regions import ROOM_NAMES

ROOM = "room:"
_LETTERS = {name: letter for letter, name in ROOM_NAMES.items()}


def load_tracker(run: str | Path, backbone: str | Path | None = None, margin_m: float = 10.0) -> GoalTracker:
    """A tracker for `observe_landmarks`, or for `observe` where the run was trained on images.

    Args:
        run: a run's folder, a checkpoint, or the name of shipped weights.
        backbone: file or name of the backbone whose features a run on images was trained on; None for landmarks.
        margin_m: the map grows when the robot comes nearer than this to its edge.

    Raises:
        DataError: a file is missing or damaged.
        ConfigError: the run is no filter, or the backbone is missing, does not fit, or is not needed.

    Example:
        >>> tracker = load_tracker("landmarks-agent")
        >>> tracker.labels.id("floor") != tracker.labels.id("chair")
        True
    """
    loaded = load_run(run)
    model, reading = loaded.model, loaded.reading
    if not isinstance(model, GoalModel):
        kind = loaded.experiment.kind
        raise ConfigError(f"{run} is a {kind} row without a belief to track; name a run of a filter")
    labels, features = reading.labels, None
    if labels is not None and backbone is not None:
        raise ConfigError(f"{run} reads labelled landmarks and needs no backbone, got {backbone}; leave it out")
    if labels is None:
        if backbone is None:
            raise ConfigError(f"{run} reads images; name the backbone it was trained on, such as houses-backbone")
        features = load_backbone(Path(backbone))
        if features.channels != model.config.mapper.features:
            raise ConfigError(
                f"{run} reads {model.config.mapper.features} features, but {backbone} gives {features.channels}; "
                "name the backbone it was trained on"
            )
    assert reading.vocabulary is not None, "a run knows its words"
    names = NamedLabels(labels, open=reading.landmarks.vectors) if labels is not None else None
    return GoalTracker(model, reading.vocabulary, features, names, margin_m)


class NamedLabels:
    """Numbers of names as a detector gives them.

    Args:
        labels: of the model.
        open: whether an object that training never met is read by the meaning of its words; otherwise it counts as what
            its name ends in ("office chair" is a chair), else as `unknown object`.
    """

    def __init__(self, labels: LabelSet, *, open: bool) -> None:
        self.labels, self._open = labels, open

    @property
    def vectors(self) -> Float[Tensor, "labels d"] | None:
        """See `act.tracker.DetectorLabels`."""
        return torch.from_numpy(self.labels.vectors) if self._open else None

    def id(self, name: str) -> int:
        """The number of a name; an object that is met for the first time gets a new one.

        Raises:
            UnknownNameError: there is no such room.
        """
        if name.startswith(ROOM):
            room = name.removeprefix(ROOM).strip()
            letter = room if room in ROOM_NAMES else _LETTERS.get(room.lower())
            if letter is None:
                raise UnknownNameError("room", room, [*_LETTERS, *ROOM_NAMES])
            return self.labels.room_id(letter)
        name = normalise_label(name)
        if name in STRUCTURE and name in self.labels.structure:
            return self.labels.structure_id(name)
        if self._open:
            self.labels = self.labels.meeting([name])
        return self.labels.object_id(name)

    def known(self, name: str) -> bool:
        """Whether a name means anything to the model."""
        return self.id(name) != self.labels.structure_id(UNKNOWN_OBJECT)
