"""Checkpoints: one safetensors file with weights, optimiser state and everything needed to go on or to reproduce.

The description (JSON) travels in the file's own metadata, so a checkpoint is whole or not there at all.
"""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ghosts import __version__
from ghosts.errors import DataError
from ghosts.files import atomic_path

FORMAT = 1


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
    with atomic_path(path) as temporary:
        save_file(kept, temporary, metadata={"format": str(FORMAT), "about": json.dumps(about)})


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        DataError: it is missing, damaged, or of another format version.
    """
    if not path.is_file():
        raise DataError("no such checkpoint", file=path, hint="train one with: ghosts train goal")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError) as error:
        raise DataError(f"damaged checkpoint ({error})", file=path) from None
    if metadata.get("format") != str(FORMAT):
        hint = f"this version reads format {FORMAT}; train again or use the version that wrote it"
        raise DataError("unknown checkpoint format", file=path, field="format", value=metadata.get("format"), hint=hint)
    return Checkpoint(tensors, json.loads(metadata["about"]))


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
