"""Read tensors from a torch `.pth` file without unpickling anything.

Official ImageNet weights come as such files. Their structure is written in pickle's language, which can call any
function; here its opcodes are only *listed* (`pickletools.genops` decodes and runs nothing) and interpreted by the few
rules below, which know dictionaries, tuples, numbers, strings and tensors. Anything else is refused by name. So is a
file that would take too much memory (`limits`): a few hundred bytes can describe any number of numbers.

`torch.load(weights_only=True)` would save 200 lines. But twice a file could run code through it (CVE-2025-32434 up to
torch 2.5, CVE-2026-24747 up to torch 2.9, which we support). A child process with a memory limit does not stop code.
"""

from __future__ import annotations

import io
import math
import pickletools
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ghosts_sim.errors import DataError
from ghosts_sim.files import read_bytes
from ghosts_sim.limits import check_bytes, read_member

_TYPES: dict[str, np.dtype] = {
    "torch FloatStorage": np.dtype("<f4"),
    "torch DoubleStorage": np.dtype("<f8"),
    "torch HalfStorage": np.dtype("<f2"),
    "torch LongStorage": np.dtype("<i8"),
    "torch IntStorage": np.dtype("<i4"),
}
_DEEPEST = 16
"""Deepest nesting of tuples; describing a tensor takes 3."""
_DESCRIPTION = 100
"""Bytes of memory that a byte of a description can become: one makes an empty dictionary."""
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_HINT = "convert it: safetensors.torch.save_file(torch.load(FILE, weights_only=True), 'weights.safetensors')"


@dataclass(frozen=True)
class _Name:
    """A global the file mentions; never imported."""

    text: str


@dataclass(frozen=True)
class _Storage:
    """Numbers kept elsewhere in the file."""

    key: str
    dtype: np.dtype
    count: int


