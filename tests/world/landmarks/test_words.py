"""Word vectors: files as they are published, labels that start from them, labels that resemble others."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from ghosts.errors import DataError
from ghosts.files import sha256_file
from ghosts.world.landmarks.format import Landmark, SceneLandmarks
from ghosts.world.landmarks.labels import LabelSet, build_labels
from ghosts.world.landmarks.words import nearest_labels, read_word_vectors, starting_vectors, words_of

GLOVE = """sofa 1.0 0.0 0.0 0.1
couch 0.9 0.1 0.0 0.1
. . . 0.5 0.5 0.5 0.5
bed 0.0 1.0 0.0 0.1
kettle 0.0 0.0 1.0 -0.5
"""


def label_set(*names: str) -> LabelSet:
    items = [Landmark(str(k), name, (0.0, 0.0, 0.0), 0.1, None, "ray", None, ("v",)) for k, name in enumerate(names)]
    return build_labels([SceneLandmarks("s", "test", {"v": None}, tuple(items))])


def written(folder: Path, text: str, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_published_formats_say_the_same(tmp_path: Path) -> None:
    plain = written(tmp_path, GLOVE)
    headed = written(tmp_path, f"5 4\n{GLOVE}", "vectors.vec")
    packed = tmp_path / "vectors.vec.gz"
    packed.write_bytes(gzip.compress(headed.read_bytes()))
    for path in (plain, headed, packed):
        found = read_word_vectors(path, {"sofa", "bed", "lamp"})
        assert found.dimension == 4
        assert sorted(found.words) == ["bed", "sofa"]
        np.testing.assert_array_equal(found.words["sofa"], np.array([1.0, 0.0, 0.0, 0.1], np.float32))
        assert found.sha256 == sha256_file(path)


def test_the_first_of_two_vectors_counts_and_empty_lines_do_not(tmp_path: Path) -> None:
    found = read_word_vectors(written(tmp_path, "bed 1 2\nbed 3 4\n\n"), ["bed"])
    assert found.words["bed"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("5 4\n", None),  # a header alone: no word, which the caller finds out
        ("word\n", "line 1"),
        ("bed 1 2\nsofa 1\n", "line 2"),
        ("bed 1 2\nsofa 1 2 3\n", "expected 2 numbers as before, found 3"),
        ("2 3\nbed 1 2\n", "expected a word and 3 numbers"),
        ("bed 1 soft\n", "expected numbers after the word"),
        ("bed 1 nan\n", "numbers must be finite"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, text: str, message: str | None) -> None:
    path = written(tmp_path, text)
    if message is None:
        assert read_word_vectors(path, ["bed"]).words == {}
        return
    with pytest.raises(DataError) as caught:
        read_word_vectors(path, ["bed", "sofa"])
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_files_that_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_word_vectors(tmp_path / "none.txt", ["bed"])
    binary = tmp_path / "vectors.bin"
    binary.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(DataError, match="not UTF-8 text"):
        read_word_vectors(binary, ["bed"])
    wrong = tmp_path / "vectors.gz"
    wrong.write_bytes(b"bed 1 2\n")
    with pytest.raises(DataError, match="not a whole gzip file"):
        read_word_vectors(wrong, ["bed"])


@pytest.mark.parametrize("channels", [3, 4, 16])
def test_starting_vectors_keep_angles_and_the_usual_size(tmp_path: Path, channels: int) -> None:
    """Seed 0. With channels enough the projection is exact, so centred vectors keep all their angles."""
    random = np.random.default_rng(0)
    names = ["sofa", "bed", "lamp", "sofa bed"]
    lines = [f"{word} {' '.join(f'{value:.4f}' for value in random.normal(size=4))}\n" for word in names[:3]]
    labels = label_set(*names, "zyzzyva")
    vectors = read_word_vectors(written(tmp_path, "".join(lines)), words_of(labels))
    ids, start = starting_vectors(labels, vectors, channels)
    assert ids.tolist() == sorted(labels.object_id(name) for name in names)  # no other label has a known word
    assert start.shape == (4, channels)
    assert np.sqrt((start**2).mean()) == pytest.approx(1.0, abs=1e-5)
    means = {name: vectors.mean(name.split()) for name in names}
    raw = np.stack([means[labels.labels[number].name] for number in ids])
    raw -= raw.mean(0)
    if channels >= 4:
        gram = raw @ raw.T
        np.testing.assert_allclose(start @ start.T / np.trace(start @ start.T), gram / np.trace(gram), atol=1e-5)
    again = starting_vectors(labels, vectors, channels)[1]
    np.testing.assert_array_equal(start, again)


def test_no_known_word(tmp_path: Path) -> None:
    labels = label_set("sofa")
    ids, start = starting_vectors(labels, read_word_vectors(written(tmp_path, "xyz 1 2\n"), words_of(labels)), 8)
    assert ids.shape == (0,)
    assert start.shape == (0, 8)
    assert nearest_labels(labels, ["couch"], read_word_vectors(tmp_path / "vectors.txt", ["couch"])) == {}


def test_a_label_never_seen_is_its_synonym(tmp_path: Path) -> None:
    labels = label_set("sofa", "bed")
    names = ["couch", "kettle", "sofa", "zyzzyva"]
    vectors = read_word_vectors(written(tmp_path, GLOVE), words_of(labels, names))
    aliases = nearest_labels(labels, names, vectors)
    assert aliases == {"couch": "sofa"}  # a kettle resembles nothing here, and the sofa is itself
    known = LabelSet(labels.labels, aliases)
    assert known.object_id("couch") == labels.object_id("sofa")
    assert known.object_id("kettle") == labels.structure_id("unknown object")
    assert known == labels  # what was met is no part of a model's identity
    assert known.to_list() == labels.to_list()
