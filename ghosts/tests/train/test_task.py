"""What every task on episodes draws: its share of a batch, symmetries, dropped words."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from data.makers import contents
from experiments import task_of
from ghosts.data.dataset import Dataset, open_dataset
from ghosts.data.examples import SPOKEN
from ghosts.mapping.cells import MapCells
from ghosts.mapping.labels import LabelSet
from ghosts.methods.build import build_model
from ghosts.methods.speaker.model import Speaker, WalkedPaths
from ghosts.methods.speaker.presets import tiny_speaker
from ghosts.run.load import Run
from ghosts.run.speak import as_episodes, hide_labels, paths_like_r2r, tell_paths
from ghosts.train.task import Share
from ghosts_sim.errors import ConfigError
from landmark_world import load, make_landmark_root, small_experiment


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load(make_landmark_root(tmp_path_factory.mktemp("world") / "root"), small_experiment())


def test_a_batch_does_not_depend_on_the_number_of_processes(data: Dataset) -> None:
    task = task_of(small_experiment(batch=6, word_dropout=0.3, quarters=True), data)
    whole = task.draw(5, Share())
    for world in (2, 3):
        for rank in range(world):
            part, mine = task.draw(5, Share(rank, world)), slice(rank, None, world)
            for name in ("path_xy_m", "path_heading_rad", "goal_seen", "seen_m2"):
                assert torch.equal(getattr(part, name), getattr(whole, name)[mine]), name
            for name in ("start_xy_m", "start_heading_rad"):
                assert torch.equal(getattr(part.briefing, name), getattr(whole.briefing, name)[mine]), name
            assert torch.equal(part.masks.input, whole.masks.input[mine])
            assert torch.equal(part.masks.state, whole.masks.state[mine])
            width = part.briefing.tokens.shape[1]
            assert torch.equal(part.briefing.tokens, whole.briefing.tokens[mine, :width])
            assert not bool(whole.briefing.tokens[mine, width:].any())
            cells = {(s, i * world + rank, r, c): labels for (s, i, r, c), labels in contents(part).items()}
            assert cells == {key: labels for key, labels in contents(whole).items() if key[1] % world == rank}


def test_shares_of_symmetries_and_dropped_words(data: Dataset) -> None:
    task = task_of(small_experiment(batch=50, mirrored=0.3, quarters=True, word_dropout=0.2), data)
    drawn = [task.draw_symmetry(np.random.default_rng([1, number])) for number in range(1000)]
    assert abs(np.mean([item.mirrored for item in drawn]) - 0.3) < 4.0 * math.sqrt(0.3 * 0.7 / 1000)
    for quarters in range(4):
        assert abs(np.mean([item.quarters == quarters for item in drawn]) - 0.25) < 4.0 * math.sqrt(0.1875 / 1000)
    tokens = torch.cat([task.draw(number, Share()).briefing.tokens.flatten() for number in range(4)])
    words = int((tokens > 0).sum())
    assert abs(float((tokens == 1).sum()) / words - 0.2) < 4.0 * math.sqrt(0.16 / words)


def test_told_paths_are_mixed_in_until_people_alone_are_left(data: Dataset) -> None:
    told = [replace(example, instr_id=f"told{number}") for number, example in enumerate(data.examples("val_seen"))]
    mixed = replace(data, splits={**data.splits, SPOKEN: told})
    settings = {"batch": 40, "iterations": 10, "spoken": 0.3, "spoken_until": 0.5}
    task, plain = task_of(small_experiment(**settings), mixed), task_of(small_experiment(batch=40), mixed)
    shares = []
    for iteration in range(10):
        drawn = [example.instr_id for example, _ in task.examples(iteration, Share(), 2)]
        people = [example.instr_id for example, _ in plain.examples(iteration, Share(), 2)]
        shares.append(np.mean([name.startswith("told") for name in drawn]))
        assert all(mine == other for mine, other in zip(drawn, people) if not mine.startswith("told"))
        halves = [task.examples(iteration, Share(rank, 2), 2) for rank in range(2)]
        assert [example.instr_id for pair in zip(*halves) for example, _ in pair] == drawn
    assert np.mean(shares[:5]) == pytest.approx(0.3, abs=0.08)
    assert not any(shares[5:])
    with pytest.raises(ConfigError) as caught:
        task_of(small_experiment(spoken=0.3), data)
    assert str(caught.value) == "train.spoken needs instructions that a speaker said; name them with --spoken FILE"


def seen_in(cells: MapCells, labels: LabelSet, item: int) -> set[tuple[str, str]]:
    """Rooms and objects that one episode shows."""
    found = cells.labels
    assert found is not None
    shown = found.label[cells.item[found.cell] == item].tolist()
    every = [(*labels.labels, *labels.new)[number] for number in shown]
    return {(label.kind, label.name) for label in every if label.kind != "structure"}


def test_speaker_and_follower_lack_the_same_labels(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though they number them differently and stand elsewhere, and people's paths lack other labels."""
    experiment, mine = tiny_speaker(), data.labels
    assert mine is not None
    other = replace(load(data.root.path, experiment).reading, labels=LabelSet(mine.labels[::-1]))
    read = open_dataset(data.root, other)
    theirs = read.labels
    assert theirs is not None
    looked: list[WalkedPaths] = []
    monkeypatch.setattr(Speaker, "tell", lambda self, told, **_: looked.append(told) or torch.tensor([[2, 1]] * 24))
    speaker = Run("s", experiment, build_model(experiment, read.vocabulary, theirs), read.reading)
    paths = paths_like_r2r(read, 24)
    lacking = hide_labels(read, paths, 0.5)
    texts = tell_paths(speaker, read, paths), tell_paths(speaker, read, lacking)
    whole, told = (
        {(item.scan, item.path): seen_in(part.cells, theirs, number) for number, item in enumerate(paths)}
        for part in looked
    )
    gone = {path: whole[path] - told[path] for path in whole}
    assert sum(map(len, gone.values())) > 24
    file = tmp_path / "told.json"
    file.write_text(json.dumps(as_episodes(read, lacking, texts[1])))
    mixed = open_dataset(data.root, data.reading, spoken=file)
    bare = [replace(example, hidden=None) for example in mixed.splits[SPOKEN]]
    settings = {"batch": 12, "iterations": 10, "spoken": 1.0, "spoken_until": 1.0}
    task = task_of(small_experiment(**settings, label_dropout=0.3), mixed)
    everything = task_of(small_experiment(**settings), replace(mixed, splits={**mixed.splits, SPOKEN: bare}))
    lost = 0
    for iteration in range(2):
        chosen = [example for example, _ in task.examples(iteration, Share(), 2)]
        batch, full = task.draw(iteration, Share()), everything.draw(iteration, Share())
        halves = [task.draw(iteration, Share(rank, 2)) for rank in range(2)]
        for number, example in enumerate(chosen):
            path = (example.scan, example.path)
            shown, there = (seen_in(part.seen.cells, mine, number) for part in (batch, full))
            assert not shown & gone[path]  # what the speaker did not see, the follower does not see
            assert not (there - shown) & told[path]  # and what it saw is there
            assert seen_in(halves[number % 2].seen.cells, mine, number // 2) == shown
            lost += len(there - shown)
    assert lost > 24
