"""Checkpoints: one safetensors file with weights, optimiser state and everything needed to go on or to reproduce.

The description (JSON) travels in the file's own metadata, so a checkpoint is whole or not there at all.
"""

from __future__ import annotations

import json
import platform
import re
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from ghosts import __version__
from ghosts_sim.errors import DataError
from ghosts_sim.files import atomic_path, parse_json, read_bytes

FORMAT, RENAMED, DESCRIBED = 4, 3, 4
"""The format that is written. Since 3 weights have their present names (`_renamed`); since 4 the experiment names its
method, and the checksum covers the description."""
FORMATS = ("2", "3", "4")
"""Formats that are read."""
LAST, BEST, LOG = "last.safetensors", "best.safetensors", "log.jsonl"
BACKBONE = "small-backbone"
"""What the checkpoint of a backbone calls its kind; runs of `ghosts train` have none."""


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

    @property
    def weights(self) -> dict[str, Tensor]:
        """The model's weights, averaged ones where there are any."""
        return {**self.part("model"), **self.part("ema")}


def provenance() -> dict[str, Any]:
    """Versions and command, recorded with every result."""
    return {
        "ghosts": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def save_checkpoint(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write a checkpoint atomically.

    Raises:
        DataError: a number in it is not finite; what was there before stays.
    """
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    check_finite(kept, path, "lower --train.learning-rate; the checkpoint written before is kept")
    text = json.dumps(about)
    metadata = {"format": str(FORMAT), "about": text, "checksum": str(_checksum(kept, text))}
    with atomic_path(path) as temporary:
        # Not save_file: it writes under a temporary name of its own first, which a killed process would leave behind.
        temporary.write_bytes(_in_order(save(kept, metadata)))


def _in_order(content: bytes) -> bytes:
    """A safetensors file with its metadata in alphabetical order; as it is saved, their order differs every time."""
    end = 8 + int.from_bytes(content[:8], "little")
    head = json.loads(content[8:end])
    head = {"__metadata__": dict(sorted(head.pop("__metadata__").items())), **head}
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[end:]


def check_finite(tensors: Mapping[str, Tensor], path: Path, hint: str) -> None:
    """Refuse tensors that hold NaN or infinite numbers: every result would be made of them.

    Raises:
        DataError: naming the first such tensor in alphabetical order.
    """
    # Sorted: safetensors hands tensors over in an order that differs from one reading to the next.
    for name, value in sorted(tensors.items()):
        if value.is_floating_point() and not _is_finite(value):
            raise DataError("holds numbers that are not finite", file=path, field=name, hint=hint)


def _is_finite(value: Tensor) -> bool:
    wide = value.float() if value.itemsize < 4 else value  # small kinds have no such functions
    # Where a sum is finite, so is all of it; that takes a thirtieth of the time. Large numbers have a sum that is not.
    return bool(wide.sum().isfinite()) or bool(torch.isfinite(wide).all())


def _checksum(tensors: dict[str, Tensor], about: str = "") -> int:
    """CRC-32 of the description and of all tensors' bytes in the order of their names."""
    total = zlib.crc32(about.encode())
    for name in sorted(tensors):
        total = zlib.crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, total)
    return total


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        DataError: it is missing, damaged, not finite, or of another format version.
    """
    if not path.is_file():
        raise DataError("no such checkpoint", file=path, hint="train one with: ghosts train goal")
    # The whole file at once: safe_open opens it again for the tensors, and a training run may replace it meanwhile.
    content = read_bytes(path)
    try:
        tensors = load(content)
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__") or {}
    except (SafetensorError, KeyError):  # the second where PyTorch has no such kind of number
        raise DataError("no checkpoint, or a damaged checkpoint", file=path, hint=_DAMAGED) from None
    if metadata.get("format") not in FORMATS:
        hint = f"this version reads formats {', '.join(FORMATS)}; train again or use the version that wrote it"
        raise DataError("unknown checkpoint format", file=path, field="format", value=metadata.get("format"), hint=hint)
    version, text = int(metadata["format"]), metadata.get("about", "null")
    if metadata.get("checksum") != str(_checksum(tensors, text if version >= DESCRIBED else "")):
        raise DataError("damaged checkpoint (its checksum differs)", file=path, hint=_DAMAGED)
    check_finite(tensors, path, _DAMAGED)
    if version < RENAMED:
        tensors = {_renamed(name): value for name, value in tensors.items()}
    about = parse_json(text, path)
    if not isinstance(about, dict):
        raise DataError("expected an object in its description", file=path, field="about", value=about, hint=_DAMAGED)
    return Checkpoint(tensors, about)


def _renamed(name: str) -> str:
    """The present name of a weight of the old format."""
    return re.sub(r"encoder\.(forwards|backwards)", r"encoder.states.\1", name.replace("/model.", "/", 1))


def export_weights(stored: Checkpoint, out: Path) -> None:
    """Write a checkpoint's model in float16, without the optimiser's state: weights to ship or to send.

    Raises:
        DataError: a weight is too large for float16.
    """
    half = {
        f"model/{name}": value.half() if value.is_floating_point() else value for name, value in stored.weights.items()
    }
    check_finite(half, out, "the weight is too large for 16 bits; train with more --train.weight-decay")
    save_checkpoint(out, half, stored.about)


def load_weights(model: nn.Module, checkpoint: Checkpoint, path: Path) -> None:
    """Put a checkpoint's weights into a model, for evaluation.

    Raises:
        DataError: they do not fit.
    """
    averaged = checkpoint.part("ema")
    if averaged:
        check_fit(dict(model.named_parameters()), averaged, path, "averaged weights")
    put_weights(model, checkpoint.weights, path)
    model.eval()


def put_weights(model: nn.Module, weights: Mapping[str, Tensor], path: Path) -> None:
    """Put weights into a model.

    Raises:
        DataError: they do not fit.
    """
    check_fit(model.state_dict(), weights, path)
    model.load_state_dict(weights)


def check_fit(ours: Mapping[str, Tensor], weights: Mapping[str, Tensor], path: Path, what: str = "weights") -> None:
    """Refuse weights of other names, sizes or kinds of numbers than a model's.

    Args:
        ours: of the model; nothing need be in them (torch's device `meta`).
        weights: from a file.
        path: the file.
        what: they are, for the message.

    Raises:
        DataError: they do not fit.
    """
    fit = ours.keys() == weights.keys() and all(alike(value, weights[name]) for name, value in ours.items())
    if not fit:
        raise DataError(f"{what} do not fit the settings ({misfit(ours, weights)})", file=path, hint=_DAMAGED)


def alike(ours: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one size, and one kind of numbers."""
    return ours.shape == other.shape and ours.is_floating_point() == other.is_floating_point()


def misfit(ours: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> str:
    """In words, the first of a model's weights that is missing, of another size or kind, or one it does not have."""
    for name, value in ours.items():
        if name not in weights:
            return f"{name} is missing"
        if weights[name].shape != value.shape:
            return f"{name} has the size {_size(weights[name])}, expected {_size(value)}"
        if not alike(value, weights[name]):
            kinds = ("whole numbers", "numbers with a fraction")
            return (
                f"{name} holds {kinds[weights[name].is_floating_point()]}, expected {kinds[value.is_floating_point()]}"
            )
    return "the model has no " + next((name for name in weights if name not in ours), "such weights")


def _size(value: Tensor) -> str:
    return " × ".join(map(str, value.shape)) or "of one number"
