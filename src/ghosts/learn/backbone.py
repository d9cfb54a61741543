"""The houses' backbone: a small network trained on semantic labels, then frozen, as ImageNet's is in the paper.

Everything random of iteration i follows from the seed and i, so that an interrupted run goes on as if it had not been.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from ghosts.errors import DataError
from ghosts.learn.checkpoint import (
    load_checkpoint,
    misfit,
    optimiser_tensors,
    provenance,
    restore_optimiser,
    save_checkpoint,
)
from ghosts.learn.labelled_views import (
    LabelledPanoramas,
    Views,
    draw_views,
    held_out_views,
    recolour,
    render_labelled,
)
from ghosts.mapping.backbone import ResNetBackbone, SmallBackbone
from ghosts.presets import BackboneConfig
from ghosts.weights import resolve
from ghosts.world.houses.render.scene import LABELS

_AGAIN = "copy it again, or train it again with: ghosts backbone"

KIND = "small-backbone"
_MOST_CHANNELS = 1 << 16


def label_weights(panoramas: LabelledPanoramas, balance: float) -> Float[Tensor, " l"]:
    """Weights of the labels in the loss; their mean over the pixels is 1. Labels that never occur weigh nothing."""
    counts = sum(torch.bincount(strip.long(), minlength=len(LABELS)) for strip in panoramas.labels)
    share = torch.as_tensor(counts).double() / panoramas.labels.numel()
    weights = torch.where(share > 0, share.clamp(min=1e-5) ** -balance, 0.0)
    return (weights / (weights * share).sum()).float()


def segmentation_loss(
    logits: Float[Tensor, "b l y x"], shares: Float[Tensor, "b l y x"], weights: Float[Tensor, " l"]
) -> Float[Tensor, ""]:
    """Weighted cross-entropy against the labels' shares."""
    weighted = shares * weights[:, None, None]
    return -(weighted * logits.float().log_softmax(1)).sum() / weighted.sum().clamp(min=1e-6)


@torch.no_grad()
def segmentation_scores(
    model: SmallBackbone, panoramas: LabelledPanoramas, views: Views, batch: int, half: bool = False
) -> dict[str, float]:
    """Pixel accuracy and mean intersection over union (labels that occur), against each block's commonest label."""
    labels = len(LABELS)
    table = torch.zeros(labels, labels, dtype=torch.long, device=panoramas.labels.device)
    for some in views.split(batch):
        rgb, shares = render_labelled(panoramas, some)
        with torch.autocast(rgb.device.type, torch.bfloat16, enabled=half):
            logits = model.segment(model(rgb))
        pairs = shares.argmax(1) * labels + logits.argmax(1)
        table += torch.bincount(pairs.flatten(), minlength=labels * labels).view(labels, labels)
    right, truth, said = table.diagonal().double(), table.sum(1).double(), table.sum(0).double()
    overlap = (right / (truth + said - right).clamp(min=1.0))[truth > 0]
    return {"pixel_accuracy": float(right.sum() / truth.sum()), "mean_iou": float(overlap.mean())}


@torch.no_grad()
def scale_features(model: SmallBackbone, panoramas: LabelledPanoramas, views: Views, batch: int) -> None:
    """Scale every feature channel to a root mean square of 1, in the weights; what the head says does not change.

    Segmentation leaves the features' scale free (3 after 300 iterations); the map's gates would start saturated.
    """
    squares, count = torch.zeros(model.channels, dtype=torch.double, device=panoramas.labels.device), 0
    for some in views.split(batch):
        features = model(render_labelled(panoramas, some)[0])
        squares += features.double().square().sum((0, 2, 3))
        count += features[:, 0].numel()
    scale = (squares / count).sqrt().clamp(min=1e-6).float()
    model.output.weight /= scale[:, None, None, None]
    if model.output.bias is not None:
        model.output.bias /= scale
    if model.head is not None:
        model.head.weight *= scale[:, None, None]  # relu(f / s) · s = relu(f)


@dataclass(frozen=True)
class BackboneRun:
    """One training run of a backbone."""

    config: BackboneConfig
    train: LabelledPanoramas
    held_out: LabelledPanoramas
    houses: tuple[str, ...]
    """Trained on; recorded with the weights."""
    out: Path
    report: Callable[[dict[str, int | float]], None] | None = None
    """Given every row of the log."""

    @property
    def state_path(self) -> Path:
        """Where training goes on from; gone when it is done."""
        return self.out.with_suffix(".state.safetensors")

    @property
    def log_path(self) -> Path:
        """One JSON object a line."""
        return self.out.with_suffix(".log.jsonl")


