"""The next move that a page shows is the one the agent makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments import acting, seq2seq_of
from ghosts.config import Experiment, ModelParts
from ghosts.data.walks import walk_seed
from ghosts.evaluate.goal import TIME_STEPS, WALK_SEED
from ghosts.evaluate.vln import score_walks, walk_split
from ghosts.methods.seq2seq.model import Seq2Seq
from ghosts.methods.seq2seq.settings import DecoderConfig
from ghosts.run.load import Run, load_run
from ghosts.view.inspector import Inspector
from ghosts.view.library import Library
from ghosts.view.query import FIXED_WALK, EpisodeQuery
from ghosts.view.record import EpisodeRecord
from ghosts_houses.draw.floor_plan import route
from ghosts_sim.errors import ConfigError, DataError
from landmark_world import small_experiment
from view_fixtures import save_untrained


def rows_walked(inspector: Inspector, query: EpisodeQuery) -> list[int]:
    """Rows an agent walks through, with those between its stops."""
    graph, path = inspector.root.graph(query.scan), list(query.walk[:1])
    for step in range(len(query.walk)):
        path += [graph.index(name) for name in inspector.frame(query, step).choice.moves]
    return path


@pytest.mark.parametrize(("model", "planner"), [("small", True), ("agent", False)])
def test_walking_on_is_what_the_evaluation_walks(
    library: Library, run: Path, agent: Path, model: str, planner: bool
) -> None:
    inspector = library.inspector("combs", model)
    assert inspector.acts == ("planner" if planner else "policy")
    examples = inspector.data.examples("dev_unseen")[::4]
    expected = walk_split(load_run(run if planner else agent), inspector.data, examples, planner=planner)
    asked = [library.query(inspector, "dev_unseen", example.instr_id) for example in examples]
    walked = [rows_walked(inspector, query) for query in asked]
    assert walked == expected
    assert max(map(len, walked)) > 2
    scores = score_walks(inspector.data.root, examples, expected)
    for query, left_m in zip(asked, scores.columns["NE"].tolist()):
        record = inspector.record(query)
        assert (record.walked_by, record.own_walk) == (model, True)
        assert record.left_m == pytest.approx(left_m)
        assert [frame.left_m is None for frame in record.frames] == [True] * (len(record.frames) - 1) + [False]


def test_the_fixed_walk_is_the_evaluations_and_nobodys_own(library: Library) -> None:
    records = []
    for name in ("small", "agent"):
        inspector = library.inspector("combs", name)
        example = inspector.data.examples("dev_unseen")[0]
        query = library.query(inspector, "dev_unseen", example.instr_id, fixed=True)
        assert list(query.walk) == inspector.data.walk(example, TIME_STEPS, walk_seed(WALK_SEED, example.instr_id))
        records.append(inspector.record(query))
    assert records[0].walk == records[1].walk
    assert [(item.walked_by, item.own_walk, item.left_m) for item in records] == [(FIXED_WALK, False, None)] * 2


def test_models_without_a_filter_stop_at_the_step_limit(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    inspector = library.inspector("combs", "hand-coded")
    free = [library.query(inspector, "dev_unseen", f"30{number}_1").walk for number in range(8)]
    assert max(map(len, free)) > 2
    monkeypatch.setattr(ModelParts, "step_limit", 2)
    again = Inspector(inspector.run, inspector.data)
    assert [library.query(again, "dev_unseen", f"30{number}_1").walk for number in range(8)] == [
        walk[:2] for walk in free
    ]


def test_probabilities_and_worth(library: Library, record: EpisodeRecord) -> None:
    inspector = library.inspector("combs", "agent")
    acting = inspector.record(library.query(inspector, "dev_unseen", "300_0"))
    for shown in (acting, record):  # one that acts, one that is led
        for step, frame in enumerate(shown.frames):
            assert set(shown.walk[: step + 1]) == set(frame.choice.visited)
            assert set(frame.choice.visited) < set(frame.choice.candidates)
            assert frame.choice.stops == (frame.choice.chosen in frame.choice.visited)
            assert all(value <= 1.0 for value in frame.choice.candidates.values())
    assert {frame.choice.by for frame in acting.frames} == {"policy"}
    for frame in acting.frames:
        assert sum(frame.choice.candidates.values()) == pytest.approx(1.0, abs=1e-5)
        assert frame.choice.candidates[frame.choice.chosen] == max(frame.choice.candidates.values())


def test_models_without_a_filter_choose_by_mass(library: Library) -> None:
    for name in ("plain", "hand-coded"):
        inspector = library.inspector("combs", name)
        for frame in inspector.record(library.query(inspector, "dev_unseen", "300_0")).frames:
            assert frame.choice.by == inspector.acts == "mass"
            assert sum(frame.choice.candidates.values()) == pytest.approx(1.0, abs=1e-5)


def test_who_chooses(inspector: Inspector) -> None:
    def chooser(experiment: Experiment) -> tuple[str, int]:
        opened = Inspector(replace(inspector.run, name="opened", experiment=experiment), inspector.data)
        assert opened.agent is not None
        return opened.acts, opened.agent.step_limit

    small = small_experiment()
    assert chooser(small) == ("planner", 12)
    assert chooser(acting(small, step_limit=5)) == ("policy", 5)
    assert chooser(acting(small, true_beliefs=True)) == ("planner", 12)


def test_nobody_jumps(inspector: Inspector) -> None:
    graph = inspector.root.graph("comb3")
    choice = inspector.frame(EpisodeQuery("comb3", "go on", 0.0, (0, 1, 2)), 2).choice
    assert {graph.index(name) for name in choice.visited} == {0, 1, 2}
    assert {graph.index(name) for name in choice.candidates} == {0, 1, 2, 3, 5, 6, 8, 9}
    with pytest.raises(ConfigError, match="from neighbour to neighbour"):
        inspector.frame(EpisodeQuery("comb3", "go on", 0.0, (0, 4)), 1)


def test_walks_are_drawn_along_the_graph(library: Library) -> None:
    scene = library.scene("combs", "comb3")
    ids = [point["id"] for point in scene["viewpoints"]]
    assert route(scene, [ids[0], ids[2], ids[6], ids[1]]) == [ids[k] for k in (0, 1, 2, 6, 2, 1)]
    assert route(scene, [ids[3]]) == [ids[3]]
    assert route(scene, [ids[3], ids[3]]) == [ids[3], ids[3]]


def test_an_agent_without_beliefs_is_refused(combs: Path, inspector: Inspector, tmp_path: Path) -> None:
    experiment = seq2seq_of(small_experiment(), DecoderConfig(hidden=8))
    path = save_untrained(tmp_path / "words.safetensors", combs, experiment)
    with pytest.raises(DataError, match="has no belief to look into; name a run of the filter"):
        Library([combs], [path])
    words = Run("words", experiment, Seq2Seq(experiment.model, 9), inspector.data.reading)
    with pytest.raises(ConfigError, match="words has no belief to look into"):
        Inspector(words, inspector.data)
