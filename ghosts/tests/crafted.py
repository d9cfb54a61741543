"""Files that our own writers refuse to write, with sums that fit."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import load, save
from torch import Tensor

from ghosts.weights.checkpoint import FORMAT


def write_checkpoint(path: Path, tensors: Mapping[str, Tensor], about: object, **metadata: str) -> Path:
    """A checkpoint of any tensors and any description, its checksum right."""
    text = json.dumps(about)
    # Before format 4 the description had no part in it.
    total = zlib.crc32(text.encode() if metadata.get("format") not in ("2", "3") else b"")
    for name in sorted(tensors):
        total = zlib.crc32(tensors[name].contiguous().numpy().tobytes(), total)
    known = {"format": str(FORMAT), "about": text, "checksum": str(total)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(save({name: value.contiguous() for name, value in tensors.items()}, known | metadata))
    return path


def respoilt(source: Path, target: Path, tensors: Callable[[str, Tensor], Tensor] | None = None, **about: Any) -> Path:
    """A checkpoint with other weights or another description (`...` removes a field), its checksum right."""
    content = source.read_bytes()
    stored = load(content)
    (length,) = struct.unpack_from("<Q", content)
    described = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["about"])
    described = {name: value for name, value in (described | about).items() if value is not ...}
    changed = {
        name: tensors(name, value) if tensors and value.is_floating_point() else value for name, value in stored.items()
    }
    return write_checkpoint(target, changed, described)
