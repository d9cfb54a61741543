"""Trained models from checkpoints: everything they need is in the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ghosts.agent.ensemble import Ensemble
from ghosts.agent.interface import FilterModel, Predictor
from ghosts.agent.loop import Agent
from ghosts.agent.planner import Planner
from ghosts.config import Experiment
from ghosts.data.reading import Reading, reading_of
from ghosts.mapping.labels import LabelSet
from ghosts.methods import method_of
from ghosts.methods.build import build_model
from ghosts.methods.method import Method
from ghosts.methods.speaker.model import Speaker
from ghosts.methods.stored import read_experiment
from ghosts.weights import FOLDER, resolve, shipped
from ghosts.weights.checkpoint import (
    BACKBONE,
    BEST,
    LAST,
    Checkpoint,
    check_fit,
    export_weights,
    load_checkpoint,
    load_weights,
)
from ghosts.words.tokens import Vocabulary
from ghosts_sim.errors import ConfigError, DataError, did_you_mean
from ghosts_sim.senses import IMAGES

_AGAIN = "copy it again, or train it again"


@dataclass(frozen=True, eq=False)
class Run:
    """A trained model and what it was trained with; or one that needs no training."""

    name: str
    """Name of the run's folder or file, for messages."""
    experiment: Experiment
    model: nn.Module
    """On the CPU, in evaluation mode."""
    reading: Reading
    iteration: int | None = None
    """At which the checkpoint was kept; None where nothing is trained."""

    @property
    def method(self) -> Method:
        """What knows the model's type."""
        return method_of(self.experiment)

    @property
    def senses(self) -> tuple[str, ...]:
        """Senses that it was trained with (`ghosts_sim.senses`); none for one that needs no training."""
        if self.iteration is None:
            return ()
        return (IMAGES,) if self.reading.labels is None else self.reading.landmarks.senses

    def planner(self) -> Planner:
        """The planner that acts on its belief."""
        return Planner(self.experiment.planner)

    @property
    def predictor(self) -> Predictor | None:
        """The model as one that predicts goals; None where it does not."""
        return self.method.predictor(self.model)

    @property
    def filter(self) -> FilterModel | None:
        """The model as one with a belief to track; None where it has none."""
        return self.method.filter(self.model)

    @property
    def speaker(self) -> Speaker | None:
        """The model as one that puts paths into words; None where it does not."""
        return self.method.speaker(self.model)

    def agent(self, *, planner: bool = False) -> Agent[Any, Any, Any]:
        """The agent that acts on this run.

        Args:
            planner: let the planner choose instead of the learned policy.

        Raises:
            ConfigError: it was not trained to act, or has no belief to act on.
        """
        return self.method.agent(self.name, self.model, self.experiment, planner=planner)


def untrained(experiment: Experiment) -> Run:
    """A model that needs no training (the hand-coded baseline) as a run."""
    return Run(experiment.name, experiment, build_model(experiment).eval(), reading_of(experiment))


def ensemble_of(runs: Sequence[Run]) -> Run:
    """Several runs as one (`agent.ensemble`).

    Raises:
        ConfigError: they are fewer than two, some have no filter, or they do not read the same of the data.
    """
    if len(runs) < 2:
        raise ConfigError("an ensemble needs two runs or more; repeat --run")
    models = [model for run in runs if (model := run.filter) is not None]
    if len(models) < len(runs):
        other = next(run.name for run in runs if run.filter is None)
        raise ConfigError(f"{other} has no filter for an ensemble; name runs of filters")
    first = runs[0]
    for run, model in zip(runs[1:], models[1:]):
        if run.reading != first.reading or model.config.belief_grid != models[0].config.belief_grid:
            raise ConfigError(
                f"{run.name} and {first.name} read different words or labels; train both on the same data"
            )
    experiment = replace(first.experiment, name=f"{len(runs)} × {first.experiment.name}")
    return Run(
        " + ".join(run.name for run in runs), experiment, Ensemble(models).eval(), first.reading, first.iteration
    )


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
    """What to name instead of a missing run; a bare name may be a misspelt name of shipped weights."""
    names = [name for name in sorted(shipped()) if not name.endswith("-backbone")]
    near = did_you_mean(str(path), names).removeprefix("; ")
    if len(path.parts) == 1 and near:
        return f"{near} (or name the folder or a checkpoint of a run of ghosts train)"
    return f"name a run's folder, a checkpoint or shipped weights ({', '.join(names)}); train with: ghosts train goal"


def load_run(path: str | Path) -> Run:
    """A trained run, from its folder, a checkpoint, or the name of shipped weights.

    Raises:
        DataError: the checkpoint is missing, damaged, or of another version.
    """
    return _open_run(Path(path))[0]


def export_run(path: str | Path, out: Path) -> Run:
    """Check that a model can be made of a run's weights, then write them in float16, to ship or to send.

    Raises:
        DataError: as `load_run`, or a weight is too large for float16.
    """
    run, checkpoint = _open_run(Path(path))
    export_weights(checkpoint, out)
    return run


def _open_run(path: Path) -> tuple[Run, Checkpoint]:
    file = find_checkpoint(path)
    checkpoint = load_checkpoint(file)
    about = described(checkpoint, file)
    # A few bytes can ask for a model of any size. On this device it takes no memory.
    with torch.device("meta"):
        check_fit(_build(about, file).state_dict(), checkpoint.weights, file)
    model = _build(about, file)
    load_weights(model, checkpoint, file)
    return Run(path.stem, about.experiment, model, about.reading, about.iteration), checkpoint


def _build(about: Description, file: Path) -> nn.Module:
    try:
        return build_model(about.experiment, about.reading.vocabulary, about.reading.labels)
    except (RuntimeError, ValueError, TypeError, OverflowError, ArithmeticError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0][:100]
        problem = f"no model can be made of these settings ({why})"
        raise DataError(problem, file=file, field="experiment", hint=_AGAIN) from error


@dataclass(frozen=True)
class Description:
    """What a checkpoint says of its run."""

    experiment: Experiment
    reading: Reading
    iteration: int


def described(checkpoint: Checkpoint, path: Path) -> Description:
    """Experiment, words and labels that a checkpoint names.

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
            hint = "it is no run of ghosts train; name another"
            raise DataError("missing in the checkpoint's description", file=path, field=field, hint=hint)
    experiment = read_experiment(about["experiment"], path)
    if type(about["iteration"]) is not int:
        raise DataError("expected a whole number", file=path, field="iteration", value=about["iteration"], hint=_AGAIN)
    labels = LabelSet.from_list(about["labels"], path) if about["labels"] is not None else None
    reading = replace(
        reading_of(experiment),
        # Of what a preset for any world was trained on.
        source="images" if labels is None else "landmarks",
        vocabulary=_vocabulary(about["vocabulary"], experiment.model.language.vectors, path),
        labels=labels,
        tiles=about.get("tiles"),
    )
    return Description(experiment, reading, about["iteration"])


def _vocabulary(words: Any, open: bool, path: Path) -> Vocabulary:
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise DataError("expected a list of words", file=path, field="vocabulary", value=words, hint=_AGAIN)
    try:
        return Vocabulary(tuple(words), open)
    except DataError as error:
        raise error.in_file(path) from None
