"""Backbones on disk: those that `ghosts backbone` trains, and torchvision's ResNet-34."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from ghosts.mapping.backbone import ResNetBackbone, SmallBackbone
from ghosts.weights import resolve
from ghosts.weights.checkpoint import BACKBONE, check_fit, load_checkpoint, load_weights, provenance, save_checkpoint
from ghosts_sim.errors import DataError

_AGAIN = "copy it again, or train it again with: ghosts backbone"
_MOST_CHANNELS = 1 << 16


def save_backbone(path: Path, model: SmallBackbone, labels: list[str], about: dict[str, Any]) -> None:
    """Write a small backbone (float16 weights) with everything needed to load and to reproduce it.

    Args:
        path: file to write.
        model: with or without its segmentation head.
        labels: names of what the head tells apart.
        about: what else the file says of itself.
    """
    tensors = {f"model/{name}": value.half() for name, value in model.state_dict().items()}
    sizes = {"kind": BACKBONE, "channels": model.channels, "labels": labels if model.head is not None else []}
    save_checkpoint(path, tensors, {**sizes, **about, **provenance()})


def load_backbone(path: Path) -> SmallBackbone | ResNetBackbone:
    """A frozen backbone: one that `ghosts backbone` wrote (or that is shipped), or torchvision's ResNet-34 weights.

    Raises:
        DataError: no such file, or neither of the two.
    """
    path = resolve(path)
    if not path.is_file():
        hint = "name houses-backbone (shipped), torchvision's resnet34 .pth, or train one with: ghosts backbone"
        raise DataError("no such backbone", file=path, hint=hint)
    model = _load_small(path) if _is_ours(path) else ResNetBackbone.load_imagenet(path)
    return model.eval().requires_grad_(False)


def _load_small(path: Path) -> SmallBackbone:
    stored = load_checkpoint(path)
    kind, channels, labels = (stored.about.get(name) for name in ("kind", "channels", "labels"))
    if kind != BACKBONE:
        hint = "train one with: ghosts backbone"
        raise DataError("a checkpoint, but not of a backbone", file=path, field="kind", value=kind, hint=hint)
    if type(channels) is not int or not 1 <= channels <= _MOST_CHANNELS or not isinstance(labels, list):
        raise DataError("not a backbone's description", file=path, field="channels", value=channels, hint=_AGAIN)
    with torch.device("meta"):  # where a model of any size takes neither memory nor time
        model = SmallBackbone(channels, len(labels))
    check_fit(model.state_dict(), stored.weights, path)
    model.to_empty(device="cpu")
    load_weights(model, stored, path)
    return model


def _is_ours(path: Path) -> bool:
    if path.suffix != ".safetensors":
        return False
    try:
        with safe_open(path, framework="pt") as file:
            return "about" in (file.metadata() or {})
    except (SafetensorError, OSError):
        raise DataError("not a safetensors file, or a damaged one", file=path, hint=_AGAIN) from None


def weights_hash(model: nn.Module) -> str:
    """Hash of the weights that features depend on: the segmentation head is left out."""
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        if not name.startswith("head.") and not name.endswith("num_batches_tracked"):
            digest.update(f"{name} {tuple(value.shape)}".encode())
            digest.update(value.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]
