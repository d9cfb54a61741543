"""Where tensors live: which device a command runs on, and moving what packages exchange."""

from __future__ import annotations

import ctypes
import os
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ghosts_sim.errors import ConfigError

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
"""Of malloc.h: how much freed memory goes back to the system, and how many blocks are the system's own."""


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


def keep_memory() -> None:
    """Ask the C library to keep the memory of tensors on the CPU that are gone, for the next ones.

    Every operation makes and frees megabytes. By default Linux takes them back, and has to fill each page with zeros
    when it is asked for again, which takes longer than the arithmetic. Does nothing where the user has told
    the C library something else (`MALLOC_…`, `GLIBC_TUNABLES`), or it is not Linux's usual one.
    """
    if any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ):
        return
    try:
        tell = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    tell(_MMAP_MAX, 0)
    tell(_TRIM_THRESHOLD, -1)


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
