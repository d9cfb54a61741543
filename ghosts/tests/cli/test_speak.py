"""`ghosts speak` and `ghosts train speaker`, and what comes of told paths in training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments import acting
from ghosts.data.dataset import Dataset, open_dataset
from ghosts.data.examples import Example
from ghosts.evaluate import vln
from ghosts.evaluate.goal import Execution
from ghosts.evaluate.speech import score_speech
from ghosts.run.load import Run, load_run
from ghosts.run.speak import tell_paths
from ghosts.weights.checkpoint import LAST, load_checkpoint, save_checkpoint
from ghosts_sim.cli import main
from ghosts_sim.dataroot import DataRoot
from landmark_world import make_landmark_root, small_experiment
from makers import viewpoint_id
from view_fixtures import save_untrained


@pytest.fixture(scope="module")
def speaker(combs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two iterations."""
    out = tmp_path_factory.mktemp("runs") / "speaker"
    train("speaker", "tiny-speaker", combs, out)
    return out


def train(kind: str, preset: str, combs: Path, out: Path, *more: str) -> None:
    settings = ("--train.iterations", "2", "--train.batch", "4", "--train.evaluate-every", "2")
    fixed = ("--device", "cpu", "--threads", "0", "--select-examples", "4")
    main(["train", kind, "--preset", preset, "--data", str(combs), "--out", str(out), *settings, *fixed, *more])


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main(["speak", *words])
    assert caught.value.code == 1
    return capsys.readouterr().err.strip()


