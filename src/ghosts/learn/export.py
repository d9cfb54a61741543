"""Weights to ship: half precision, without optimiser state, with everything that says where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ghosts.learn.checkpoint import load_checkpoint, save_checkpoint


def export_weights(checkpoint: Path, out: Path) -> dict[str, Any]:
    """Write a checkpoint's model in float16.

    Args:
        checkpoint: `best.safetensors` or `last.safetensors` of a run (of the latter, the averaged weights where there
            are any).
        out: file to write.

    Returns:
        What the file says of itself: config, vocabulary, labels, scores, versions and the command that trained it.
    """
    stored = load_checkpoint(checkpoint)
    weights = {**stored.part("model"), **stored.part("ema")}
    half = {f"model/{name}": value.half() if value.dtype == torch.float32 else value for name, value in weights.items()}
    save_checkpoint(out, half, stored.about)
    return stored.about
