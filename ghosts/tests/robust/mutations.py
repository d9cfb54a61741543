"""Ways to spoil a file: bytes, text encodings, lines, and the values inside JSON. All follow from a seed."""

from __future__ import annotations

import json
import math
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from safetensors.numpy import load, save

_MANY_DIGITS = "@many digits@"
_DEEP = "@deep@"
VALUES: tuple[Any, ...] = (
    None,
    True,
    "text",
    "",
    [],
    {},
    -1,
    0,
    0.5,
    10**400,
    -(10**30),
    10**9,
    70_000,
    _MANY_DIGITS,
    _DEEP,
    1e308,
    -1e308,
    math.nan,
    math.inf,
    "\ud800",
    "x" * 5000,
    "\x00",
    {"a": {"b": [1]}},
    [1, "2", None],
    [[]],
)
"""What a field is replaced by: wrong types, huge and non-finite numbers, text that no encoding can write."""
TOKENS = ("nan", "1e400", "-1", "x", "", "9" * 5000, "٣", "0x10", "1_000", "\ud7ff", "1e308", "a b")
"""What a word of a line is replaced by."""
Case = tuple[str, bytes]
"""What was done, and the file's new content."""


def spoil_bytes(content: bytes, random: np.random.Generator, count: int) -> Iterator[Case]:
    """Truncated, bit-flipped, overwritten, lengthened; empty, zeros, noise."""
    yield "empty", b""
    yield "one byte", content[:1]
    yield "zeros", bytes(len(content))
    yield "noise", random.bytes(max(16, len(content) // 2))
    yield "garbage at the end", content + random.bytes(40)
    yield "twice", content + content
    for _ in range(count):
        keep = int(random.integers(0, len(content)))
        yield f"cut at byte {keep}", content[:keep]
    for where in ("anywhere", "head"):
        for _ in range(count):
            place = int(random.integers(0, len(content) if where == "anywhere" else min(64, len(content))))
            bit = int(random.integers(0, 8))
            spoilt = bytearray(content)
            spoilt[place] ^= 1 << bit
            yield f"bit {bit} of byte {place} flipped", bytes(spoilt)
    for _ in range(count // 2):
        place, run = int(random.integers(0, len(content))), int(random.integers(1, 64))
        yield f"{run} bytes of noise at byte {place}", content[:place] + random.bytes(run) + content[place + run :]
        yield f"{run} bytes lost at byte {place}", content[:place] + content[place + run :]


def spoil_encoding(content: bytes, random: np.random.Generator) -> Iterator[Case]:
    """The same text in foreign encodings, with foreign characters and NUL bytes."""
    text = content.decode("utf-8")
    place = int(random.integers(0, len(text)))
    for encoding in ("utf-16", "utf-16-be", "utf-32", "utf-8-sig", "cp037"):
        yield f"in {encoding}", text.encode(encoding, "replace")
    yield "an é in latin-1", text[:place].encode() + "é".encode("latin-1") + text[place:].encode()
    yield "a NUL byte", text[:place].encode() + b"\0" + text[place:].encode()
    yield "a lone surrogate", text[:place].encode() + "\ud800".encode("utf-8", "surrogatepass") + text[place:].encode()
    yield "Windows line ends", text.replace("\n", "\r\n").encode()
    yield "Unicode line ends", text.replace("\n", "\u2028").encode()


def spoil_lines(content: bytes, random: np.random.Generator, count: int) -> Iterator[Case]:
    """Lines lost, doubled, exchanged; words replaced."""
    lines = content.decode("utf-8").splitlines()
    for _ in range(count):
        row = int(random.integers(0, len(lines)))
        word = TOKENS[int(random.integers(0, len(TOKENS)))]
        words = lines[row].split(" ")
        words[int(random.integers(0, len(words)))] = word
        yield (
            f"line {row + 1}: a word became {word[:10]!r}",
            _joined([*lines[:row], " ".join(words), *lines[row + 1 :]]),
        )
    for _ in range(count // 4):
        row = int(random.integers(0, len(lines)))
        yield f"line {row + 1} lost", _joined(lines[:row] + lines[row + 1 :])
        yield f"line {row + 1} twice", _joined(lines[: row + 1] + lines[row:])


def _joined(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def spoil_json(text: str, random: np.random.Generator, count: int) -> Iterator[tuple[str, str]]:
    """JSON whose fields have wrong values, are missing, twice, or unknown; and documents of another kind.

    Every pattern of field (list positions set aside) is taken in turn, so that a long list does not take all tries.
    """
    for value in VALUES:
        yield f"the whole is {_name(value)}", _written(value)
    patterns: dict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for place in _places(json.loads(text)):
        patterns[tuple("*" if isinstance(step, int) else step for step in place)].append(place)
    keys = sorted(patterns)
    for number in range(count):
        places = patterns[keys[(number * 7) % len(keys)]] if number < len(keys) else None
        if places is None:
            places = patterns[keys[int(random.integers(0, len(keys)))]]
        place = places[int(random.integers(0, len(places)))]
        document = json.loads(text)
        done = _change(document, place, random)
        yield f"{'.'.join(str(step) for step in place)} {done}", _written(document)


def double_fields(text: str, random: np.random.Generator, count: int) -> Iterator[tuple[str, str]]:
    """JSON in which an object has one field twice, with different values."""
    starts = [place for place, letter in enumerate(text) if letter == "{"]
    for _ in range(min(count, len(starts))):
        place = starts[int(random.integers(0, len(starts)))] + 1
        name = text[place:].lstrip()[:40].split('"')[1:2]
        if name:
            yield f"{name[0]} twice at {place}", f'{text[:place]}"{name[0]}": -7, {text[place:]}'


def spoil_tensors(content: bytes, random: np.random.Generator, count: int) -> Iterator[Case]:
    """A checkpoint with tensors that no training writes; its checksum is right."""
    length = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + length])["__metadata__"]
    for _ in range(count):
        tensors = load(content)
        name = sorted(tensors)[int(random.integers(0, len(tensors)))]
        kind, change = list(TENSORS.items())[int(random.integers(0, len(TENSORS)))]
        value = tensors.pop(name)
        changed = change(value)
        if changed is not None:
            tensors[name + (".x" if kind == "renamed" else "")] = np.ascontiguousarray(changed)
        total = 0
        for key in sorted(tensors):
            total = zlib.crc32(tensors[key].tobytes(), total)
        yield f"{name} {kind}", save(tensors, metadata | {"checksum": str(total)})


def _set(value: np.ndarray, number: float) -> np.ndarray:
    """One number of a copy is another one."""
    spoilt = value.astype(np.float32).ravel()
    spoilt[spoilt.size // 2 :][:1] = number
    return spoilt.reshape(value.shape)


TENSORS: dict[str, Callable[[np.ndarray], np.ndarray | None]] = {
    "lost": lambda value: None,
    "renamed": lambda value: value,
    "all NaN": lambda value: np.full(value.shape, np.nan, np.float32),
    "one NaN": lambda value: _set(value, math.nan),
    "one infinite": lambda value: _set(value, -math.inf),
    "1e38": lambda value: np.full(value.shape, 1e38, np.float32),
    "whole numbers": lambda value: value.astype(np.int32),
    "bytes": lambda value: value.astype(np.uint8),
    "of double precision": lambda value: value.astype(np.float64),
    "flat": lambda value: value.reshape(-1)[:, None],
    "empty": lambda value: value.reshape(-1)[:0],
    "one number": lambda value: value.reshape(-1)[:1].sum(),
    "longer": lambda value: np.concatenate([value.reshape(-1), value.reshape(-1)]),
}
"""What a tensor is replaced by."""


def _change(document: Any, place: tuple[Any, ...], random: np.random.Generator) -> str:
    parent = document
    for step in place[:-1]:
        parent = parent[step]
    kind = int(random.integers(0, 12))
    if kind == 0:
        del parent[place[-1]]
        return "lost"
    if kind == 1 and isinstance(parent, list):
        parent.append(parent[place[-1]])
        return "twice"
    if kind == 1:
        parent["unheard of"] = 1
        return "beside an unknown field"
    value = VALUES[int(random.integers(0, len(VALUES)))]
    parent[place[-1]] = value
    return f"became {_name(value)}"


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in items:
        yield (*path, step)
        yield from _places(item, (*path, step))


def _written(value: Any) -> str:
    text = json.dumps(value)
    deep = "[" * 3000 + "]" * 3000
    return text.replace(f'"{_MANY_DIGITS}"', "9" * 5000).replace(f'"{_DEEP}"', deep)


def _name(value: Any) -> str:
    return repr(value)[:24]
