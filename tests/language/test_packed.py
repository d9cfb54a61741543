"""Files about words: whatever is damaged, the reader refuses it and says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ghosts.errors import DataError
from ghosts.language import thesaurus, vectors
from ghosts.language.packed import read_packed, write_packed
from reference.word_kin import pack_kin


def make_vectors(path: Path) -> None:
    table = np.array([[1, 2], [3, 4]], np.int8)
    write_packed(path, vectors.FORMAT, ["couch", "sofa"], {"vectors": table, "scale": np.ones(2, np.float16)})


def make_thesaurus(path: Path) -> None:
    pack_kin({"divan": {"sofa": -1.0}}, path)


def test_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "words.safetensors"
    make_vectors(path)
    words, parts = read_packed(path, vectors.FORMAT, vectors.PARTS, "a file of word vectors")
    assert words == ("couch", "sofa")
    assert parts["vectors"].tolist() == [[1, 2], [3, 4]]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("damage", ["missing", "empty", "text", "cut", "flipped", "renamed"])
@pytest.mark.parametrize(
    ("make", "read", "form", "what"),
    [
        (make_vectors, vectors.read_vectors, vectors.FORMAT, "a file of word vectors"),
        (make_thesaurus, thesaurus.read_thesaurus, thesaurus.FORMAT, "a thesaurus"),
    ],
    ids=["vectors", "thesaurus"],
)
def test_a_damaged_file_is_refused(
    tmp_path: Path, make: Callable[[Path], None], read: Callable[[Path], object], form: str, what: str, damage: str
) -> None:
    path = tmp_path / "words.safetensors"
    make(path)
    read(path)
    content = path.read_bytes()
    path.unlink()
    spoilt = {
        "empty": b"",
        "text": b"couch 0.1 0.2\n",
        "cut": content[:-3],
        "flipped": content[:-1] + bytes([content[-1] ^ 1]),
        "renamed": content.replace(form.encode(), form[:-1].encode() + b"9"),
    }
    if damage in spoilt:
        path.write_bytes(spoilt[damage])
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value) == f"{path}: not {what}, or a damaged one; install the package again"
