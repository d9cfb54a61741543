"""Ways to spoil a file, as tables. What is done to a file follows from its content, and everything from a seed."""

from __future__ import annotations

import io
import json
import math
import struct
import tarfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

MANY_DIGITS, DEEP = "@many digits@", "@deep@"
VALUES: tuple[Any, ...] = (
    *(None, True, "text", "", [], {}, -1, 0, 0.5, 10**400, -(10**30), 10**9, 70_000, MANY_DIGITS, DEEP, 1e308, -1e308),
    *(math.nan, math.inf, "\ud800", "x" * 5000, "\x00", {"a": {"b": [1]}}, [1, "2", None], [[]]),
)
"""What a value in JSON becomes: wrong types, huge and non-finite numbers, text that no encoding can write."""
TOKENS = ("nan", "1e400", "-1", "x", "", "9" * 5000, "٣", "0x10", "1_000", "\ud7ff", "1e308", "a b")
"""What a word of a line becomes."""
Place, Random = int, np.random.Generator
BYTES: dict[str, Callable[[bytes, Place, Random], bytes]] = {
    "cut": lambda content, at, random: content[:at],
    "a bit flipped": lambda content, at, random: content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :],
    "noise": lambda content, at, random: content[:at] + (some := random.bytes(at % 63 + 1)) + content[at + len(some) :],
    "bytes lost": lambda content, at, random: content[:at] + content[at + at % 63 + 1 :],
}
WHOLE: dict[str, Callable[[bytes, Random], bytes]] = {
    "empty": lambda content, random: b"",
    "one byte": lambda content, random: content[:1],
    "zeros": lambda content, random: bytes(len(content)),
    "all noise": lambda content, random: random.bytes(max(16, len(content) // 2)),
    "garbage at the end": lambda content, random: content + random.bytes(40),
    "twice": lambda content, random: content + content,
}
ENCODINGS: dict[str, Callable[[str, str], bytes]] = {
    **{
        name: lambda head, tail, name=name: (head + tail).encode(name, "replace")  # type: ignore[misc]
        for name in ("utf-16", "utf-16-be", "utf-32", "utf-8-sig", "cp037")
    },
    "an é in latin-1": lambda head, tail: head.encode() + "é".encode("latin-1") + tail.encode(),
    "a NUL byte": lambda head, tail: head.encode() + b"\0" + tail.encode(),
    "a lone surrogate": lambda head, tail: head.encode() + "\ud800".encode("utf-8", "surrogatepass") + tail.encode(),
    "Windows line ends": lambda head, tail: (head + tail).replace("\n", "\r\n").encode(),
    "Unicode line ends": lambda head, tail: (head + tail).replace("\n", "\u2028").encode(),
}


def _one(value: np.ndarray, number: float) -> np.ndarray:
    spoilt = value.astype(np.float32).ravel()
    spoilt[spoilt.size // 2 :][:1] = number
    return spoilt.reshape(value.shape)


TENSORS: dict[str, Callable[[np.ndarray], np.ndarray | None]] = {
    "lost": lambda value: None,
    "renamed": lambda value: value,
    "all NaN": lambda value: np.full(value.shape, np.nan, np.float32),
    "one NaN": lambda value: _one(value, math.nan),
    "one infinite": lambda value: _one(value, -math.inf),
    "1e38": lambda value: np.full(value.shape, 1e38, np.float32),
    "whole numbers": lambda value: value.astype(np.int32),
    "bytes": lambda value: value.astype(np.uint8),
    "of double precision": lambda value: value.astype(np.float64),
    "flat": lambda value: value.reshape(-1)[:, None],
    "empty": lambda value: value.reshape(-1)[:0],
    "one number": lambda value: value.reshape(-1)[:1].sum(),
    "longer": lambda value: np.concatenate([value.reshape(-1), value.reshape(-1)]),
}
"""What a tensor of a checkpoint becomes; the checksum is right."""
Case = tuple[str, bytes]
"""What was done, and the file's new content."""


def spoil(path: Path, content: bytes, random: Random, count: int) -> Iterator[Case]:
    """All kinds of damage that a file's content allows, `count` times those that follow from chance."""
    for what, change in WHOLE.items():
        yield what, change(content, random)
    for what, damage in BYTES.items():
        for last in (len(content), min(64, len(content)))[: 1 + (what == "a bit flipped")]:
            for at in random.integers(0, last, count).tolist():
                yield f"{what} at byte {at}", damage(content, at, random)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = ""
    if text:
        at = int(random.integers(0, len(text)))
        yield from ((f"{what} at {at}", encode(text[:at], text[at:])) for what, encode in ENCODINGS.items())
        if path.suffix != ".json":
            yield from _lines(text.splitlines(), random, 3 * count)
    yield from _json(path, content, random, 3 * count)
    if path.suffix == ".safetensors" and b'"about"' in content:
        yield from _tensors(content, random, 3 * count)


def _lines(lines: list[str], random: Random, count: int) -> Iterator[Case]:
    for number in range(count):
        row = int(random.integers(0, len(lines)))
        words = lines[row].split(" ")
        words[int(random.integers(0, len(words)))] = str(random.choice(TOKENS))
        middle = {0: [], 1: [lines[row]] * 2}.get(number % 6, [" ".join(words)])
        yield f"line {row + 1} changed", "".join(f"{s}\n" for s in (*lines[:row], *middle, *lines[row + 1 :])).encode()


def _json(path: Path, content: bytes, random: Random, count: int) -> Iterator[Case]:
    """Of a JSON file, the first member of a tar file, or what is in a safetensors file's header."""
    if path.suffix == ".json":
        text, put = content.decode(), lambda text: text.encode("utf-8", "surrogatepass")
    elif path.suffix == ".gz":
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            members = [(member, archive.extractfile(member).read()) for member in archive.getmembers()]  # type: ignore[union-attr]
        text, put = members[0][1].decode(), lambda text: _archive(members, text)
    elif path.suffix == ".safetensors":
        length = struct.unpack_from("<Q", content)[0]
        header = json.loads(content[8 : 8 + length])
        name = "about" if "about" in header["__metadata__"] else "index"
        text, put = header["__metadata__"][name], lambda text: _safetensors(header, name, text, content[8 + length :])
    else:
        return
    for what, changed in _values(text, random, count):
        yield what, put(changed)


def _archive(members: list[tuple[tarfile.TarInfo, bytes]], text: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for number, (member, body) in enumerate(members):
            body = body if number else text.encode("utf-8", "surrogatepass")
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return made.getvalue()


def _safetensors(header: dict[str, Any], name: str, text: str, tensors: bytes) -> bytes:
    metadata = {**header["__metadata__"], name: text}
    if name == "about":
        metadata["checksum"] = str(zlib.crc32(tensors, zlib.crc32(text.encode("utf-8", "surrogatepass"))))
    written = json.dumps({**header, "__metadata__": metadata}).encode()
    written += b" " * (-len(written) % 8)
    return struct.pack("<Q", len(written)) + written + tensors


def _values(text: str, random: Random, count: int) -> Iterator[tuple[str, str]]:
    """Other documents; then every kind of field in turn (a long list does not take all tries) changed or lost."""
    yield from ((f"the whole is {value!r:.24}", _written(value)) for value in VALUES)
    kinds: dict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for place in _places(json.loads(text)):
        kinds[tuple("*" if isinstance(step, int) else step for step in place)].append(place)
    names = sorted(kinds)
    first = int(random.integers(0, len(names)))
    for number in range(count):
        places = kinds[names[(first + 7 * number) % len(names)]]
        *steps, last = places[int(random.integers(0, len(places)))]
        document = parent = json.loads(text)
        for step in steps:
            parent = parent[step]
        value, kind = VALUES[int(random.integers(0, len(VALUES)))], int(random.integers(0, 12))
        if kind == 0:
            del parent[last]
        elif kind == 1 and isinstance(parent, list):
            parent.append(parent[last])
        elif kind == 1:
            parent["unheard of"] = 1
        else:
            parent[last] = value
        done = ("lost", "beside another")[kind] if kind < 2 else f"became {value!r:.24}"
        changed = _written(document)
        if kind == 2 and isinstance(parent, dict) and isinstance(last, str):
            done, changed = (
                "twice",
                changed.replace(json.dumps(last) + ":", f"{json.dumps(last)}: -7, {json.dumps(last)}:", 1),
            )
        yield f"{'.'.join(map(str, (*steps, last)))} {done}", changed


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for step, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, step)
        yield from _places(item, (*path, step))


def _written(value: Any) -> str:
    text = json.dumps(value)
    return text.replace(f'"{MANY_DIGITS}"', "9" * 5000).replace(f'"{DEEP}"', "[" * 3000 + "]" * 3000)


def _tensors(content: bytes, random: Random, count: int) -> Iterator[Case]:
    metadata = json.loads(content[8 : 8 + struct.unpack_from("<Q", content)[0]])["__metadata__"]
    for number in range(count):
        tensors = load(content)
        name = sorted(tensors)[int(random.integers(0, len(tensors)))]
        kind = list(TENSORS)[number % len(TENSORS)]
        changed = TENSORS[kind](tensors.pop(name))
        if changed is not None:
            tensors[name + (".x" if kind == "renamed" else "")] = np.ascontiguousarray(changed)
        total = zlib.crc32(metadata["about"].encode())
        for key in sorted(tensors):
            total = zlib.crc32(tensors[key].tobytes(), total)
        yield f"{name} {kind}", save(tensors, metadata | {"checksum": str(total)})
