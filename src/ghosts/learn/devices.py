"""Which device a command runs on."""

from __future__ import annotations

import os

import torch

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
