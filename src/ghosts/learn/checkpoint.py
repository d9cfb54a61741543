"""Checkpoints: one safetensors file with weights, optimiser state and everything needed to go on or to reproduce.

The description (JSON) travels in the file's own metadata, so a checkpoint is whole or not there at all.
"""

from __future__ import annotations

import json
import platform
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from ghosts import __version__
from ghosts.errors import DataError
from ghosts.files import atomic_path, parse_json

FORMAT = 2
LAST, BEST = "last.safetensors", "best.safetensors"


_DAMAGED = "copy it again, or remove it and train again"


@dataclass(frozen=True)
class Checkpoint:
    """Tensors by name ("model/…", "ema/…", "optimiser/…") and their description."""

    tensors: dict[str, Tensor]
    about: dict[str, Any]

    def part(self, name: str) -> dict[str, Tensor]:
        """Tensors under `name/`, without the prefix."""
        prefix = f"{name}/"
        return {key.removeprefix(prefix): value for key, value in self.tensors.items() if key.startswith(prefix)}


def provenance() -> dict[str, Any]:
    """Versions and command, recorded with every result."""
    return {
        "ghosts": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def save_checkpoint(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write a checkpoint atomically."""
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {"format": str(FORMAT), "about": json.dumps(about), "checksum": str(_checksum(kept))}
    with atomic_path(path) as temporary:
        # Not save_file: it writes under a temporary name of its own first, which a killed process would leave behind.
        temporary.write_bytes(save(kept, metadata))


def _checksum(tensors: dict[str, Tensor]) -> int:
    """CRC-32 of all bytes in the order of their names."""
    total = 0
    for name in sorted(tensors):
        total = zlib.crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, total)
    return total


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """Where two configs differ, as "train.batch 32 → 64"; tuples equal lists, since JSON knows no tuples.

    Example:
        >>> differences({"train": {"batch": 32}}, {"train": {"batch": 64}})
        ['train.batch 32 → 64']
    """
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            line
            for name in dict.fromkeys([*old, *new])
            for line in differences(old.get(name), new.get(name), f"{where}.{name}" if where else name)
        ]
    same = json.dumps(old) == json.dumps(new)
    return [] if same else [f"{where} {json.dumps(old)} → {json.dumps(new)}"]


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        DataError: it is missing, damaged, or of another format version.
    """
    if not path.is_file():
        raise DataError("no such checkpoint", file=path, hint="train one with: ghosts train goal")
    try:
        # The whole file at once: safe_open opens it again for the tensors, and a training run may replace it meanwhile.
        content = path.read_bytes()
        tensors = load(content)
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__", {})
    except (SafetensorError, OSError):
        raise DataError("no checkpoint, or a damaged checkpoint", file=path, hint=_DAMAGED) from None
    if metadata.get("format") != str(FORMAT):
        hint = f"this version reads format {FORMAT}; train again or use the version that wrote it"
        raise DataError("unknown checkpoint format", file=path, field="format", value=metadata.get("format"), hint=hint)
    if metadata.get("checksum") != str(_checksum(tensors)):
        raise DataError("damaged checkpoint (its checksum differs)", file=path, hint=_DAMAGED)
    about = parse_json(metadata.get("about", "null"), path)
    if not isinstance(about, dict):
        raise DataError("expected an object in its description", file=path, field="about", value=about, hint=_DAMAGED)
    return Checkpoint(tensors, about)


def misfit(ours: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> str:
    """In words, the first of a model's weights that is missing or of another size, or a weight it does not have."""
    for name, value in ours.items():
        if name not in weights:
            return f"{name} is missing"
        if weights[name].shape != value.shape:
            return f"{name} has the size {_size(weights[name])}, expected {_size(value)}"
    return "the model has no " + next((name for name in weights if name not in ours), "such weights")


def _size(value: Tensor) -> str:
    return " × ".join(map(str, value.shape)) or "of one number"


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """An optimiser's state as flat tensors: "<parameter number>/<name>"."""
    state = optimiser.state_dict()["state"]
    return {
        f"{number}/{name}": value if isinstance(value, Tensor) else torch.tensor(value)
        for number, values in state.items()
        for name, value in values.items()
    }


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put flat tensors back into an optimiser of the same parameters."""
    whole = optimiser.state_dict()
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, name = key.split("/")
        state.setdefault(int(number), {})[name] = value
    optimiser.load_state_dict({"state": state, "param_groups": whole["param_groups"]})
