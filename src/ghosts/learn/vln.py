"""Runs that learn to act: which task, and which weights it starts from."""

from __future__ import annotations

from pathlib import Path

from ghosts.config import VlnExperiment, differences, to_dict
from ghosts.data.dataset import Dataset
from ghosts.errors import ConfigError, DataError
from ghosts.learn.navigate import NavigationTask
from ghosts.learn.seq2seq import Seq2SeqTask
from ghosts.learn.task import EpisodeTask, Selection
from ghosts.run.load import described, find_checkpoint
from ghosts.weights import only_filter
from ghosts.weights.checkpoint import LAST, alike, load_checkpoint, misfit

POLICY = "policy."


def navigation_task(
    experiment: VlnExperiment, data: Dataset, selection: Selection | None = None, warm_start: Path | None = None
) -> NavigationTask | Seq2SeqTask:
    """The task of a row of Table 2.

    Args:
        experiment: the run's settings.
        data: what it reads, on the device.
        selection: scored during training.
        warm_start: run, checkpoint or shipped weights to start from: the filter, and an agent's policy.
    """
    kind = Seq2SeqTask if experiment.navigation.agent == "seq2seq" else NavigationTask
    task = kind(experiment, data, selection)
    if warm_start is not None:
        taken = not (only_filter(warm_start) or experiment.navigation.fresh_policy)
        start_from(task, find_checkpoint(warm_start), policy=taken)
    return task


def check_start(experiment: VlnExperiment, out: Path, warm_start: Path | None) -> None:
    """Whether training can begin with these weights, as far as that shows without the data.

    Raises:
        ConfigError: a filter that stays as it is has no weights, or there is no filter for them.
        DataError: there is no such run, or the checkpoint is no run's.
    """
    if warm_start is not None and experiment.navigation.agent == "seq2seq":
        raise ConfigError("a sequence-to-sequence agent has no filter to start from; leave out --warm-start")
    frozen = experiment.navigation.freeze_filter and not experiment.navigation.true_beliefs
    if frozen and warm_start is None and not (out / LAST).is_file():
        raise ConfigError(
            "navigation.freeze_filter keeps a trained filter; name one with --warm-start RUN, or train both together "
            "with --navigation.no-freeze-filter"
        )
    if warm_start is not None:
        file = find_checkpoint(warm_start)
        described(load_checkpoint(file), file)


def start_from(task: EpisodeTask, path: Path, *, policy: bool = True) -> None:
    """Load another model's weights into a task.

    Args:
        task: what is to be trained.
        path: checkpoint.
        policy: whether an agent's policy is taken as well; goal prediction does not train one.

    Raises:
        DataError: the checkpoint was trained on other words, labels or tiles, or has other sizes.
    """
    stored = load_checkpoint(path)
    for name in ("vocabulary", "labels", "tiles"):
        if stored.about.get(name) != task.about()[name]:
            hint = "train both on the same data root"
            raise DataError(f"--warm-start: trained on other data (another {name})", file=path, hint=hint)
    # Read as settings, so that what an older version did not know has its default.
    before = described(stored, path).experiment
    # Equal labels can still be shown from nearer or farther.
    seen = to_dict(before.landmarks), to_dict(task.experiment.landmarks)
    shown = differences(*seen, "landmarks") if task.data.labels else []
    if shown:
        hint = "use the same --landmarks options"
        raise DataError(f"--warm-start: trained on other landmarks: {'; '.join(shown)}", file=path, hint=hint)
    acts = policy and isinstance(before, VlnExperiment)
    weights = {name: value for name, value in stored.weights.items() if acts or not name.startswith(POLICY)}
    own = task.model.state_dict()
    # An agent's policy is taken whole or not at all.
    left_out = "" if any(name.startswith(POLICY) for name in weights) else POLICY
    expected = {name: value for name, value in own.items() if not left_out or not name.startswith(left_out)}
    if expected.keys() != weights.keys() or not all(alike(value, weights[name]) for name, value in expected.items()):
        problem = f"--warm-start: a model of other sizes ({misfit(expected, weights)})"
        raise DataError(problem, file=path, hint="use the same --model settings")
    task.model.load_state_dict(weights, strict=False)
