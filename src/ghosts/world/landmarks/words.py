"""Word vectors (GloVe, fastText) for labels: where embeddings start, and what a label outside the set resembles."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int64

from ghosts.errors import DataError
from ghosts.files import sha256_file
from ghosts.limits import open_file
from ghosts.world.landmarks.labels import Label, LabelSet, label_words

SIMILAR = 0.5
"""Least cosine at which one label stands for another. In GloVe's vectors synonyms (sofa, couch) have 0.6 to 0.9,
things of one room (sofa, kettle) mostly less than 0.4."""
_LONGEST = 1 << 20
HINT = "expected a text file, a word and its numbers per line (GloVe .txt, fastText .vec, or either .gz)"


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Vectors of some words."""

    words: Mapping[str, Float32[np.ndarray, " d"]]
    dimension: int
    sha256: str
    """Of the file."""

    def mean(self, words: Iterable[str]) -> Float32[np.ndarray, " d"] | None:
        """Mean vector of the known ones among some words; None where none is known."""
        found = [self.words[word] for word in words if word in self.words]
        return np.stack(found).mean(0) if found else None


def read_word_vectors(path: Path, wanted: Collection[str]) -> WordVectors:
    """Read the vectors of some words; the others are skipped, so that a file of millions needs no memory.

    Args:
        path: GloVe's text format or fastText's (which has a first line of two numbers), perhaps with gzip.
        wanted: lower-case words.

    Raises:
        DataError: the file is missing, empty, or no such text; names the line.
    """
    wanted = set(wanted)
    try:
        with open_file(path) as file, gzip.open(file) if path.suffix == ".gz" else file as content:
            words, dimension = _read(_lines(content, path), path, wanted)
        return WordVectors(words, dimension, sha256_file(path))
    except FileNotFoundError:
        raise DataError("no such file", file=path, hint=HINT) from None
    except UnicodeDecodeError:
        raise DataError("not UTF-8 text", file=path, hint=HINT) from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataError("not a whole gzip file", file=path, hint=HINT) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", file=path, hint=HINT) from None


def _lines(file: BufferedIOBase, path: Path) -> Iterator[str]:
    """Lines of text, none of them longer than a word and its numbers can be."""
    while line := file.readline(_LONGEST + 1):
        if len(line) > _LONGEST:
            raise DataError(f"a line of more than {_LONGEST} bytes", file=path, hint=HINT)
        yield line.decode("utf-8")


def _read(text: Iterable[str], path: Path, wanted: set[str]) -> tuple[dict[str, np.ndarray], int]:
    found: dict[str, np.ndarray] = {}
    dimension = 0
    for number, line in enumerate(text, 1):
        line = line.rstrip()
        if number == 1 and _is_header(line):
            dimension = int(line.split()[1])
            continue
        # fastText separates by spaces and GloVe too; a word may itself contain some (GloVe's ". . .").
        spaces = line.count(" ")
        dimension = dimension or spaces
        if not line and number > 1:
            continue
        if dimension < 1 or spaces < dimension:
            raise DataError(
                f"expected a word and {dimension or 'some'} numbers", file=path, record=f"line {number}", value=line
            )
        word = line[: line.index(" ")]
        if word in wanted and word not in found:
            found[word] = _numbers(line, dimension, path, number)
    if not dimension:
        raise DataError("the file is empty", file=path, hint=HINT)
    return found, dimension


def _is_header(line: str) -> bool:
    """Whether a first line is fastText's: count and dimension, both whole numbers."""
    parts = line.split()
    # More digits than a count or a dimension can have: a word and its number.
    return len(parts) == 2 and all(part.isdecimal() and len(part) < 12 for part in parts) and int(parts[1]) > 0


def _numbers(line: str, dimension: int, path: Path, number: int) -> Float32[np.ndarray, " d"]:
    parts = line.split(" ")[1:]
    if len(parts) != dimension:
        raise DataError(
            f"expected {dimension} numbers as before, found {len(parts)}", file=path, record=f"line {number}"
        )
    try:
        with np.errstate(over="ignore"):  # becomes infinite, which is refused below
            vector = np.array(parts, np.float32)
    except ValueError:
        raise DataError("expected numbers after the word", file=path, record=f"line {number}", value=line) from None
    if not np.isfinite(vector).all():
        raise DataError("numbers must be finite", file=path, record=f"line {number}", value=line)
    return vector


def words_of(labels: LabelSet, names: Iterable[str] = ()) -> set[str]:
    """All words of a label set and of more object labels."""
    return {word for label in labels.labels for word in label.words} | {w for name in names for w in label_words(name)}


def starting_vectors(
    labels: LabelSet, vectors: WordVectors, channels: int
) -> tuple[Int64[np.ndarray, " k"], Float32[np.ndarray, "k c"]]:
    """Where the embeddings of labels start: ids of those with a known word, and their vectors.

    A label's vector is the mean of its words', without what all have in common, projected by a fixed random orthogonal
    matrix (exact where there are channels enough, else close to it), and as large as a random start (variance 1).
    """
    means = [vectors.mean(label.words) for label in labels.labels]
    ids = np.array([number for number, mean in enumerate(means) if mean is not None], np.int64)
    if not len(ids):
        return ids, np.zeros((0, channels), np.float32)
    found = np.stack([mean for mean in means if mean is not None])
    found = found - found.mean(0)
    size = max(vectors.dimension, channels)
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((size, size)))
    projected = found @ turn[: vectors.dimension, :channels]
    scale = float(np.sqrt((projected**2).mean()))
    return ids, (projected / scale if scale > 0.0 else projected).astype(np.float32)


def nearest_labels(labels: LabelSet, names: Iterable[str], vectors: WordVectors) -> dict[str, str]:
    """For object labels outside a set, the one inside whose words mean most nearly the same; dissimilar ones are left.

    Args:
        labels: the set.
        names: object labels; those in the set are left out.
        vectors: of their words.
    """
    inside: list[tuple[Label, np.ndarray]] = []
    for label in labels.labels:
        mean = vectors.mean(label.words) if label.kind == "object" else None
        if mean is not None:
            inside.append((label, mean))
    if not inside:
        return {}
    table = _unit(np.stack([mean for _, mean in inside]))
    found = {}
    for name in sorted(set(names) - labels.objects):
        mean = vectors.mean(label_words(name))
        if mean is None:
            continue
        cosine = table @ _unit(mean[None])[0]
        best = int(cosine.argmax())
        if cosine[best] >= SIMILAR:
            found[name] = inside[best][0].name
    return found


def _unit(vectors: Float32[np.ndarray, "n d"]) -> Float32[np.ndarray, "n d"]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
