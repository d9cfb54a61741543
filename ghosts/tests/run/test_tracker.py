from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ghosts
from ghosts.agent.sensors import Detection, NamedLabels
from ghosts.agent.tracker import GoalTracker, TrackerState
from ghosts.data.dataset import open_dataset
from ghosts.mapping.landmark_views import observe
from ghosts.methods import preset
from ghosts.run import tracker as run_tracker
from ghosts.run.load import Run, load_run, untrained
from ghosts.run.tracker import load_tracker
from ghosts.words.vectors import shipped_vectors
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError, UnknownNameError
from ghosts_sim.geometry import camera_to_world
from ghosts_sim.landmarks.format import load_scene
from ghosts_sim.types import Pose
from landmark_world import make_landmark_root


@pytest.fixture(scope="module")
def loaded() -> Run:
    return load_run("landmarks-agent")


@pytest.fixture(scope="module")
def tracker() -> GoalTracker:
    return load_tracker("landmarks-agent")


def test_names_are_the_labels_of_training(loaded: Run, tracker: GoalTracker) -> None:
    labels = loaded.reading.labels
    assert labels is not None
    names = NamedLabels(labels, open=False)
    expected = {
        "floor": labels.structure_id("floor"),
        "room: kitchen": labels.room_id("k"),
        "room:k": labels.room_id("k"),
        "room: toilet": labels.room_id("t"),
        "toilet": labels.object_id("toilet"),
        "room: D": labels.room_id("D"),
        "room: d": labels.room_id("d"),
        "Plush#Armchair": labels.object_id("armchair"),
        "flux capacitor": labels.structure_id("unknown object"),
    }
    numbers, vectors = names.read(list(expected))
    assert (numbers.tolist(), vectors) == (list(expected.values()), None)
    assert len(set(numbers.tolist())) == len(expected) - 1
    assert [names.known(name) for name in ("office chair", "room: k", "fridge", "flux capacitor")] == [
        *(True, True, False, False),
    ]  # fmt: skip
    assert tracker.labels is not None
    assert tracker.labels.read(["stove"])[0].tolist() == [labels.object_id("stove")]
    with pytest.raises(UnknownNameError, match=r"unknown room 'kitchn'.*kitchen"):
        names.read(["room: kitchn"])


def test_a_detector_may_say_what_training_never_met(loaded: Run) -> None:
    labels = loaded.reading.labels
    assert labels is not None
    names = NamedLabels(labels, open=True)
    numbers, vectors = names.read(["velvet settee", "chair", "lighthouse", "velvet settee", "xqzt"])
    new, unknown = len(labels), labels.structure_id("unknown object")
    assert numbers.tolist() == [new, labels.object_id("chair"), new + 1, new, unknown]
    assert vectors is not None
    assert vectors.shape == (new + 2, 100)
    torch.testing.assert_close(vectors[new + 1], torch.from_numpy(shipped_vectors().rows(["lighthouse"])[0]))
    assert names.known("velvet settee")
    assert not names.known("xqzt")


def tour(tracker: GoalTracker, seed: int) -> TrackerState:
    """Steps past many things that training never met, each time in another order."""
    words = [word for word in shipped_vectors().words[2000:3000] if word.isalpha()]
    random, state = np.random.default_rng(seed), tracker.start("Walk past the lighthouse.", Pose(0.0, 0.0, 1.5, 0.0))
    for step in range(6):
        xyz = random.uniform(-3.0, 3.0, (40, 3)).tolist()
        seen = [Detection(str(name), (x, y, z)) for name, (x, y, z) in zip(random.choice(words, 40), xyz)]
        state = tracker.observe_landmarks(state, seen, Pose(0.0, 1.0 * step, 1.5, 0.0))
    return state


@pytest.mark.filterwarnings("ignore:the model does not know")
def test_threads_share_a_tracker(loaded: Run) -> None:
    """Label sets that grew in the tracker gave one thread the numbers of another's labels."""
    tracker = load_tracker("landmarks-agent")
    assert tracker.labels is not None
    assert tracker.labels.open
    alone = [tour(load_tracker("landmarks-agent"), seed).map.map for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = [state.map.map for state in pool.map(lambda seed: tour(tracker, seed), range(4))]
    assert all(torch.equal(one, other) for one, other in zip(alone, together))
    assert not torch.equal(alone[0], alone[1])


def test_what_was_detected_before_costs_nothing(loaded: Run) -> None:
    """A step took 11 ms, and 187 ms after 3 892 new labels: all of them were embedded again."""
    labels = loaded.reading.labels
    assert labels is not None
    names, words = NamedLabels(labels, open=True), [f"{word} thing" for word in shipped_vectors().words[:4000]]
    for at in range(0, len(words), 500):
        names.read(words[at : at + 500])
    _, vectors = names.read(["lighthouse"])
    assert vectors is not None
    assert len(vectors) == len(labels) + 1


def test_it_has_a_short_name() -> None:
    from ghosts import Detection as Short

    assert ghosts.load_tracker is load_tracker
    assert "load_tracker" in dir(ghosts)
    assert Short is Detection
    with pytest.raises(AttributeError, match="module 'ghosts' has no attribute 'load_trakcer'"):
        ghosts.load_trakcer  # noqa: B018


def test_it_sees_and_predicts_as_in_evaluation(loaded: Run, tracker: GoalTracker, tmp_path: Path) -> None:
    root, labels = DataRoot(make_landmark_root(tmp_path / "root")), loaded.reading.labels
    assert labels is not None
    # Objects as one point each, as a detector gives them, instead of spread over their uncertainty.
    sight = replace(loaded.reading.landmarks, exact_m=0.2)
    data = open_dataset(root, replace(loaded.reading, landmarks=sight))
    example = data.examples("train")[5]
    walk = [example.start, example.goal]
    batch = data.batch([example], [walk])
    expected = loaded.model.predict(batch.briefing, batch.seen)

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
        landmarks = [Detection(names[label], (x, y, z)) for label, (x, y, z) in zip(view.label_id, seen, strict=True)]
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
        load_tracker("houses-agent")
    with pytest.raises(ConfigError, match="needs no backbone, got houses-backbone"):
        load_tracker("landmarks-agent", "houses-backbone")


def test_models_that_cannot_track_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tracker, "load_backbone", lambda path: SimpleNamespace(channels=7))
    with pytest.raises(ConfigError, match="houses-agent reads 64 features, but other gives 7; name the backbone"):
        load_tracker("houses-agent", "other")
    with pytest.raises(ConfigError, match=r"landmarks-speaker \(a speaker\) has no belief to track; name a run"):
        load_tracker("landmarks-speaker")
    tried = {
        "a sequence-to-sequence agent": preset("tiny-seq2seq", "vln"),
        "the hand-coded rule": preset("hand-coded"),
    }
    for kind, experiment in tried.items():
        monkeypatch.setattr(run_tracker, "load_run", lambda path, experiment=experiment: untrained(experiment))
        with pytest.raises(ConfigError, match=rf"run \({kind}\) has no belief to track; name a run of a filter"):
            load_tracker("run")
