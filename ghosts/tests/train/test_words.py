"""Learning words alone: which are hidden, that they are guessed, and a filter that starts from the encoder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from checks import unchecked
from ghosts.config import VlnExperiment, WordsExperiment
from ghosts.data.dataset import Dataset, open_dataset
from ghosts.data.examples import DEV_UNSEEN, TRAIN, Selection
from ghosts.data.reading import reading_of
from ghosts.presets import landmarks_improved, landmarks_words
from ghosts.run.load import load_run
from ghosts.train.goal import goal_task
from ghosts.train.start import ENCODER
from ghosts.train.task import Share
from ghosts.train.trainer import RunFiles, train
from ghosts.train.vln import check_start
from ghosts.train.words import WordsTask
from ghosts.view.library import load_model
from ghosts.weights.checkpoint import LAST, load_checkpoint, save_checkpoint
from ghosts.words.hidden import HiddenWords, choose_hidden
from ghosts.words.tokens import Vocabulary
from ghosts_sim.cli import main
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError
from landmark_world import load, make_landmark_root, small_experiment


def experiment(**settings: object) -> WordsExperiment:
    base = small_experiment(word_dropout=0.0, **settings)
    return WordsExperiment(**{**vars(base), "name": "words"})


def fabric() -> Fabric:
    return Fabric(accelerator="cpu", devices=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_landmark_root(tmp_path_factory.mktemp("words") / "root")


@pytest.fixture(scope="module")
def data(folder: Path) -> Dataset:
    return load(folder, experiment())


@pytest.fixture(scope="module")
def learned(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> tuple[WordsTask, Path]:
    """A task after training, and its run."""
    out, selection = tmp_path_factory.mktemp("learned"), Selection(DEV_UNSEEN, data.examples(DEV_UNSEEN))
    settings = {"iterations": 100, "batch": 32, "learning_rate": 2e-2, "evaluate_every": 100, "checkpoint_every": 100}
    task = WordsTask(experiment(**settings), data, selection)
    with unchecked():
        train(task, fabric(), RunFiles.of(out), threads=0)
    return task, out


def test_listed_words_are_hidden_and_of_every_instruction_one() -> None:
    vocabulary = Vocabulary(("<pad>", "<unk>", "go", "left"))
    ids = np.array([[2, 3, 2, 3], [1, 3, 2, 0], [1, 9, 0, 0]])  # 9: read by its meaning
    draws = np.array([[0.1, 0.4, 0.14, 0.2], [0.0, 0.9, 0.8, 0.1], [0.1, 0.1, 0.1, 0.1]])
    found = choose_hidden(ids, draws, 0.15, vocabulary)
    assert found.tolist() == [[True, False, True, False], [False, False, True, False], [False] * 4]


def test_a_batch_hides_words_of_the_instructions_as_they_are_read(data: Dataset) -> None:
    task = WordsTask(experiment(batch=8, mirrored=0.0), data)
    whole = task.draw(3, Share())
    hidden = whole.hidden > 0
    assert bool(hidden.any(1).all())
    assert bool((whole.tokens[hidden] == 1).all())
    said = [example.text for example, _ in task.examples(3, Share(), 10)]
    ids = torch.from_numpy(data.vocabulary.encode(said))
    assert torch.equal(torch.where(hidden, whole.hidden, whole.tokens), ids)
    assert torch.equal(whole.lengths, (ids > 0).sum(1))
    for rank in range(2):
        half = task.draw(3, Share(rank, 2))
        assert torch.equal(half.hidden, whole.hidden[rank::2, : half.hidden.shape[1]])
    shares = [float((gaps.hidden > 0).sum() / gaps.lengths.sum()) for gaps in (task.draw(n, Share()) for n in range(9))]
    assert 0.12 < np.mean(shares) < 0.2
    # Nothing to guess is no loss, not a number that is none.
    assert task(replace(whole, hidden=torch.zeros_like(ids))).item() == 0.0


def test_hidden_words_are_guessed_in_a_building_never_seen(learned: tuple[WordsTask, Path], data: Dataset) -> None:
    task, out = learned
    (name, score), *_ = task.score(fabric()).items()
    assert name == "dev_unseen hidden words guessed"
    texts = [example.text for example in data.examples(TRAIN)]
    counts = np.bincount(data.vocabulary.encode(texts).ravel(), minlength=len(data.vocabulary))[2:]
    assert score > 2.0 * counts.max() / counts.sum()
    assert WordsTask(experiment(), data).score(fabric()) == {}
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    assert losses[-1] < 0.5 * losses[0]
    run = load_run(out / LAST)
    assert isinstance(run.model, HiddenWords)
    assert isinstance(run.experiment, WordsExperiment)
    with pytest.raises(DataError, match="has no belief to look into; name a run of the filter"):
        load_model(out / LAST)


def test_a_filter_starts_from_the_encoder(learned: tuple[WordsTask, Path], data: Dataset, folder: Path) -> None:
    start = learned[1] / LAST
    weights = {f"language.{name}": value for name, value in load_checkpoint(start).weights.items()}
    goal = small_experiment()
    plain, warm = (goal_task(goal, data, warm_start=file).model.state_dict() for file in (None, start))
    for name, value in warm.items():
        known = slice(len(data.vocabulary)) if "embedding" in name else ...  # the other rows belong to no word
        taken = name.startswith(ENCODER)
        assert torch.equal(value[known], (weights if taken else plain)[name][known]), name
        assert taken != torch.equal(value[known], plain[name][known]), name
    # Where it has other words, those that both know are taken by name; landmarks and tiles play no part.
    words = replace(data.vocabulary, words=(*data.vocabulary.words[:2], "elsewhere", *data.vocabulary.words[2:]))
    other = replace(data, reading=replace(data.reading, vocabulary=words))
    far = replace(goal, landmarks=replace(goal.landmarks, sight_m=9.0))
    rows = goal_task(far, other, warm_start=start).model.state_dict()[f"{ENCODER}embedding.weight"]
    learned_rows = weights[f"{ENCODER}embedding.weight"]
    for word in data.vocabulary.words:
        assert torch.equal(rows[words.id(word)], learned_rows[data.vocabulary.id(word)])
    assert torch.equal(rows[2], plain[f"{ENCODER}embedding.weight"][2])
    # Sizes must agree, and agents start from filters.
    larger = replace(goal, model=replace(goal.model, language=replace(goal.model.language, hidden=16)))
    size = r"a model of other sizes \(language\.encoder\.states\.forwards\.weight_ih_l0 has the size 32 × 8, exp"
    with pytest.raises(DataError, match=f"{size}.*use the same --model settings"):
        goal_task(larger, data, warm_start=start)
    with pytest.raises(DataError, match="knows words alone and has no filter; start a filter from it with: ghosts"):
        check_start(VlnExperiment(**vars(goal)), folder, start)


def test_the_preset_fits_the_filter_it_is_for(folder: Path, tmp_path: Path) -> None:
    """Words are read by their meaning; the filter sees landmarks that the words never needed."""
    preset, improved = landmarks_words(), landmarks_improved()
    assert replace(preset.model.language, dropout=0.5) == improved.model.language
    small = replace(small_experiment().model.language, vectors=True)
    words, goal = (replace(one, model=replace(small_experiment().model, language=small)) for one in (preset, improved))
    task, file = WordsTask(words, load(folder, words)), tmp_path / "words.safetensors"
    with torch.no_grad():
        for value in task.model.parameters():
            value.uniform_()
    weights = task.model.state_dict()
    save_checkpoint(file, {f"model/{name}": value for name, value in weights.items()}, {"iteration": 0, **task.about()})
    data = load(folder, goal)
    own, project = (f"encoder.embedding.{name}.weight" for name in ("own", "project"))
    taken = goal_task(goal, data, warm_start=file).model.state_dict()
    assert torch.equal(taken[f"language.{project}"], weights[project])
    assert torch.equal(taken[f"language.{own}"][: len(data.vocabulary)], weights[own][: len(data.vocabulary)])
    plain = replace(goal, model=replace(goal.model, language=replace(small, vectors=False)))
    with pytest.raises(
        DataError, match=r"other sizes \(language\.encoder\.embedding\.weight is missing\); use the same"
    ):
        goal_task(plain, load(folder, plain), warm_start=file)


def test_the_command_and_a_speakers_text(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told, run = tmp_path / "told.json", tmp_path / "run"
    records = json.loads((folder / "r2r" / "R2R_train.json").read_text())
    told.write_text(json.dumps([{**record, "instructions": ["walk walk walk"]} for record in records]))
    words = ["train", "words", "--preset", "tiny-words", "--data", str(folder), "--out", str(run)]
    words += ["--device", "cpu", "--threads", "0", "--train.iterations", "2", "--spoken", str(told)]
    main(words)
    about = load_checkpoint(run / LAST).about["experiment"]
    assert (about["name"], about["train"]["spoken"], about["train"]["spoken_until"]) == ("tiny-words", 0.5, 1.0)
    spoken = open_dataset(DataRoot(folder), reading_of(experiment(), training=True), spoken=told)
    said = [example.text for example, _ in WordsTask(experiment(batch=40), spoken).examples(1, Share(), 10)]
    assert 10 < said.count("walk walk walk") < 30
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main([*words, "--hidden-words", "1"])
    assert "hidden_words must lie in (0, 1), got 1.0" in capsys.readouterr().err
