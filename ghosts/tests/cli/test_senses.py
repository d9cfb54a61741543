"""Senses from a data root with captions, through training, to an evaluation that shows some of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from ghosts.agent.reader import UNSURE
from ghosts.data.dataset import open_dataset
from ghosts.data.drops import shown_alone
from ghosts.data.symmetry import Symmetry
from ghosts.run.load import load_run
from ghosts_sim.cli import main
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.landmarks.captioners import build_captions
from ghosts_sim.landmarks.captions import captions_file
from ghosts_sim.senses import SENSES, SUITES, Shown
from landmark_world import SCANS, make_landmark_root
from trainings import small_options

SMALL = small_options()
READ = ["--landmarks.captions", "--landmarks.detections", "--landmarks.vectors", "--landmarks.doors"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The combs, with captions to the north and the east of every viewpoint."""
    folder = make_landmark_root(tmp_path_factory.mktemp("combs") / "root")
    said, root = tmp_path_factory.mktemp("said"), DataRoot(folder)
    box = {"label": "chair", "box": [300, 240, 340, 400], "confidence": 0.9}
    for scan in SCANS:
        views = [
            {"viewpoint": name, "heading": heading, "text": text, "boxes": [box]}
            for name in root.graph(scan).ids
            for heading, text in ((0, "a sofa"), (90, "a lamp"))
        ]
        (said / f"{scan}.jsonl").write_text("\n".join(map(json.dumps, views)))
        assert build_captions(said, root.graph(scan), captions_file(folder, scan))
        assert not build_captions(said, root.graph(scan), captions_file(folder, scan))  # up to date
    return folder


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "run"
    hidden = ["--train.hide", "0.5", "--train.narrow", "0.5"]
    main(["train", "goal", *SMALL, *READ, *hidden, "--data", str(data), "--out", str(out)])
    return out


@pytest.mark.parametrize("suite", SUITES)
def test_an_episode_has_the_senses_it_is_shown_alone(data: Path, run: Path, suite: str) -> None:
    found = open_dataset(DataRoot(data), load_run(run).reading)
    examples = found.examples("dev_unseen")[:3]
    walks = [found.walk(example, 4, np.random.default_rng(0)) for example in examples]
    drops = shown_alone(Shown(SUITES[suite]), len(examples))
    labels = found.batch(examples, walks, [Symmetry(True, 1)] * 3, drops).seen.cells.labels
    assert labels is not None
    assert found.labels is not None
    seen = {list(SENSES)[number] for number in found.labels.senses[labels.label.numpy()]}
    assert seen == set(SUITES[suite]) - {"images"}


def test_a_narrow_view_shows_less_and_what_lies_ahead(data: Path, run: Path) -> None:
    found = open_dataset(DataRoot(data), load_run(run).reading)
    example = found.examples("dev_unseen")[0]
    assert found.labels is not None
    names = {found.labels.heard_id("caption", name): name for name in ("sofa", "lamp")}
    for heading, name in ((0.0, "sofa"), (np.pi / 2, "lamp")):
        drops = shown_alone(Shown(view_deg=90), 1)
        cells, _ = found.cells([example], [[example.start]], [Symmetry()], drops, np.array([[heading]]))
        assert cells.labels is not None
        assert {names[number] for number in cells.labels.label.tolist() if number in names} == {name}


def test_an_evaluation_says_what_is_shown_and_what_is_missing(
    data: Path, run: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    where = ["--data", str(data), "--split", "dev_unseen", "--device", "cpu", "--run", str(run)]
    main(["eval", "goal", *where, "--senses", "robot", "--view", "90"])
    text = capfd.readouterr().out
    assert "tiny, shown floor, captions, detections, 90° of view" in text
    missing = "missing: objects, rooms, doorways, ways"
    assert f"senses shown: floor, captions, detections; {missing}" in " ".join(text.split())
    with pytest.raises(SystemExit):
        main(["eval", "goal", *where, "--senses", "smell"])
    assert "unknown sense 'smell'" in capfd.readouterr().err


def test_captions_of_another_building_are_refused_in_one_line(data: Path, run: Path, tmp_path: Path) -> None:
    root = DataRoot(data)
    (tmp_path / "comb0.jsonl").write_text(json.dumps({"viewpoint": "elsewhere", "heading": 0, "text": "a sofa"}))
    with pytest.raises(Exception, match="captions of another building"):
        build_captions(tmp_path, root.graph("comb0"), tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("frozen", [True, False])
def test_a_policy_that_reads_learns(data: Path, run: Path, tmp_path: Path, frozen: bool) -> None:
    options = [*READ, "--model.policy.beyond", "--model.policy.reads", "--model.policy.reader", "16"]
    options += ["--train.freeze-filter", "--train.fresh-policy"] if frozen else []
    small = [word if word != "tiny" else "tiny-agent" for word in SMALL]
    start = ["--warm-start", str(run), "--train.agent-steps", "3", "--train.hide", "0.5", "--train.narrow", "0.5"]
    main(["train", "vln", *small, *options, *start, "--data", str(data), "--out", str(tmp_path / "agent")])
    before, after = load_run(run).filter, load_run(tmp_path / "agent").filter
    assert before is not None
    assert after is not None
    assert after.policy.reader is not None
    assert torch.allclose(after.policy.reader.gate.bias, torch.tensor(UNSURE), atol=0.1)
    assert after.policy.reader.gate.weight.any()  # it started from nothing
    same = [torch.equal(value, before.mapper.state_dict()[name]) for name, value in after.mapper.state_dict().items()]
    assert all(same) == frozen
