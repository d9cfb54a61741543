from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch.testing import assert_close

from checks import unchecked
from experiments import task_of
from forked import Forked
from ghosts.config import Experiment, ModelConfig, TrainConfig
from ghosts.data.dataset import Dataset
from ghosts.evaluate.goal import Execution, evaluate_goal
from ghosts.methods import method_of, preset, presets
from ghosts.methods.lingunet.settings import HeatModelConfig
from ghosts.precision import choose_precision
from ghosts.run.load import load_run
from ghosts.train.goal_task import GoalTask
from ghosts.train.task import batch_numbers
from ghosts.train.trainer import RunFiles, learning_rate, train, update_average
from ghosts.weights.checkpoint import BEST, LAST, load_checkpoint
from ghosts_sim.errors import ConfigError
from landmark_world import load, small_experiment
from trainings import one_process, rows_of, scored_task

CPU = torch.device("cpu")


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Sums of floats depend on how many threads share them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def assert_same_checkpoint(first: Path, second: Path) -> None:
    one, other = load_checkpoint(first), load_checkpoint(second)
    assert one.tensors.keys() == other.tensors.keys()
    for name, value in one.tensors.items():
        assert torch.equal(value, other.tensors[name]), name
    for field in ("iteration", "best", "experiment", "vocabulary", "labels"):
        assert one.about[field] == other.about[field], field


def weight_score(task: GoalTask) -> dict[str, float]:
    """A score that follows from the weights, in no time."""
    return {"score": float(sum(value.double().sum() for value in task.model.state_dict().values()))}


def trained(
    experiment: Experiment,
    data: Dataset,
    out: Path,
    score: Callable[[GoalTask], dict[str, float]] | None = None,
    fabric: Fabric | None = None,
) -> GoalTask:
    """A task after training, scored by a function of its own."""
    task = task_of(experiment, data)
    if score is not None:
        task.score = lambda fabric: score(task)  # type: ignore[method-assign]
    train(task, fabric or one_process(), RunFiles.of(out))
    return task


