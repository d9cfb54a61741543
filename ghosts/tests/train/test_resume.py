"""Going on with a checkpoint that is damaged, crafted or somebody else's: refused in words, and nothing is lost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from safetensors.torch import load, save

from crafted import respoilt, write_checkpoint
from experiments import task_of
from ghosts.train.trainer import LOG, RunFiles, train
from ghosts.weights.checkpoint import LAST, load_checkpoint
from ghosts_sim.errors import DataError
from ghosts_sim.locks import locked
from landmark_world import load as load_data
from landmark_world import make_landmark_root, small_experiment

EXPERIMENT = small_experiment(iterations=3, ema=0.9, evaluate_every=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root, and a run stopped after two iterations."""
    folder = make_landmark_root(tmp_path_factory.mktemp("world") / "root")
    train_on(folder, folder / "run", 2)
    return folder


def train_on(folder: Path, out: Path, iterations: int = 3) -> None:
    experiment = replace(EXPERIMENT, train=replace(EXPERIMENT.train, checkpoint_every=1))
    task = task_of(experiment, load_data(folder, experiment))
    task.score = lambda fabric: {"score": 1.0}  # type: ignore[method-assign]
    fabric = Fabric(accelerator="cpu", devices=1)
    if iterations == 3:
        train(task, fabric, RunFiles.of(out))
        return
    draw = task.draw

    def stopping(iteration: int, share: object) -> object:
        if iteration == iterations:
            raise KeyboardInterrupt
        return draw(iteration, share)  # type: ignore[arg-type]

    task.draw = stopping  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        train(task, fabric, RunFiles.of(out), threads=0)


def renamed(old: str, new: str) -> Callable[[Path, Path], Path]:
    def spoil(source: Path, target: Path) -> Path:
        stored = load_checkpoint(source)
        tensors = {name.replace(old, new, 1): value for name, value in stored.tensors.items()}
        return write_checkpoint(target, tensors, stored.about)

    return spoil


def without(word: str) -> Callable[[Path, Path], Path]:
    def spoil(source: Path, target: Path) -> Path:
        stored = load_checkpoint(source)
        found = next(name for name in stored.tensors if word in name)
        return write_checkpoint(target, {k: v for k, v in stored.tensors.items() if k != found}, stored.about)

    return spoil


def about(**fields: object) -> Callable[[Path, Path], Path]:
    return lambda source, target: respoilt(source, target, **fields)


def no_metadata(source: Path, target: Path) -> Path:
    content = save(load(source.read_bytes()))
    length = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + length].rstrip()
    header = b'{"__metadata__":null,' + header[1:]
    header += b" " * (-len(header) % 8)
    target.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + length :])
    return target


def longer(source: Path, target: Path) -> Path:
    stored = load_checkpoint(source)
    return write_checkpoint(target, stored.tensors | {"losses": torch.zeros(9)}, stored.about)


def dangling(source: Path, target: Path) -> Path:
    target.symlink_to("nowhere")
    return target


CRAFTED = {
    "no experiment": (about(experiment=...), "another experiment"),
    "experiment of text": (about(experiment="x"), "another experiment"),
    "best null": (about(best=None), "field 'best': expected a score"),
    "best NaN": (about(best=math.nan), "expected a score"),
    "best a text": (about(best="1"), "expected a score"),
    "no best": (about(best=...), "expected a score"),
    "no iteration": (about(iteration=...), "field 'iteration': expected a whole number"),
    "iteration below 0": (about(iteration=-1), "expected a whole number"),
    "iteration 1.5": (about(iteration=1.5), "expected a whole number"),
    "vocabulary null": (about(vocabulary=None), "another vocabulary"),
    "description a list": (lambda s, t: write_checkpoint(t, load_checkpoint(s).tensors, [1]), "expected an object"),
    "metadata null": (no_metadata, "unknown checkpoint format"),
    "optimiser key renamed": (renamed("optimiser/0/", "optimiser/x/"), "not what the optimiser keeps"),
    "optimiser beyond": (renamed("optimiser/0/", "optimiser/9999/"), "not what the optimiser keeps"),
    "optimiser deeper": (renamed("optimiser/0/step", "optimiser/0/step/0"), "not what the optimiser keeps"),
    "optimiser swapped": (renamed("0/exp_avg_sq", "1/exp_avg_sq2"), "not what the optimiser keeps"),
    "optimiser incomplete": (without("optimiser/0/step"), "the optimiser's state is incomplete"),
    "average missing": (without("ema/"), "averaged weights do not fit .* is missing"),
    "average renamed": (renamed("ema/mapper", "ema/napper"), "averaged weights do not fit"),
    "weight missing": (without("model/"), "weights do not fit .* is missing"),
    "losses too long": (longer, "field 'losses': expected the losses of the last iterations"),
    "dangling link": (dangling, "a link to one that is missing"),
}


@pytest.mark.parametrize("kind", CRAFTED)
def test_a_crafted_checkpoint_is_refused_and_the_log_stays(folder: Path, tmp_path: Path, kind: str) -> None:
    spoil, words = CRAFTED[kind]
    spoil(folder / "run" / LAST, tmp_path / LAST)
    (tmp_path / LOG).write_text('{"iteration": 1, "loss": 2.0}\n')
    with pytest.raises(DataError, match=words) as caught:
        train_on(folder, tmp_path)
    assert str(tmp_path / LAST) in str(caught.value)
    assert (tmp_path / LOG).read_text() == '{"iteration": 1, "loss": 2.0}\n'


def test_a_sound_checkpoint_goes_on(folder: Path, tmp_path: Path) -> None:
    """The same way of spoiling, without damage: what is refused above is not refused for its writer."""
    respoilt(folder / "run" / LAST, tmp_path / LAST)
    train_on(folder, tmp_path)
    assert load_checkpoint(tmp_path / LAST).about["iteration"] == 3


def test_a_log_that_is_found_is_put_aside(folder: Path, tmp_path: Path) -> None:
    (tmp_path / LOG).write_text("somebody's\n")
    (tmp_path / "log.1.jsonl").write_text("another's\n")
    train_on(folder, tmp_path)
    assert (tmp_path / "log.2.jsonl").read_text() == "somebody's\n"
    assert (tmp_path / "log.1.jsonl").read_text() == "another's\n"
    assert '"iteration": 2' in (tmp_path / LOG).read_text()


def test_two_runs_in_one_folder(folder: Path, tmp_path: Path) -> None:
    with (
        locked(tmp_path, "ghosts train", part="-last"),
        pytest.raises(DataError, match="already at work"),
    ):
        train_on(folder, tmp_path)
    assert not (tmp_path / LAST).exists()
    train_on(folder, tmp_path)
