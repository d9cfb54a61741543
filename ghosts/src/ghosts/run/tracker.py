"""A robot's goal tracker from trained weights: model, words and labels come from the file."""

from __future__ import annotations

from pathlib import Path

import torch

from ghosts.agent.frames import Describe
from ghosts.agent.sensors import NamedLabels
from ghosts.agent.tracker import GoalTracker
from ghosts.driving.surroundings import Reader, Surroundings
from ghosts.mapping.saved_backbone import load_backbone
from ghosts.run.load import load_run
from ghosts_sim.errors import ConfigError


def load_tracker(
    run: str | Path,
    backbone: str | Path | None = None,
    margin_m: float = 10.0,
    *,
    perception: Describe | None = None,
    device: str | torch.device = "cpu",
) -> GoalTracker:
    """A robot's goal tracker.

    Args:
        run: a run's folder, a checkpoint, or the name of shipped weights.
        backbone: file or name of the backbone whose features a run on images was trained on; None for landmarks.
        margin_m: the map grows when the robot comes nearer than this to its edge.
        perception: an image to words, for a run on landmarks (`run.perception.load_perception`).
        device: where the model computes, such as "cuda".

    Raises:
        DataError: a file is missing or damaged.
        ConfigError: the run is no filter, or the backbone is missing, does not fit, or is not needed.

    Example:
        >>> tracker = load_tracker("landmarks-agent")
        >>> tracker.labels.known("fridge"), tracker.labels.known("xqzt")
        (True, False)
    """
    loaded = load_run(run)
    model, reading = loaded.filter, loaded.reading
    if model is None:
        raise ConfigError(f"{run} ({loaded.method.about}) has no belief to track; name a run of a filter")
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
        features = features.to(device)
    assert reading.vocabulary is not None, "a run knows its words"
    names = NamedLabels(labels, reading.landmarks.vectors) if labels is not None else None
    if names is None and perception is not None:
        raise ConfigError(f"{run} reads images and needs no perception; leave it out")
    model.to(device)
    around = Surroundings(Reader(names, reading.landmarks) if names is not None else None)
    return GoalTracker(model, reading.vocabulary, features, names, margin_m, surroundings=around, describe=perception)