def test_learning_rate_values() -> None:
    config = TrainConfig(iterations=100, learning_rate=2e-3)
    assert [learning_rate(config, k) for k in range(5)] == pytest.approx([4e-4, 8e-4, 1.2e-3, 1.6e-3, 2e-3])
    assert learning_rate(config, 5) == pytest.approx(2e-3)
    assert learning_rate(config, 5 + 95 // 5) == pytest.approx(1e-3 * (1 + math.cos(math.pi / 5)))
    assert learning_rate(config, 99) == pytest.approx(1e-3 * (1 + math.cos(math.pi * 94 / 95)))
    assert learning_rate(replace(config, schedule="constant"), 0) == 2e-3
    assert learning_rate(replace(config, schedule="constant"), 99) == 2e-3
    assert learning_rate(TrainConfig(iterations=1, learning_rate=0.5), 0) == 0.5


def test_an_epoch_shows_every_example_once() -> None:
    config = TrainConfig(batch=4, seed=3)
    numbers = np.concatenate([batch_numbers(10, config, k) for k in range(5)])
    assert sorted(numbers[:10]) == sorted(numbers[10:]) == list(range(10))
    assert not np.array_equal(numbers[:10], numbers[10:])
    assert np.array_equal(numbers, np.concatenate([batch_numbers(10, replace(config, batch=5), k) for k in range(4)]))
    assert not np.array_equal(batch_numbers(10, config, 0), batch_numbers(10, replace(config, seed=4), 0))


def test_average_by_hand() -> None:
    average, weights = {"w": torch.tensor([1.0, 0.0])}, {"w": torch.tensor([0.0, 1.0]), "other": torch.zeros(1)}
    update_average(average, weights, 0.5, iteration=0)  # early: decay 1/10
    assert_close(average["w"], torch.tensor([0.1, 0.9]))
    update_average(average, weights, 0.5, iteration=1)  # 2/11
    assert_close(average["w"], torch.tensor([0.1 * 2 / 11, 1.0 - 0.1 * 2 / 11]))
    update_average(average, {"w": torch.tensor([2.0, 2.0])}, 0.5, iteration=1000)
    assert_close(average["w"], torch.tensor([1.0 + 0.1 / 11, 1.5 - 0.1 / 11]))
    update_average(empty := {}, weights, 0.5, iteration=0)
    assert empty == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_stop_and_resume_bit_for_bit(combs: Path, tmp_path: Path, number: int) -> None:
    """6 iterations at once, or 3, a signal, and 3 more; with dropout, averaging, and a log row every 2 iterations."""
    experiment = small_experiment(ema=0.9, evaluate_every=3, checkpoint_every=100)
    model = experiment.model
    model = replace(model, mapper=replace(model.mapper, dropout=0.3), language=replace(model.language, dropout=0.3))
    experiment = replace(experiment, model=model)
    data = load(combs, experiment)

    def stopping(task: GoalTask) -> dict[str, float]:
        os.kill(os.getpid(), number)
        return weight_score(task)

    straight, parts = tmp_path / "straight", tmp_path / "parts"
    whole = trained(experiment, data, straight, weight_score).model.state_dict()
    with pytest.raises(KeyboardInterrupt):
        trained(experiment, data, parts, stopping)
    assert load_checkpoint(parts / LAST).about["iteration"] == 3
    assert [row["iteration"] for row in rows_of(parts)] == [2, 3]
    assert signal.getsignal(number) is not None
    resumed = trained(experiment, data, parts, weight_score).model.state_dict()
    assert_same_checkpoint(straight / LAST, parts / LAST)
    assert_same_checkpoint(straight / BEST, parts / BEST)
    assert rows_of(straight) == rows_of(parts)
    assert [row["iteration"] for row in rows_of(parts)] == [2, 3, 4, 6, 6]
    for name, value in whole.items():
        assert torch.equal(value, resumed[name])
    # The model ends with the averaged weights.
    stored = load_checkpoint(parts / LAST)
    for name, value in stored.part("ema").items():
        assert torch.equal(resumed[name], value)
    name = "mapper.input_to_state.weight"
    assert not torch.equal(stored.part("ema")[name], stored.part("model")[name])


def in_process(combs: Path, out: Path, settings: dict[str, object]) -> None:
    with unchecked():
        train(scored_task(combs, settings), one_process(), RunFiles.of(out), threads=1)


def test_kill_nine_and_resume(combs: Path, tmp_path: Path) -> None:
    """Killed at a random moment after the first checkpoint, a run goes on to the same weights and the same log."""
    settings: dict[str, object] = {"iterations": 12, "checkpoint_every": 2, "evaluate_every": 6, "ema": 0.9}
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    seed = 11
    in_process(combs, straight, settings)
    process = Forked(partial(in_process, combs, killed, settings), trains=True)
    process.wait_until((killed / LAST).is_file)
    pause_s = float(np.random.default_rng(seed).uniform(0.0, 0.5))
    time.sleep(pause_s)
    process.kill()
    at = load_checkpoint(killed / LAST).about["iteration"]
    print(f"seed {seed}: killed {pause_s:.3f} s after the first checkpoint; resuming from iteration {at}")
    in_process(combs, killed, settings)
    assert_same_checkpoint(straight / LAST, killed / LAST)
    assert_same_checkpoint(straight / BEST, killed / BEST)
    assert rows_of(straight) == rows_of(killed)
    assert not list(killed.glob(".*"))


@pytest.mark.gpu
@pytest.mark.parametrize("capture", [False, True], ids=["launched", "captured"])
def test_a_gpu_gives_the_losses_of_the_cpu(combs: Path, tmp_path: Path, capture: bool) -> None:
    """Without TF32. Sums are in another order, and Adam's first steps follow signs: losses agree to 1e-3."""
    experiment = small_experiment(iterations=3, log_every=1, capture=capture)
    data = load(combs, experiment)
    trained(experiment, data, tmp_path / "cpu")
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        trained(experiment, data, tmp_path / "gpu", fabric=Fabric(accelerator="cuda", devices=1))
    mine, theirs = ([row["loss"] for row in rows_of(tmp_path / name)] for name in ("cpu", "gpu"))
    print(f"cpu {mine}, gpu {theirs}")
    assert theirs[0] == pytest.approx(mine[0], rel=1e-4)
    assert theirs == pytest.approx(mine, rel=1e-3)


@pytest.mark.gpu
def test_a_gpu_trains_and_scores_in_half_precision(combs: Path, tmp_path: Path) -> None:
    """What presets ask for: `auto`, which is float32 on the CPU."""
    experiment, gpu = small_experiment(iterations=3, log_every=1, precision="auto"), torch.device("cuda")
    data = load(combs, experiment)
    trained(experiment, data, tmp_path / "cpu")
    chosen = choose_precision("auto", gpu)
    assert chosen == "bf16-mixed"
    half = Fabric(accelerator="cuda", devices=1, precision=chosen)
    trained(experiment, data, tmp_path / "gpu", fabric=half)
    mine, theirs = ([row["loss"] for row in rows_of(tmp_path / name)] for name in ("cpu", "gpu"))
    print(f"cpu {mine}, gpu {theirs}")
    assert theirs == pytest.approx(mine, rel=0.02)
    model, examples = load_run(tmp_path / "gpu" / LAST).model, data.examples("val_seen")[:8]
    hows = [Execution(place, precision="auto") for place in (one_process(), half)]
    scores = [evaluate_goal(model, data, examples, how).nll for how in hows]
    np.testing.assert_allclose(scores[1], scores[0], atol=0.1)


def test_an_uneven_share_is_refused(combs: Path, tmp_path: Path) -> None:
    class Three(Fabric):
        @property
        def world_size(self) -> int:
            return 3

    experiment = small_experiment(batch=4)
    with pytest.raises(ConfigError, match=r"train\.batch 4 cannot be shared by 3 processes"):
        trained(experiment, load(combs, experiment), tmp_path, fabric=Three(accelerator="cpu", devices=1))


def shrunk(experiment: Experiment) -> Experiment:
    """The same kinds of everything, in small."""
    model, small = experiment.model, small_experiment().model
    sizes = {name: getattr(small.language, name) for name in ("vocabulary", "embedding", "hidden", "position", "steps")}
    language = replace(model.language, **sizes)
    mapper = replace(model.mapper, features=8, channels=8, rows=32, cols=32)
    if isinstance(model, ModelConfig):
        motion = replace(model.filter.motion, kernel=3, hidden=8, branch=4, language=8)
        parts = {"filter": replace(model.filter, motion=motion, observation=small.filter.observation)}
    else:
        assert isinstance(model, HeatModelConfig)
        parts = {"heat": replace(model.heat, channels=4, language=4, output=8)}
    settings = {"iterations": 2, "batch": 2, "agent_steps": 2, "log_every": 1, "spoken": 0.0}
    settings |= {"supervised": min(experiment.train.supervised, 2)}
    return replace(
        experiment,
        model=replace(model, language=language, mapper=mapper, **parts),
        train=replace(experiment.train, **settings),
    )


def with_features(data: Dataset, channels: int) -> Dataset:
    """The same cells with stored features, as a frozen backbone gives them, instead of labels."""
    features = torch.randn(len(data.bank.cells), channels, generator=torch.Generator().manual_seed(0)).half()
    reading = replace(data.reading, source="images", labels=None, tiles="0" * 8)
    return replace(data, reading=reading, bank=replace(data.bank, labels=None, features=features))


@pytest.mark.parametrize("name", [name for name in presets("goal") if method_of(preset(name)).needs_training])
def test_every_preset_trains(combs: Path, tmp_path: Path, name: str) -> None:
    experiment = shrunk(preset(name))
    shown = replace(experiment.data, observation="landmarks")
    data = load(combs, replace(experiment, data=shown, train=replace(experiment.train, quarters=False)))
    if experiment.data.observation == "images":
        data = with_features(data, experiment.model.mapper.features)
    fabric = Fabric(accelerator="cpu", devices=1, precision=choose_precision(experiment.train.precision, CPU))
    before = {}

    def remember(task: GoalTask) -> dict[str, float]:
        if not before:  # after the first of two iterations
            before.update({key: value.clone() for key, value in task.model.state_dict().items()})
        return {"score": 0.0}

    first = replace(experiment, train=replace(experiment.train, evaluate_every=1))
    model = trained(first, data, tmp_path, remember, fabric).model
    losses = [row["loss"] for row in rows_of(tmp_path) if "loss" in row]
    assert len(losses) == 2
    assert all(math.isfinite(loss) and loss > 0.0 for loss in losses)
    assert any(not torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert all(bool(value.isfinite().all()) for value in model.state_dict().values())
    scores = evaluate_goal(model, data, data.examples("val_seen")[:4])
    assert scores.error_m.shape == (4, 8)
    assert np.isfinite(scores.error_m).all()
