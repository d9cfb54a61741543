from __future__ import annotations

import torch

from ghosts.config import FilterConfig, LanguageConfig, LingUNetConfig, MapperConfig, ModelConfig
from ghosts.methods.ghost.model import GoalModel
from ghosts_benchmarks.model import make_optimiser, measure_model, place, synthetic_batch, train_step

CPU = torch.device("cpu")
SMALL = ModelConfig(
    language=LanguageConfig(vocabulary=20, embedding=6, hidden=5, position=4, steps=3),
    mapper=MapperConfig(features=8, channels=6, rows=48, cols=48),
    filter=FilterConfig(observation=LingUNetConfig(channels=5, language=4, output=6)),
)


def test_synthetic_tiles_have_the_papers_size() -> None:
    data = synthetic_batch(ModelConfig(), 2, 3, CPU, seed=0)
    assert len(data.tiles) == 6
    assert 180 <= data.tiles.counts[0] <= 200
    assert data.tiles.features.shape == (sum(data.tiles.counts), 768)
    assert data.briefing.start_xy_m.abs().max() <= 0.25 + 1e-6
    assert torch.allclose(data.targets.sum((-3, -2, -1)), torch.ones(2, 6))


def test_the_measured_iteration_trains() -> None:
    torch.manual_seed(0)
    model = GoalModel(SMALL)
    data = synthetic_batch(SMALL, 2, 3, CPU, seed=0)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    seen = place(SMALL, data)
    assert (seen.cells.batch, seen.cells.steps) == (2, 3)
    losses = [float(train_step(model, optimiser, data, seen)) for _ in range(8)]
    assert losses[-1] < losses[0]
    assert isinstance(make_optimiser(model, CPU), torch.optim.Adam)


def test_every_part_is_measured() -> None:
    rows = {row.what: row for row in measure_model(CPU, batch=2, repeats=1, config=SMALL, images=False)}
    assert list(rows) == [
        "language, 3 latent steps",
        "map update",
        "observation, 1 step",
        "filter, 3 steps",
        "loss, 6 × 3 beliefs",
        "motion, factorised, 1 step",
        "motion, factorised, 3 steps",
        "motion, joint, 1 step",
        "motion, joint, 3 steps",
        "place tiles (host)",
        "iteration, tiles placed beforehand",
        "iteration, from cached tiles",
        "optimiser",
    ]
    for row in rows.values():
        assert row.measurement.peak_bytes > 0, row.what
    assert rows["map update"].authors_s == 4.4
    speed_up = rows["map update"].speed_up
    assert speed_up is not None
    assert speed_up == 4.4 / rows["map update"].measurement.seconds
