"""Numbers that are not finite are never hidden: every command refuses them by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor

from crafted import respoilt
from experiments import task_of
from ghosts.agent.candidates import on_slots
from ghosts.agent.interface import Briefing
from ghosts.belief.histogram import normalise, update
from ghosts.data.tile_store import JOINED, checksum, read_tiles, write_tiles
from ghosts.evaluate.goal import evaluate_goal
from ghosts.mapping.tiles import Tiles
from ghosts.methods.ghost.model import GoalModel
from ghosts.run.load import load_run
from ghosts.run.tracker import load_tracker
from ghosts.train.trainer import LOG, RunFiles, train
from ghosts.weights.checkpoint import LAST, load_checkpoint, save_checkpoint
from ghosts_sim.cli import main
from ghosts_sim.errors import DataError
from ghosts_sim.types import Pose
from landmark_world import load, small_experiment


def test_a_belief_of_nan_is_no_uniform_belief() -> None:
    weights = torch.ones(2, 1, 3, 3)
    weights[0, 0, 1, 1] = torch.nan
    assert not normalise(weights)[0].isfinite().all()
    assert normalise(weights)[1].sum() == pytest.approx(1.0)
    assert not update(torch.ones(2, 1, 3, 3) / 9, weights)[0].isfinite().any()
    with pytest.raises(DataError, match="scores of what can be chosen are not finite"):
        on_slots(np.ones((1, 2), bool), torch.tensor([0.5, torch.nan]))


def test_one_cell_of_a_map_is_enough() -> None:
    model = GoalModel(small_experiment().model, 3).eval()
    briefing = Briefing(torch.ones(1, 4, dtype=torch.long), torch.tensor([4]), torch.zeros(1, 2), torch.zeros(1))
    maps = model.mapper.empty(1, 32, 32).pooled(model.config.filter.pool).detach().clone()
    with torch.no_grad():
        assert model.track(model.read(briefing), maps).goal.sum() == pytest.approx(1.0)
        maps[0, 0, 0, 3, 4] = torch.nan
        assert not model.track(model.read(briefing), maps).goal.isfinite().all()


def nan_of(name: str, value: Tensor) -> Tensor:
    return torch.full_like(value, torch.nan) if name.endswith("gru.weight") or "mapper" in name else value


@pytest.mark.parametrize(
    "words",
    ["eval goal", "eval vln --planner", "submit --split val_seen", "report", "export", "belief", "film", "view"],
)
def test_weights_of_nan_are_refused_everywhere(
    words: str, combs: Path, agent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoilt = respoilt(agent, tmp_path / "spoilt.safetensors", nan_of)
    suffix = {"report": "x.html", "export": "x.safetensors", "submit": "x.json", "film": "x.mp4"}
    out = tmp_path / suffix.get(words.split()[0], "out")
    data = [] if words == "export" else ["--data", str(combs)]
    with pytest.raises(SystemExit) as caught:
        main([*words.split(), "--run", str(spoilt), *data, *(["--out", str(out)] if words != "view" else [])])
    assert caught.value.code == 1
    told = capsys.readouterr().err
    assert "spoilt.safetensors, field 'model/mapper." in told
    assert "holds numbers that are not finite" in told
    assert not out.exists()


def test_whole_numbers_are_no_weights(agent: Path, tmp_path: Path) -> None:
    spoilt = respoilt(agent, tmp_path / "x.safetensors", lambda name, value: value.int() if "mapper" in name else value)
    with pytest.raises(DataError, match="holds whole numbers, expected numbers with a fraction"):
        load_run(spoilt)


def test_export_says_what_does_not_fit(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = respoilt(run, tmp_path / "large.safetensors", lambda name, value: value + 1e5 * ("mapper" in name))
    with pytest.raises(SystemExit):
        main(["export", "--run", str(large), "--out", str(tmp_path / "half.safetensors")])
    assert "too large for 16 bits" in capsys.readouterr().err
    assert not (tmp_path / "half.safetensors").exists()
    main(["export", "--run", str(run), "--out", str(tmp_path / "half.safetensors")])
    assert load_run(tmp_path / "half.safetensors").iteration == 0


def test_finite_weights_that_overflow(combs: Path, run: Path, agent: Path, tmp_path: Path) -> None:
    """Nothing shows in the file; the evaluation, the walker and the tracker say so."""
    huge = respoilt(run, tmp_path / "huge.safetensors", lambda name, value: value * 1e30)
    loaded = load_run(huge)
    data = load(combs, small_experiment())
    with pytest.raises(DataError, match="belief is not finite for 3 of 3 instructions"):
        evaluate_goal(loaded.model, data, data.examples("val_seen")[:3])
    tracker = load_tracker(huge)
    with pytest.raises(DataError, match="belief is not finite"):
        tracker.goal(tracker.start("walk to the sofa", Pose(0.0, 0.0, 0.0, 0.0, 0.0)))


def test_tiles_of_nan(photos: Path, tmp_path: Path) -> None:
    stored = read_tiles(photos / "tiles" / JOINED)
    building, tiles = stored.tiles("houseA")
    features = tiles.features.clone()
    features[3, 1] = torch.inf
    spoilt = Tiles(features, tiles.cells, tiles.counts, tiles.cell_m)
    write_tiles(tmp_path / JOINED, stored.settings, [(replace(building, checksum=checksum(spoilt)), spoilt)])
    with pytest.raises(DataError, match="houseA: features that are not finite"):
        read_tiles(tmp_path / JOINED).verify(["houseA"])


def test_training_stops_and_keeps_its_last_good_checkpoint(combs: Path, tmp_path: Path) -> None:
    """The fourth iteration's loss is NaN: no row is due, but a checkpoint."""
    experiment = small_experiment(log_every=100, checkpoint_every=2, iterations=8)
    task = task_of(experiment, load(combs, experiment))
    forward, losses = task.forward, []

    def spoilt(batch: object) -> Tensor:
        losses.append(forward(batch))  # type: ignore[arg-type]
        return losses[-1] * (torch.nan if len(losses) == 4 else 1.0)

    task.forward = spoilt  # type: ignore[method-assign]
    with pytest.raises(DataError, match="became nan by iteration 4"):
        train(task, Fabric(accelerator="cpu", devices=1), RunFiles.of(tmp_path))
    assert load_checkpoint(tmp_path / LAST).about["iteration"] == 2
    [row] = [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()]
    assert row["iteration"] == 4
    assert np.isnan(row["loss"])


def test_nothing_that_is_not_finite_is_written(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_checkpoint(path, {"model/a": torch.ones(2)}, {})
    before = path.read_bytes()
    with pytest.raises(DataError, match="field 'model/a': holds numbers that are not finite"):
        save_checkpoint(path, {"model/a": torch.tensor([1.0, torch.inf])}, {})
    assert path.read_bytes() == before
