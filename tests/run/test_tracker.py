from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ghosts.act.tracker import GoalTracker, Landmark
from ghosts.errors import ConfigError, UnknownNameError
from ghosts.geometry import camera_to_world
from ghosts.learn import tracking
from ghosts.learn.data import load_goal_data
from ghosts.learn.load import LoadedTask, load_task
from ghosts.learn.tracking import label_id, load_tracker
from ghosts.types import Pose
from ghosts.world.dataroot import DataRoot
from ghosts.world.landmarks.source import load_scene, observe
from landmark_world import make_landmark_root


@pytest.fixture(scope="module")
def loaded() -> LoadedTask:
    return load_task(Path("landmarks-agent"))


@pytest.fixture(scope="module")
def tracker() -> GoalTracker:
    return load_tracker(Path("landmarks-agent"))


def test_names_are_the_labels_of_training(loaded: LoadedTask, tracker: GoalTracker) -> None:
    labels, embedding = loaded.labels, loaded.task.features.embedding
    assert labels is not None
    assert embedding is not None
    assert label_id(labels, "floor") == labels.structure_id("floor")
    assert label_id(labels, "room: kitchen") == label_id(labels, "room:k") == labels.room_id("k")
    assert label_id(labels, "room: toilet") == labels.room_id("t") != label_id(labels, "toilet")
    assert label_id(labels, "room: D") == labels.room_id("D") != labels.room_id("d")
    assert label_id(labels, "Plush#Armchair") == labels.object_id("armchair")
    assert label_id(labels, "flux capacitor") == labels.structure_id("unknown object")
    assert tracker.label_features is not None
    expected = embedding.weight[[labels.structure_id("floor"), labels.object_id("stove")]]
    assert torch.equal(tracker.label_features(["floor", "stove"]), expected)
    with pytest.raises(UnknownNameError, match=r"unknown room 'kitchn'.*kitchen"):
        label_id(labels, "room: kitchn")


def test_it_sees_and_predicts_as_in_evaluation(loaded: LoadedTask, tracker: GoalTracker, tmp_path: Path) -> None:
    root, labels = DataRoot(make_landmark_root(tmp_path / "root")), loaded.labels
    assert labels is not None
    # Objects as one point each, as a detector gives them, instead of spread over their uncertainty.
    sight = replace(loaded.experiment.landmarks, exact_m=0.2)
    experiment = replace(loaded.experiment, landmarks=sight)
    data = load_goal_data(root, experiment, vocabulary=loaded.vocabulary, labels=labels, training=False)
    example = data.train[5]
    walk = [example.start, example.goal]
    expected = loaded.task.predict(data.builder.build([example], [walk]), data.stored)

    graph, scene = root.graph(example.scan), load_scene(root, example.scan)
    names = [f"room: {label.name}" if label.kind == "room" else label.name for label in labels.labels]
    x_m, y_m, z_m = graph.position_m[example.start].tolist()
    state = tracker.start(example.text, Pose(x_m, y_m, z_m, example.start_heading_rad))
    masses = [tracker.goal(state).mass]
    for step, row in enumerate(walk):
        x_m, y_m, z_m = graph.position_m[row].tolist()
        view = observe(scene, graph, row, labels, sight)
        camera = camera_to_world([x_m, y_m, z_m], 0.7, -0.2)
        seen = ((view.xyz_m - camera[:3, 3]) @ camera[:3, :3]).tolist()
        landmarks = [Landmark(names[label], (x, y, z)) for label, (x, y, z) in zip(view.label_id, seen, strict=True)]
        state = tracker.observe_landmarks(state, landmarks, Pose(x_m, y_m, z_m, 0.7, -0.2))
        goal = tracker.goal(state)
        np.testing.assert_allclose(goal.mass, expected.goal[0, step].numpy(), atol=1e-6)
        here = np.array(goal.position_m) - state.origin_xy_m
        np.testing.assert_allclose(here, expected.goal_xy_m[0, step].numpy(), atol=1e-3)
        masses.append(goal.mass)
    assert np.abs(masses[1] - masses[0]).sum() > 0.1
    assert np.abs(masses[2] - masses[1]).sum() > 0.01


def test_runs_that_do_not_fit_are_named() -> None:
    with pytest.raises(ConfigError, match="houses-agent reads images; name the backbone"):
        load_tracker(Path("houses-agent"))
    with pytest.raises(ConfigError, match="needs no backbone, got houses-backbone"):
        load_tracker(Path("landmarks-agent"), Path("houses-backbone"))


def test_models_that_cannot_track_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking, "load_backbone", lambda path: SimpleNamespace(channels=7))
    with pytest.raises(ConfigError, match="houses-agent reads 64 features, but other gives 7; name the backbone"):
        load_tracker(Path("houses-agent"), Path("other"))
    monkeypatch.setattr(tracking, "load_task", lambda run: SimpleNamespace(task=SimpleNamespace(kind="lingunet")))
    with pytest.raises(ConfigError, match="run is a lingunet row without a belief to track; name a run of a filter"):
        load_tracker(Path("run"))
