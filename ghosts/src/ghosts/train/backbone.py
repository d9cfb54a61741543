"""The houses' backbone: a small network trained on semantic labels, then frozen, as ImageNet's is in the paper."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from lightning_fabric import Fabric
from torch import Tensor

from ghosts.config import BackboneConfig, Precision
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.saved_backbone import save_backbone
from ghosts.precision import networks_in
from ghosts.train.labelled_views import LabelledPanoramas, Views, draw_views, held_out_views, recolour, render_labelled
from ghosts.train.task import Share, Task
from ghosts.train.trainer import RunFiles, train
from ghosts_houses.render.scene import LABELS

Rendered = tuple[Float[Tensor, "b h w 3"], Float[Tensor, "b l y x"]]
"""Colour images, and the share of each label in the block of every feature pixel."""


class BackboneTask(Task[tuple[int, Views], Rendered]):
    """Semantic segmentation of random views.

    Args:
        config: how it is trained.
        panoramas: of the houses to train on, on the device.
        held_out: of the houses to score on.
        houses: names of those trained on; recorded with the weights.
    """

    model: SmallBackbone

    def __init__(
        self,
        config: BackboneConfig,
        panoramas: LabelledPanoramas,
        held_out: LabelledPanoramas,
        houses: tuple[str, ...],
    ) -> None:
        torch.manual_seed(config.seed)
        super().__init__(config, SmallBackbone(config.channels, len(LABELS)))
        self.settings, self.panoramas, self.held_out, self.houses = config, panoramas, held_out, houses
        self.weights = label_weights(panoramas, config.balance)
        self.scores: dict[str, float] = {}

    def draw(self, iteration: int, share: Share) -> tuple[int, Views]:
        """Views of an iteration."""
        return iteration, draw_views(self.settings, len(self.panoramas), iteration).part(share.part)

    def ready(self, drawn: tuple[int, Views], fabric: Fabric) -> Rendered:
        """The views rendered, in other colours."""
        iteration, views = drawn
        with torch.autocast(fabric.device.type, enabled=False):
            rgb, shares = render_labelled(self.panoramas, views)
            return recolour(rgb, self.settings, iteration), shares

    def forward(self, batch: Rendered) -> Float[Tensor, ""]:
        """Weighted cross-entropy of the labels."""
        rgb, shares = batch
        return segmentation_loss(self.model.segment(self.model(rgb)), shares, self.weights)

    def score(self, fabric: Fabric) -> dict[str, float]:
        """Pixel accuracy and mean intersection over union on held-out houses."""
        views = held_out_views(self.settings, len(self.held_out))
        batch, precision = self.settings.batch, self.settings.precision
        self.scores = segmentation_scores(self.model, self.held_out, views, batch, precision)
        return self.scores

    def about(self) -> dict[str, Any]:
        """Settings, by the names of their options, and houses."""
        settings = {"train": asdict(self.settings)}
        return {"experiment": settings, "houses": list(self.houses), "panoramas": len(self.panoramas)}


def train_backbone(task: BackboneTask, fabric: Fabric, out: Path) -> None:
    """Train, or go on where a run to the same file stopped; writes the weights as float16.

    Log and state lie beside the file; the state is gone when training is done.
    """
    files = RunFiles(out.with_suffix(".state.safetensors"), out.with_suffix(".log.jsonl"))
    train(task, fabric, files)
    views = held_out_views(task.settings, len(task.panoramas))
    scores = task.scores or task.score(fabric)  # a run that goes on after the last iteration scores no more
    scale_features(task.model, task.panoramas, views, task.settings.batch)
    if fabric.is_global_zero:
        about = {"config": asdict(task.settings), "scores": scores, "houses": list(task.houses)}
        save_backbone(out, task.model, list(LABELS), about)
        files.last.unlink(missing_ok=True)


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
    model: SmallBackbone,
    panoramas: LabelledPanoramas,
    views: Views,
    batch: int,
    precision: Precision = "32-true",
) -> dict[str, float]:
    """Pixel accuracy and mean intersection over union (labels that occur), against each block's commonest label."""
    labels = len(LABELS)
    table = torch.zeros(labels, labels, dtype=torch.long, device=panoramas.labels.device)
    for some in views.split(batch):
        rgb, shares = render_labelled(panoramas, some)
        with networks_in(precision, rgb.device):
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
