"""A inspector says what evaluation says, whatever way one gets there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ghosts.evaluate.goal import Execution, evaluate_goal
from ghosts.view.inspector import Inspector
from ghosts.view.library import Library
from ghosts.view.query import EpisodeQuery
from ghosts.view.record import EpisodeRecord, corner_m, crop
from ghosts.view.record_json import from_json, to_json
from ghosts_sim.errors import ConfigError, UnknownNameError
from landmark_world import OBJECTS, small_experiment
from view_fixtures import save_untrained


@pytest.mark.parametrize("model", ["small", "plain", "agent", "hand-coded"])
def test_frames_agree_with_the_evaluation(library: Library, model: str) -> None:
    inspector = library.inspector("combs", model)
    examples = inspector.data.examples("dev_unseen")[:3]
    scores = evaluate_goal(inspector.predictor, inspector.data, examples, Execution(threads=0))
    for row, example in enumerate(examples):
        frames = inspector.record(library.query(inspector, "dev_unseen", example.instr_id, fixed=True)).frames
        np.testing.assert_allclose([frame.error_m for frame in frames], scores.error_m[row], atol=2e-3)
        np.testing.assert_allclose([frame.confidence for frame in frames], scores.confidence[row], atol=1e-4)
        np.testing.assert_allclose([frame.seen_m2 for frame in frames], scores.seen_m2[row])
        assert [frame.goal_seen for frame in frames] == scores.goal_seen[row].tolist()


def test_beliefs_are_distributions_and_the_update_is_bayes(record: EpisodeRecord) -> None:
    frame = record.frames[-1]
    np.testing.assert_allclose(frame.beliefs.sum((1, 2, 3)), 1.0, atol=1e-5)
    product = frame.predictions * frame.likelihoods
    product /= product.sum((1, 2, 3), keepdims=True)
    np.testing.assert_allclose(frame.beliefs[1:], product, atol=1e-6)


def test_kept_weights_give_the_kernel_of_every_cell(
    library: Library, inspector: Inspector, record: EpisodeRecord
) -> None:
    """What a page without a server computes is what the filter used, up to eight bits a logarithm."""
    query = library.query(inspector, "dev_unseen", "300_0", fixed=True)
    origin, grid = np.array(inspector.origin(query)), inspector.grid
    assert record.motion is not None
    small = crop(record, margin_cells=1, least=0.05)
    shift = (np.array(corner_m(small.grid, small.origin_xy_m)) - corner_m(grid, inspector.origin(query))) / grid.cell_m
    for row, col in ((0, 0), (3, 5), (8, 8), (15, 15)):
        centre = (np.array([col, row]) + 0.5 - np.array([grid.cols, grid.rows]) / 2) * grid.cell_m + origin
        for step, t in ((0, 1), (3, 2), (7, 4)):
            truth = inspector.cell(query, step, t, (float(centre[0]), float(centre[1]))).kernel
            np.testing.assert_allclose(record.motion.kernel(step, t, row, col), truth, rtol=0.05, atol=1e-6)
    left, bottom = np.rint(shift).astype(int).tolist()
    assert small.motion is not None
    np.testing.assert_array_equal(small.motion.kernel(3, 2, 8 - bottom, 8 - left), record.motion.kernel(3, 2, 8, 8))


def test_a_joint_kernel_keeps_the_most_likely_cells_alone(combs: Path, tmp_path: Path) -> None:
    small = small_experiment()
    motion = replace(small.model.filter.motion, kind="joint")
    model = replace(small.model, filter=replace(small.model.filter, motion=motion))
    path = save_untrained(tmp_path / "joint.safetensors", combs, replace(small, model=model))
    library = Library([combs], [path])
    inspector = library.inspector("combs", "joint")
    shown = inspector.record(replace(library.query(inspector, "dev_unseen", "300_0", fixed=True), walk=(0, 1)))
    assert shown.motion is None
    np.testing.assert_allclose(shown.frames[1].kernels.sum((2, 3)), 1.0, atol=1e-5)
    assert from_json(to_json(shown)).motion is None


def test_kernel_of_every_cell_rebuilds_the_prediction(library: Library, inspector: Inspector) -> None:
    """Mass that leaves all cells by the kernels shown is the prediction shown."""
    query = library.query(inspector, "dev_unseen", "300_0", fixed=True)
    frame, grid = inspector.frame(query, 2), inspector.grid
    assert inspector.filter is not None
    half = inspector.filter.config.filter.motion.kernel // 2
    built = np.zeros((grid.rows + 2 * half, grid.cols + 2 * half))
    origin = np.array(inspector.origin(query))
    for row, col in np.argwhere(frame.beliefs[1].sum(0) > 1e-7):
        centre = (np.array([col, row]) + 0.5 - np.array([grid.cols, grid.rows]) / 2) * grid.cell_m + origin
        view = inspector.cell(query, 2, 2, (float(centre[0]), float(centre[1])))
        assert (view.row, view.col) == (row, col)
        np.testing.assert_allclose(view.kernel.sum((1, 2)), 1.0, atol=1e-5)
        np.testing.assert_allclose(view.posterior, frame.beliefs[2][:, row, col])
        size = 2 * half + 1
        built[row : row + size, col : col + size] += np.einsum("c,cyx->yx", view.before, view.kernel)
    np.testing.assert_allclose(built[half:-half, half:-half], frame.predictions[1].sum(0), atol=1e-5)


def test_stored_kernels_are_those_of_the_most_likely_cells(library: Library, inspector: Inspector) -> None:
    query = library.query(inspector, "dev_unseen", "300_0", fixed=True)
    frame, grid, origin = inspector.frame(query, 0), inspector.grid, np.array(inspector.origin(query))
    for t, (row, col) in enumerate(frame.kernel_cells.tolist()):
        centre = (np.array([col, row]) + 0.5 - np.array([grid.cols, grid.rows]) / 2) * grid.cell_m + origin
        np.testing.assert_array_equal(inspector.cell(query, 0, t + 1, tuple(centre.tolist())).kernel, frame.kernels[t])
        assert frame.beliefs[t].sum(0)[row, col] == frame.beliefs[t].sum(0).max()


def test_words_matter_and_the_future_does_not(library: Library, inspector: Inspector) -> None:
    query = library.query(inspector, "dev_unseen", "300_0", fixed=True)
    other = EpisodeQuery(query.scan, "turn right.", query.heading_rad, query.walk, query.path)
    short = EpisodeQuery(query.scan, query.text, query.heading_rad, query.walk[:2], query.path)
    assert np.abs(inspector.frame(other, 1).beliefs - inspector.frame(query, 1).beliefs).max() > 1e-4
    np.testing.assert_array_equal(inspector.frame(short, 1).beliefs, inspector.frame(query, 1).beliefs)


def test_what_is_not_understood_is_marked_said_and_counted(inspector: Inspector) -> None:
    known, strange, foreign = (
        EpisodeQuery("comb3", text, 0.0, (0, 1)) for text in ("Walk straight.", "Walk xylophone.", "前进 🙂")
    )
    shown = inspector.record(strange)
    assert (shown.words, shown.unknown) == (("walk", "xylophone", "."), (False, True, False))
    assert shown.notes == ("1 of 2 words unknown: xylophone",)
    assert inspector.header(known).notes == ()
    sure = [inspector.frame(query, 1).confidence for query in (known, foreign)]
    assert sure[0] > 0.0
    assert sure[1] == 0.0
    assert inspector.header(replace(known, text="walk " * 90)).notes == ("cut after 80 words (10 left out)",)


def test_labels_seen_on_the_way(library: Library, inspector: Inspector) -> None:
    query = EpisodeQuery("comb3", "go on", 0.0, (0, 1, 2))
    shown = inspector.header(query)
    assert [names[0] for names in shown.labels] == ["hallway (room)"] * 3
    # The thing that stands at the first viewpoint, as the world was made (`landmark_world`).
    assert OBJECTS[3 % len(OBJECTS)] in shown.labels[0]
    assert set(shown.labels[0]) <= {"hallway (room)", "bedroom (room)", *OBJECTS}
    again = from_json(to_json(inspector.record(query)))
    assert (again.labels, again.sights) == (shown.labels, shown.sights)
    # Where the objects among them stand, to point at.
    marks = library.scene("combs", "comb3")["marks"]
    for names, numbers in zip(shown.labels, shown.sights):
        assert {marks[number]["t"] for number in numbers} == {name for name in names if "(room)" not in name}


def test_bad_questions_are_refused(library: Library, inspector: Inspector) -> None:
    query = library.query(inspector, "dev_unseen", "300_0", fixed=True)
    with pytest.raises(ConfigError, match=r"agent step must lie in 0\.\.7, got 8"):
        inspector.frame(query, 8)
    with pytest.raises(ConfigError, match=r"filter step must lie in 1\.\.4"):
        inspector.cell(query, 0, 5, inspector.origin(query))
    with pytest.raises(ConfigError, match="off the map"):
        inspector.cell(query, 0, 1, (1e4, 0.0))
    with pytest.raises(ConfigError, match="no words"):
        EpisodeQuery(query.scan, " ", 0.0, (0,))
    with pytest.raises(UnknownNameError, match="unknown episode"):
        library.query(inspector, "dev_unseen", "nobody")
    with pytest.raises(UnknownNameError, match="unknown building"):
        inspector.frame(EpisodeQuery("elsewhere", "go", 0.0, (0,)), 0)


def test_models_that_read_the_same_share_it(library: Library, inspector: Inspector) -> None:
    assert library.inspector("combs", "plain").data is inspector.data
    assert library.inspector("combs", "hand-coded").data is inspector.data


@pytest.mark.parametrize("model", ["plain", "hand-coded"])
def test_a_model_without_a_filter_shows_its_goal_alone(library: Library, model: str) -> None:
    inspector = library.inspector("combs", model)
    shown = inspector.record(library.query(inspector, "dev_unseen", "300_0", fixed=True))
    assert shown.filter_steps == 0
    assert shown.motion is None
    assert shown.frames[0].beliefs.shape == (1, 1, 32, 32)
    assert shown.frames[0].beliefs.sum() == pytest.approx(1.0, abs=1e-5)