def train_backbone(run: BackboneRun) -> dict[str, float]:
    """Train, or go on where a run to the same file stopped; writes the weights as float16.

    Returns:
        The scores on held-out houses at the end.

    Raises:
        DataError: the state file belongs to another run, or the loss is not finite.
    """
    config, device = run.config, run.train.labels.device
    torch.manual_seed(config.seed)
    model = SmallBackbone(config.channels, len(LABELS)).to(device)
    on_gpu = device.type == "cuda"
    optimiser = torch.optim.AdamW(
        model.parameters(), config.learning_rate, weight_decay=config.weight_decay, fused=on_gpu
    )
    start = _resume(run, model, optimiser)
    weights = label_weights(run.train, config.balance)
    views = held_out_views(config, len(run.held_out))
    losses: list[Tensor] = []
    scores: dict[str, float] = {}
    for iteration in range(start, config.iterations):
        for group in optimiser.param_groups:
            group["lr"] = _rate(config, iteration)
        rgb, shares = render_labelled(run.train, draw_views(config, len(run.train), iteration))
        with torch.autocast(device.type, torch.bfloat16, enabled=on_gpu):
            logits = model.segment(model(recolour(rgb, config, iteration)))
        loss = segmentation_loss(logits, shares, weights)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.detach())
        done = iteration + 1
        if done % config.log_every == 0 or done == config.iterations:
            _log(run, {"iteration": done, "loss": _finite_mean(losses, done)})
            losses = []
        if done % config.evaluate_every == 0 or done == config.iterations:
            scores = segmentation_scores(model, run.held_out, views, config.batch, on_gpu)
            _log(run, {"iteration": done, **scores})
        if done % config.checkpoint_every == 0 and done < config.iterations:
            _save_state(run, model, optimiser, done)
    scale_features(model, run.train, held_out_views(config, len(run.train)), config.batch)
    save_backbone(run.out, model, {"config": asdict(config), "scores": scores, "houses": list(run.houses)})
    run.state_path.unlink(missing_ok=True)
    return scores


def _rate(config: BackboneConfig, iteration: int) -> float:
    warm = max(1, round(0.05 * config.iterations))
    if iteration < warm:
        return config.learning_rate * (iteration + 1) / warm
    progress = (iteration - warm) / max(1, config.iterations - warm)
    return config.learning_rate * 0.5 * (1.0 + math.cos(math.pi * progress))


def _finite_mean(losses: list[Tensor], iteration: int) -> float:
    mean = float(torch.stack(losses).mean())
    if not math.isfinite(mean):
        raise DataError(f"the loss became {mean} at iteration {iteration}", hint="lower --train.learning-rate")
    return mean


def _log(run: BackboneRun, row: dict[str, int | float]) -> None:
    run.out.parent.mkdir(parents=True, exist_ok=True)
    with open(run.log_path, "a", encoding="utf-8") as log:
        log.write(json.dumps(row) + "\n")
    if run.report is not None:
        run.report(row)


def _save_state(run: BackboneRun, model: SmallBackbone, optimiser: torch.optim.Optimizer, iteration: int) -> None:
    tensors = {f"model/{name}": value for name, value in model.state_dict().items()}
    tensors |= {f"optimiser/{name}": value for name, value in optimiser_tensors(optimiser).items()}
    save_checkpoint(run.state_path, tensors, {"iteration": iteration, **_identity(run)})


def _identity(run: BackboneRun) -> dict[str, Any]:
    return {"config": asdict(run.config), "houses": list(run.houses), "panoramas": len(run.train)}


def _resume(run: BackboneRun, model: SmallBackbone, optimiser: torch.optim.Optimizer) -> int:
    if not run.state_path.is_file():
        run.log_path.unlink(missing_ok=True)
        return 0
    stored = load_checkpoint(run.state_path)
    if {name: stored.about.get(name) for name in _identity(run)} != _identity(run):
        raise DataError("an unfinished run with other settings", file=run.state_path, hint="remove it, or change --out")
    model.load_state_dict(stored.part("model"))
    restore_optimiser(optimiser, stored.part("optimiser"))
    start = int(stored.about["iteration"])
    from ghosts.learn.report import keep_rows  # Lightning takes seconds, which commands that only load need not wait

    keep_rows(run.log_path, start)
    return start


def save_backbone(path: Path, model: SmallBackbone, about: dict[str, Any]) -> None:
    """Write a small backbone (float16 weights) with everything needed to load and to reproduce it."""
    tensors = {f"model/{name}": value.half() for name, value in model.state_dict().items()}
    sizes = {"kind": KIND, "channels": model.channels, "labels": list(LABELS) if model.head is not None else []}
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
    model: SmallBackbone | ResNetBackbone
    if _is_ours(path):
        stored = load_checkpoint(path)
        if stored.about.get("kind") != KIND:
            raise DataError(
                "a checkpoint, but not of a backbone",
                file=path,
                field="kind",
                value=stored.about.get("kind"),
                hint="train one with: ghosts backbone",
            )
        channels, labels = stored.about.get("channels"), stored.about.get("labels")
        if type(channels) is not int or not 1 <= channels <= _MOST_CHANNELS or not isinstance(labels, list):
            raise DataError(
                "not a backbone's description",
                file=path,
                field="channels",
                value=channels,
                hint=_AGAIN,
            )
        model = SmallBackbone(channels, len(labels))
        try:
            model.load_state_dict(stored.part("model"))
        except RuntimeError:
            problem = f"not the weights of a small backbone ({misfit(model.state_dict(), stored.part('model'))})"
            raise DataError(problem, file=path, hint=_AGAIN) from None
    else:
        model = ResNetBackbone()
        model.load_imagenet(path)
    return model.eval().requires_grad_(False)


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
