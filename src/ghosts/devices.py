"""Where tensors live: which device a command runs on, and moving what packages exchange."""

from __future__ import annotations

import os
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ghosts.errors import ConfigError


def choose_device(name: str) -> torch.device:
    """A device by name: "cpu", "cuda" (under torchrun, the local process's own), or "auto".

    Raises:
        ConfigError: another name, or CUDA is asked for and not there.
    """
    if name not in ("auto", "cpu", "cuda"):
        raise ConfigError(f"--device must be cpu, cuda or auto, got {name!r}")
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("--device cuda: torch finds no CUDA device here; use --device cpu or auto")
    if name == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


def to_device(value: Any, device: torch.device) -> Any:
    """Move all tensors of nested dataclasses."""
    return _each_tensor(value, lambda tensor: tensor.to(device, non_blocking=True))


def pinned(value: Any) -> Any:
    """Nested dataclasses with their tensors in page-locked memory, from where a GPU fetches them on its own."""
    return _each_tensor(value, lambda tensor: tensor.pin_memory())


def _each_tensor(value: Any, change: Any) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{item.name: _each_tensor(getattr(value, item.name), change) for item in fields(value)})
    return value