def test_a_walk_in_words(combs: Path, speaker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walk = ["--data", str(combs), "--scan", "comb3", "--walk", viewpoint_id(300), "--walk", viewpoint_id(306)]
    main(["speak", *walk])
    text = capsys.readouterr().out
    assert text.count("\n") == 1
    assert text.endswith(".\n")
    assert len(text.split()) > 5
    main(["speak", *walk, "--heading", "90"])
    assert capsys.readouterr().out != text
    main(["speak", *walk, "--run", str(speaker)])
    assert capsys.readouterr().out != text


def test_a_walk_in_a_picture(combs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="figures need ghosts[viz]")
    walk = ["--data", str(combs), "--scan", "comb3", "--walk", viewpoint_id(300), "--walk", viewpoint_id(306)]
    picture = tmp_path / "walk.svg"
    main(["speak", *walk, "--out", str(picture)])
    directions, file = capsys.readouterr().out.splitlines()
    assert directions.endswith(".")
    assert file == str(picture)
    assert picture.read_text().startswith("<?xml")
    assert "a picture of the walk is written as .png or .svg or .pdf" in failed(capsys, *walk, "--out", "walk.json")


def test_many_paths_to_train_on(combs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = tmp_path / "told.json"
    words = ["speak", "--data", str(combs), "--paths", "16", "--out", str(told), "--device", "cpu"]
    main([*words, "--label-dropout", "0.4"])
    assert "16 paths with directions in 4 buildings" in capsys.readouterr().out
    records = json.loads(told.read_text())
    assert len(records) == 16
    assert {record["scan"] for record in records} == {"comb0", "comb1", "comb2", "comb4"}
    assert all(record["instructions"][0][0].isupper() for record in records)
    assert {record["hidden_labels"]["share"] for record in records} == {0.4}
    assert len({record["hidden_labels"]["seed"] for record in records}) == 16
    train("goal", "tiny", combs, tmp_path / "run", "--spoken", str(told), "--train.spoken", "0.5")
    assert load_checkpoint(tmp_path / "run" / LAST).about["experiment"]["train"]["spoken"] == 0.5
    with pytest.raises(SystemExit):
        train("goal", "tiny", combs, tmp_path / "other", "--train.spoken", "0.5")
    line = "train.spoken needs instructions that a speaker said; name them with --spoken FILE"
    assert capsys.readouterr().err.strip() == f"ghosts train: {line}"


def test_its_words_beside_peoples(combs: Path, speaker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["speak", "--data", str(combs), "--run", str(speaker), "--device", "cpu"]
    main([*words, "--score", "dev_unseen"])
    run = load_run(speaker)
    data = open_dataset(DataRoot(combs), run.reading)
    examples = data.examples("dev_unseen")
    paths = {example.instr_id.rsplit("_", 1)[0]: example for example in examples}
    people = [[item.text for item in examples if item.instr_id.rsplit("_", 1)[0] == path] for path in paths]
    scores = score_speech(tell_paths(run, data, list(paths.values())), people)
    line = f"BLEU {scores.bleu:.3f}, ROUGE-L {scores.rouge:.3f}, CIDEr {scores.cider:.3f}"
    assert capsys.readouterr().out.endswith(f"{len(paths)} paths of dev_unseen beside people's words: {line}\n")


def test_an_agent_follows_its_words_and_peoples(
    combs: Path, speaker: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """People's are walked as `ghosts eval vln` walks them; the speaker's are its own for the same paths."""
    everywhere = acting(small_experiment(hold_out=0))
    agent, out = save_untrained(tmp_path / "agent.safetensors", combs, everywhere), tmp_path / "scores.json"
    walked: list[list[Example]] = []
    walk = vln.walk_split

    def watched(run: Run, data: Dataset, examples: list[Example], how: Execution) -> list[list[int]]:
        walked.append(examples)
        # By its words the goal is found, by people's as the agent finds it.
        return walk(run, data, examples, how) if len(walked) == 1 else [list(item.path) for item in examples]

    monkeypatch.setattr(vln, "walk_split", watched)
    words = ["--data", str(combs), "--score", "dev_unseen", "--examples", "4", "--device", "cpu", "--batch", "5"]
    main(["speak", *words, "--run", str(speaker), "--follower", str(agent), "--out", str(out)])
    run, follower = load_run(speaker), load_run(agent)
    data, read = (open_dataset(DataRoot(combs), one.reading) for one in (run, follower))
    paths = [data.examples("dev_unseen")[number : number + 3] for number in (0, 6, 12, 18)]
    people = [item for path in paths for item in path]
    said = tell_paths(run, data, [path[0] for path in paths])
    assert [(item.instr_id, item.text) for item in walked[0]] == [(item.instr_id, item.text) for item in people]
    assert [(item.instr_id, item.text) for item in walked[1]] == [
        (path[0].instr_id, text) for path, text in zip(paths, said)
    ]
    assert all(item.path_xy_m.shape[0] == follower.reading.steps for items in walked for item in items)
    found = json.loads(out.read_text())
    assert found["paths"] == 4
    splits = found["followed"]["splits"]
    human, spoken = splits["dev_unseen by people's words"], splits["dev_unseen by the speaker's words"]
    assert [(part["instructions"], part["paths"]) for part in (human, spoken)] == [(12, 4), (4, 4)]
    wanted = vln.score_walks(read.root, people, walk(follower, read, walked[0], Execution(batch=5))).means()
    for name in ("SR", "SPL", "TL"):
        assert human["models"]["agent"][name]["mean"] == pytest.approx(wanted[name]), name
    assert spoken["models"]["agent"]["SR"]["mean"] == spoken["models"]["agent"]["SPL"]["mean"] == 1.0
    text = capsys.readouterr().out
    assert "agent was trained on 1 of these 1 buildings; only the speaker never saw them" in text
    assert "dev_unseen by the speaker's words: 4 instructions of 4 paths" in text


def test_followers_that_do_not_listen(
    combs: Path, speaker: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--data", str(combs), "--run", str(speaker), "--score", "dev_unseen", "--follower")
    hint = "name a run of ghosts train vln, such as landmarks-agent"
    line = f"ghosts speak: landmarks-speaker was not trained to act; {hint}"
    assert failed(capsys, *words, "landmarks-speaker") == line
    knows = acting(small_experiment(), true_beliefs=True)
    bound = save_untrained(tmp_path / "bound.safetensors", combs, knows)
    assert failed(capsys, *words, str(bound)) == f"ghosts speak: bound knows the way without words; {hint}"


def test_mistakes_are_answered_in_a_line(combs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = viewpoint_id(0)
    data = ("--data", str(combs))
    for words, told in (
        ((*data, "--scan", "comb0", "--walk", here), f"a walk needs two viewpoints or more, got {here}"),
        ((*data, "--scan", "comb9", "--walk", here, "--walk", here), "unknown scan 'comb9'"),
        ((*data, "--scan", "comb0", "--walk", here, "--walk", "x"), "unknown viewpoint 'x' in scan comb0"),
        (
            (*data, "--run", "landmarks-agent", "--scan", "comb0", "--walk", here, "--walk", here),
            "landmarks-agent does not speak",
        ),
        ((*data, "--run", "speeker", "--scan", "comb0", "--walk", here, "--walk", here), "speeker: no such run"),
        ((*data, "--paths", "3", "--out", str(tmp_path / "told.txt")), "told.txt"),
    ):
        line = failed(capsys, *words)
        assert line.startswith("ghosts speak: ")
        assert told in line
        assert "\n" not in line


def test_a_speaker_without_labels(
    combs: Path, speaker: Path, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that learned labels in a world of images, and one that lost its own."""
    walk = ("--scan", "houseA", "--walk", "a", "--walk", "b")
    line = failed(capsys, "--data", str(photos), *walk)
    assert line == (
        f"ghosts speak: {photos}: preset landmarks-speaker needs landmarks/; this data root has images; "
        "choose another preset, run or --data"
    )
    stored = load_checkpoint(speaker / LAST)
    tensors = {f"model/{name}": value for name, value in stored.weights.items()}
    lost = tmp_path / "lost.safetensors"
    walk = ("--walk", viewpoint_id(0), "--walk", viewpoint_id(2))
    place = ("--data", str(combs), "--scan", "comb0", *walk, "--run", str(lost))
    save_checkpoint(lost, tensors, stored.about | {"labels": None})
    assert f"{lost}: weights do not fit the settings" in failed(capsys, *place)
    save_checkpoint(lost, tensors, {name: value for name, value in stored.about.items() if name != "labels"})
    assert f"{lost}, field 'labels': missing in the checkpoint's description" in failed(capsys, *place)


def test_told_paths_that_hide_labels_of_images(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = tmp_path / "told.json"
    records = json.loads((photos / "r2r" / "R2R_train.json").read_text())
    hidden = {"hidden_labels": {"share": 0.3, "seed": 1}}
    told.write_text(json.dumps([record | hidden for record in records]))
    with pytest.raises(SystemExit):
        train("goal", "tiny", photos, tmp_path / "run", "--spoken", str(told), "--train.spoken", "0.5")
    assert capsys.readouterr().err.strip() == (
        f"ghosts train: {told}: paths with hidden labels, but images have no labels to hide; "
        "make them again without --label-dropout"
    )


def test_a_building_without_landmarks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is in no split, so it is read for this walk alone; and it has no file of landmarks."""
    root = make_landmark_root(tmp_path / "root")
    source = root / "connectivity" / "comb0_connectivity.json"
    (root / "connectivity" / "other_connectivity.json").write_text(source.read_text())
    with (root / "connectivity" / "scans.txt").open("a") as file:
        file.write("other\n")
    walk = ("--data", str(root), "--scan", "other", "--walk", viewpoint_id(0), "--walk", viewpoint_id(2))
    line = failed(capsys, *walk)
    assert line.startswith(f"ghosts speak: {root / 'landmarks' / 'other.json'}: no such file")
    landmarks = json.loads((root / "landmarks" / "comb0.json").read_text()) | {"scan": "other"}
    (root / "landmarks" / "other.json").write_text(json.dumps(landmarks))
    main(["speak", *walk])
    assert len(capsys.readouterr().out.split()) > 3
