"""Runs that learn to act: which task, and which weights it starts from."""

from __future__ import annotations

from pathlib import Path

from ghosts.config import VlnExperiment
from ghosts.data.dataset import Dataset
from ghosts.data.examples import Selection
from ghosts.run.load import described, find_checkpoint
from ghosts.train.navigate import NavigationTask
from ghosts.train.seq2seq import Seq2SeqTask
from ghosts.train.start import start_from
from ghosts.weights import only_filter
from ghosts.weights.checkpoint import LAST, load_checkpoint
from ghosts_sim.errors import ConfigError


def navigation_task(
    experiment: VlnExperiment, data: Dataset, selection: Selection | None = None, warm_start: Path | None = None
) -> NavigationTask | Seq2SeqTask:
    """The task of a row of Table 2.

    Args:
        experiment: the run's settings.
        data: what it reads, on the device.
        selection: scored during training.
        warm_start: run, checkpoint or shipped weights to start from: the filter, and an agent's policy.

    Raises:
        ConfigError: the data is streamed.
        DataError: the weights do not fit.
    """
    if data.stream is not None:
        hint = "make the world without --shards, or name another --data"
        raise ConfigError(f"agents cannot learn from a streamed training split; {hint}")
    kind = Seq2SeqTask if experiment.navigation.agent == "seq2seq" else NavigationTask
    task = kind(experiment, data, selection)
    if warm_start is not None:
        taken = not (only_filter(warm_start) or experiment.navigation.fresh_policy)
        start_from(task, find_checkpoint(warm_start), policy=taken)
    return task


def check_start(experiment: VlnExperiment, out: Path, warm_start: Path | None) -> None:
    """Check whether training can begin with these weights, as far as that can be known without the data.

    Raises:
        ConfigError: a frozen filter has no weights to start from, or there is a start but no filter.
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
