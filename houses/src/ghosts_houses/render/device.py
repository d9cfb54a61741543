"""Where pictures are rendered."""

from __future__ import annotations

import os

from ghosts_sim.errors import ConfigError, MissingExtraError


def render_device(name: str) -> str:
    """A device by name: "cpu", "cuda" (under torchrun, the local process's own), or "auto".

    Raises:
        ConfigError: another name, or CUDA is asked for and not there.
        MissingExtraError: CUDA is asked for without torch.
    """
    if name not in ("auto", "cpu", "cuda"):
        raise ConfigError(f"--device must be cpu, cuda or auto, got {name!r}")
    if name == "cpu":
        return name
    try:
        import torch  # here: it takes seconds, and the CPU does not need it
    except ImportError:
        if name == "auto":
            return "cpu"
        raise MissingExtraError("torch", "ghosts-houses[gpu]", "--device cuda") from None
    if torch.cuda.is_available():
        return f"cuda:{int(os.environ.get('LOCAL_RANK', '0')) % torch.cuda.device_count()}"
    if name == "auto":
        return "cpu"
    raise ConfigError("--device cuda: torch finds no CUDA device here; use --device cpu or auto")
