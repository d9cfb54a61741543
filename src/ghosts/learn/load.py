"""Trained models from checkpoints: everything they need is in the file."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from torch import nn

from ghosts.config import from_dict
from ghosts.errors import ConfigError, DataError, did_you_mean
from ghosts.language.tokens import Vocabulary
from ghosts.learn.backbone import KIND as BACKBONE
from ghosts.learn.checkpoint import BEST, LAST, Checkpoint, load_checkpoint, misfit
from ghosts.learn.tasks import GoalTask
from ghosts.presets import GoalExperiment, VlnExperiment
from ghosts.weights import FOLDER, resolve, shipped
from ghosts.world.landmarks.labels import LabelSet

_AGAIN = "copy it again, or train it again"


class LoadedTask(NamedTuple):
    """A trained task and what it was trained with."""

    task: GoalTask
    """On the CPU, in evaluation mode."""
    experiment: GoalExperiment
    vocabulary: Vocabulary
    labels: LabelSet | None
    """None for a model that reads stored features."""
    tiles: str | None
    """Fingerprint of the tiles it was trained on; None for a model that reads labels."""


def find_checkpoint(path: Path) -> Path:
    """The checkpoint meant by a file, by a run's folder (there: the best one), or by the name of shipped weights.

    Raises:
        DataError: there is none.
    """
    path = resolve(path)
    if not path.is_dir():
        if not path.is_file():
            raise DataError("no such run", file=path, hint=_instead(path))
        return path
    if (path / BEST).is_file():
        return path / BEST
    hint = (
        f"it has not been scored yet; name {path / LAST}"
        if (path / LAST).is_file()
        else "train it with: ghosts train goal"
    )
    raise DataError(f"no {BEST} in this folder", file=path, hint=hint)


def _instead(path: Path) -> str:
    """What to name instead of a run that is not there; a bare name may be meant for one of the shipped weights."""
    names = [name for name in sorted(shipped()) if not name.endswith("-backbone")]
    near = did_you_mean(str(path), names).removeprefix("; ")
    if len(path.parts) == 1 and near:
        return f"{near} (or name the folder or a checkpoint of a run of ghosts train)"
    return f"name a run's folder, a checkpoint or shipped weights ({', '.join(names)}); train with: ghosts train goal"


def load_task(path: Path) -> LoadedTask:
    """A trained task from a checkpoint, or from a run's folder.

    Raises:
        DataError: the checkpoint is missing, damaged, or of another version.
    """
    path = find_checkpoint(path)
    return task_of(load_checkpoint(path), path)


def task_of(checkpoint: Checkpoint, path: Path) -> LoadedTask:
    """The task in a checkpoint that was read from `path`; averaged weights where it has them."""
    experiment, vocabulary, labels = described(checkpoint, path)
    task = GoalTask(experiment.kind, experiment.model, experiment.baseline, len(labels) if labels is not None else 0)
    load_weights(task, checkpoint, path)
    return LoadedTask(task, experiment, vocabulary, labels, checkpoint.about.get("tiles"))


def described(checkpoint: Checkpoint, path: Path) -> tuple[GoalExperiment, Vocabulary, LabelSet | None]:
    """Experiment (a `VlnExperiment` where it acts), words and labels that a checkpoint names.

    Raises:
        DataError: one of them is missing, or settings are unknown.
    """
    about = checkpoint.about
    if about.get("kind") == BACKBONE:
        shown = path.stem if path.parent == FOLDER else path
        hint = "name a run of ghosts train; backbones are for ghosts tiles --backbone"
        raise DataError("a backbone, not a run", file=shown, hint=hint)
    for field in ("experiment", "iteration", "vocabulary", "labels"):
        if field not in about:
            raise DataError(
                "missing in the checkpoint's description",
                file=path,
                field=field,
                hint="it is no run of ghosts train; name another",
            )
    try:
        acts = isinstance(about["experiment"], dict) and "navigation" in about["experiment"]
        experiment: GoalExperiment = from_dict(
            VlnExperiment if acts else GoalExperiment, about["experiment"], "experiment"
        )
    except ConfigError as error:
        hint = "it was written by another version; train again or use the version that wrote it"
        raise DataError(f"settings this version does not know ({error})", file=path, hint=hint) from None
    if type(about["iteration"]) is not int:
        raise DataError("expected a whole number", file=path, field="iteration", value=about["iteration"], hint=_AGAIN)
    labels = LabelSet.from_list(about["labels"], path) if about["labels"] is not None else None
    words = about["vocabulary"]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise DataError("expected a list of words", file=path, field="vocabulary", value=words, hint=_AGAIN)
    try:
        return experiment, Vocabulary(tuple(words)), labels
    except DataError as error:
        raise error.in_file(path) from None


def load_weights(task: nn.Module, checkpoint: Checkpoint, path: Path) -> None:
    """Put a checkpoint's weights into a task, averaged ones where it has them, for evaluation."""
    weights = {**checkpoint.part("model"), **checkpoint.part("ema")}
    try:
        task.load_state_dict(weights)
    except RuntimeError:
        problem = f"weights do not fit the settings ({misfit(task.state_dict(), weights)})"
        raise DataError(problem, file=path, hint=_AGAIN) from None
    task.eval()