@dataclass(frozen=True)
class _View:
    """A tensor on a storage."""

    storage: _Storage
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Bytes of its numbers, once they are a tensor of their own."""
        return math.prod(self.size) * self.storage.dtype.itemsize


_DAMAGE = (
    *(ValueError, LookupError, TypeError, AttributeError, OverflowError, MemoryError, RuntimeError, OSError, EOFError),
    *(struct.error, zlib.error, zipfile.BadZipFile),
)
"""Errors that reading a damaged description can raise; nothing is executed."""


class _Unknown(Exception):
    """Something the rules do not know."""


def read_torch_archive(path: Path) -> dict[str, Tensor]:
    """Tensors of a state dict saved by `torch.save`, in either of torch's formats.

    Raises:
        DataError: not such a file, damaged, or its description uses more than plain state dicts need.
    """
    file = io.BytesIO(read_bytes(path))
    try:
        is_zip = zipfile.is_zipfile(file)
        file.seek(0)
        views, load = (_open_zip if is_zip else _open_legacy)(file, path)
        check_bytes(sum(view.bytes for view in views.values()), path, "what its tensors show")
        return {name: _tensor(view, load(view.storage)) for name, view in views.items()}
    except _Unknown as error:
        raise DataError(f"cannot be read without unpickling: it holds {error}", file=path, hint=_HINT) from error
    except _DAMAGE as error:
        raise DataError("no torch file, or a damaged one", file=path, hint="download it again, or " + _HINT) from error


Loader = Callable[[_Storage], np.ndarray]


def _open_zip(file: io.BytesIO, path: Path) -> tuple[dict[str, _View], Loader]:
    archive = zipfile.ZipFile(file)
    [inside] = [name for name in archive.namelist() if name.endswith("/data.pkl")]
    folder = inside.removesuffix("data.pkl")
    if f"{folder}byteorder" in archive.namelist() and read_member(archive, f"{folder}byteorder", path) != b"little":
        raise _Unknown("big-endian numbers")

    views = _views(_interpret(io.BytesIO(read_member(archive, inside, path, _DESCRIPTION))))
    stored = {f"{folder}data/{view.storage.key}" for view in views.values()}
    check_bytes(sum(archive.getinfo(name).file_size for name in stored), path, "what its tensors are kept in")

    @cache
    def content(name: str) -> bytes:
        return read_member(archive, name, path)

    def load(storage: _Storage) -> np.ndarray:
        return np.frombuffer(content(f"{folder}data/{storage.key}"), storage.dtype, storage.count)

    return views, load


def _open_legacy(file: io.BytesIO, path: Path) -> tuple[dict[str, _View], Loader]:
    magic, _protocol, system, described, keys = (_interpret(file) for _ in range(5))
    if magic != _LEGACY_MAGIC:
        raise ValueError("it does not start with torch's magic number")
    if not system["little_endian"]:
        raise _Unknown("big-endian numbers")
    views = _views(described)
    sizes = {view.storage.key: view.storage for view in views.values()}
    arrays = {}
    for key in keys:
        (count,) = struct.unpack("<q", file.read(8))
        if key not in sizes or sizes[key].count != count:
            raise ValueError(f"storage {key!r} has {count} numbers and no tensor of that size")
        arrays[key] = np.frombuffer(file.read(count * sizes[key].dtype.itemsize), sizes[key].dtype, count)
    return views, lambda storage: arrays[storage.key]


def _views(described: Any) -> dict[str, _View]:
    if not isinstance(described, dict):
        raise _Unknown(f"a {type(described).__name__} instead of a dictionary of tensors")
    return {str(name): value for name, value in described.items() if isinstance(value, _View)}


def _tensor(view: _View, numbers: np.ndarray) -> Tensor:
    last = view.offset + sum((size - 1) * stride for size, stride in zip(view.size, view.stride, strict=True))
    if not math.prod(view.size):
        return torch.from_numpy(np.empty(view.size, view.storage.dtype))
    if not 0 <= view.offset <= last < len(numbers) or min(view.stride, default=0) < 0:
        raise ValueError(f"a tensor of size {view.size} reaches beyond its {len(numbers)} numbers")
    strides = [stride * numbers.itemsize for stride in view.stride]
    # Copied: the numbers belong to the file's content, and several tensors may share them.
    return torch.from_numpy(np.lib.stride_tricks.as_strided(numbers[view.offset :], view.size, strides).copy())


def _interpret(file: io.BytesIO) -> Any:
    """Follow one description to its end and return the value it builds."""
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[Any, Any] = {}
    depths: dict[int, int] = {}
    tuples: list[tuple[Any, ...]] = []  # kept alive, so that no other value gets the identity of one

    def nested(values: list[Any]) -> tuple[Any, ...]:
        # Python follows tuples by recursion in C (hashing, comparing), without a limit of its own.
        tuples.append(tuple(values))
        depths[id(tuples[-1])] = depth = 1 + max((depths.get(id(value), 0) for value in values), default=0)
        if depth > _DEEPEST:
            raise _Unknown(f"tuples in tuples, more than {_DEEPEST} deep")
        return tuples[-1]

    def since_mark() -> list[Any]:
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values

    for opcode, argument, _ in pickletools.genops(file):
        match opcode.name:
            case "PROTO":
                pass
            case "STOP":
                return stack.pop()
            case "MARK":
                marks.append(len(stack))
            case "BINPUT" | "LONG_BINPUT":
                memo[argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[argument])
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT" | "BINUNICODE" | "SHORT_BINSTRING":
                stack.append(argument)
            case "NONE" | "NEWTRUE" | "NEWFALSE":
                stack.append({"NONE": None, "NEWTRUE": True, "NEWFALSE": False}[opcode.name])
            case "EMPTY_DICT" | "EMPTY_LIST" | "EMPTY_TUPLE":
                stack.append({"EMPTY_DICT": {}, "EMPTY_LIST": [], "EMPTY_TUPLE": ()}[opcode.name])
            case "TUPLE":
                stack.append(nested(since_mark()))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                count = int(opcode.name[-1])
                stack[-count:] = [nested(stack[-count:])]
            case "APPENDS":
                values = since_mark()
                stack[-1].extend(values)
            case "SETITEM":
                value, key = stack.pop(), stack.pop()
                stack[-1][_key(key)] = value
            case "SETITEMS":
                values = since_mark()
                stack[-1].update(zip(map(_key, values[::2]), values[1::2], strict=True))
            case "GLOBAL":
                stack.append(_Name(str(argument)))
            case "BINPERSID":
                stack.append(_storage(stack.pop()))
            case "REDUCE":
                arguments, function = stack.pop(), stack.pop()
                stack.append(_reduce(function, arguments))
            case "BUILD":
                stack.pop()  # attributes of the dictionary (`_metadata`); no tensor depends on them
            case other:
                raise _Unknown(f"the instruction {other}")
    raise ValueError("its description ends too early")


def _key(value: Any) -> str | int:
    if not isinstance(value, str | int):
        raise _Unknown("a dictionary whose keys are no names")
    return value


def _storage(reference: tuple[Any, ...]) -> _Storage:
    kind, name, key, _device, count = reference[:5]
    if kind != "storage" or not isinstance(name, _Name) or name.text not in _TYPES:
        raise _Unknown(f"a storage of type {getattr(name, 'text', name)}")
    if len(reference) > 5 and reference[5] is not None:
        raise _Unknown("a view of another storage")
    return _Storage(str(key), _TYPES[name.text], int(count))


def _reduce(function: Any, arguments: tuple[Any, ...]) -> Any:
    name = function.text if isinstance(function, _Name) else repr(function)
    if name == "collections OrderedDict" and not arguments:
        return {}
    if name == "torch._utils _rebuild_tensor_v2":
        storage, offset, size, stride = arguments[:4]
        numbers = (offset, *size, *stride)
        if (
            not isinstance(storage, _Storage)
            or not all(type(number) is int for number in numbers)
            or min(size, default=0) < 0
        ):
            raise ValueError("not the place of a tensor")
        return _View(storage, offset, tuple(size), tuple(stride))
    if name == "torch._utils _rebuild_parameter":
        return arguments[0]
    raise _Unknown(f"a call of {name.replace(' ', '.')}")
