"""The houses' backbone: labelled views, what it learns, resuming, files."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from checks import unchecked
from exact_views import texels
from ghosts.config import BackboneConfig
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.camera_torch import PanoramaBank, render_labels, view_matrices
from ghosts.mapping.saved_backbone import load_backbone, weights_hash
from ghosts.train.backbone import (
    BackboneTask,
    label_weights,
    scale_features,
    segmentation_loss,
    segmentation_scores,
    train_backbone,
)
from ghosts.train.labelled_views import (
    LabelledPanoramas,
    draw_views,
    held_out_views,
    load_labelled,
    recolour,
    render_labelled,
    training_houses,
)
from ghosts.train.task import Share
from ghosts.weights.checkpoint import load_checkpoint
from ghosts_houses.render.scene import LABELS
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.types import Intrinsics
from image_roots import PALETTE, make_image_root
from trainings import one_process, rows_of

CPU = torch.device("cpu")
CONFIG = BackboneConfig(
    channels=16,
    iterations=100,
    batch=8,
    learning_rate=3e-3,
    width=96,
    height=64,
    held_out_views=24,
    log_every=20,
    evaluate_every=50,
    checkpoint_every=20,
)

SMALLER = {"width": 64, "height": 48}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> DataRoot:
    splits = {"train": ("a", "b", "c"), "val_seen": ("a", "b"), "val_unseen": ("d",)}
    return DataRoot(make_image_root(tmp_path_factory.mktemp("data") / "root", splits))


@pytest.fixture(scope="module")
def panoramas(root: DataRoot) -> LabelledPanoramas:
    return load_labelled(root, ["a", "b"], 100, CPU)


def make_task(root: DataRoot, panoramas: LabelledPanoramas, **options: object) -> BackboneTask:
    return BackboneTask(replace(CONFIG, **options), panoramas, load_labelled(root, ["c"], 100, CPU), ("a", "b"))


def interrupted(task: BackboneTask) -> BackboneTask:
    """The task, stopped when it is scored first."""

    def stop(fabric: Fabric) -> dict[str, float]:
        raise KeyboardInterrupt

    task.score = stop  # type: ignore[method-assign]
    return task


def test_houses_of_no_unseen_split(root: DataRoot, tmp_path: Path) -> None:
    assert training_houses(root) == (["a", "b"], ["c"])
    many = tuple(f"h{number:02}" for number in range(20))
    splits = {"train": many, "val_unseen": ("z",), "test": ("h05",)}
    houses, held_out = training_houses(DataRoot(make_image_root(tmp_path / "many", splits, count=2, face_px=8)))
    assert held_out == ["h03", "h19"]
    assert set(houses) == set(many) - {"h03", "h05", "h19"}
    alone = make_image_root(tmp_path / "alone", {"train": ("a", "d"), "val_unseen": ("d",)}, count=2, face_px=8)
    with pytest.raises(DataError, match="fewer than two houses of train"):
        training_houses(DataRoot(alone))


def test_labels_equal_nearest_lookup(root: DataRoot, panoramas: LabelledPanoramas) -> None:
    camera = Intrinsics(48, 32, math.radians(60.0))
    headings, elevations = np.array([0.4, 2.0, 5.1]), np.array([-0.5, 0.0, -0.9])
    which = np.array([0, 4, 2])
    matrices = view_matrices(panoramas.rotations[which], headings, elevations)
    found = render_labels(
        panoramas.labels, 32, torch.from_numpy(which), torch.from_numpy(matrices).float(), camera
    ).numpy()
    for number, panorama in enumerate(which):
        column, row = texels(camera, panoramas.rotations[panorama], headings[number], elevations[number], 32)
        strip = panoramas.labels[panorama].view(32, 192).numpy()
        expected = strip[np.rint(row).astype(int), np.rint(column).astype(int)]
        assert (found[number] == expected).mean() > 0.999  # a ray through a texel's border may round either way


def test_colours_and_labels_belong_together(panoramas: LabelledPanoramas) -> None:
    views = draw_views(replace(CONFIG, batch=16), len(panoramas), 3)
    assert views.flipped.any()
    assert not views.flipped.all()
    rgb, shares = render_labelled(panoramas, views)
    assert rgb.shape == (16, 64, 96, 3)
    assert shares.shape == (16, len(LABELS), 4, 6)
    torch.testing.assert_close(shares.sum(1), torch.ones(16, 4, 6))
    pure = (shares.max(1).values == 1.0).nonzero()
    assert len(pure) > 50
    for item, row, col in pure.tolist():
        block = rgb[item, 16 * row + 4 : 16 * row + 12, 16 * col + 4 : 16 * col + 12].float().mean((0, 1))
        colour = torch.from_numpy(PALETTE[int(shares[item, :, row, col].argmax())]).float()
        assert (block - colour).abs().max() < 40.0


def test_flipped_views_are_mirror_images(panoramas: LabelledPanoramas) -> None:
    views = draw_views(CONFIG, len(panoramas), 0)
    plain = render_labelled(panoramas, replace(views, flipped=np.zeros(8, bool)))
    mirrored = render_labelled(panoramas, replace(views, flipped=np.ones(8, bool)))
    assert (plain[0].flip(2).int() - mirrored[0].int()).abs().max() <= 1
    assert (plain[1].flip(3) - mirrored[1]).abs().mean() < 1e-3


def test_views_depend_on_seed_and_iteration_alone() -> None:
    one, same, other = draw_views(CONFIG, 9, 5), draw_views(CONFIG, 9, 5), draw_views(CONFIG, 9, 6)
    assert np.array_equal(one.headings_rad, same.headings_rad)
    assert one.camera == same.camera
    assert not np.array_equal(one.headings_rad, other.headings_rad)
    rgb = torch.full((2, 2, 2, 3), 100, dtype=torch.uint8)
    assert torch.equal(recolour(rgb, CONFIG, 1), recolour(rgb, CONFIG, 1))
    assert 100.0 * math.exp(-0.5) <= float(recolour(rgb, CONFIG, 1).min()) <= 100.0 * math.exp(0.5)


def test_loss_and_weights_by_hand() -> None:
    strips = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 2]], dtype=torch.uint8)
    bank = PanoramaBank(torch.zeros(2, 4, dtype=torch.int32), None, 1)
    weights = label_weights(LabelledPanoramas(bank, strips, np.zeros((2, 3, 3))), 0.5)
    assert float(weights[2] / weights[1]) == pytest.approx(math.sqrt(7.0))
    assert float(weights[1] * 7 / 8 + weights[2] / 8) == pytest.approx(1.0)
    assert float(weights[[0, *range(3, len(LABELS))]].abs().sum()) == 0.0
    logits = torch.tensor([0.0, math.log(3.0)]).view(1, 2, 1, 1)
    shares = torch.tensor([0.5, 0.5]).view(1, 2, 1, 1)
    # Probabilities ¼ and ¾, weights 1 and 3: (1 · ln 4 + 3 · ln 4⁄3) / 4.
    expected = (math.log(4.0) + 3.0 * math.log(4.0 / 3.0)) / 4.0
    assert float(segmentation_loss(logits, shares, torch.tensor([1.0, 3.0]))) == pytest.approx(expected)


def test_scores_of_a_constant_answer(panoramas: LabelledPanoramas) -> None:
    model = SmallBackbone(4, len(LABELS))
    assert model.head is not None
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.bias.zero_()
        model.head.bias[2] = 1.0
    views = held_out_views(CONFIG, len(panoramas))
    truth = render_labelled(panoramas, views)[1].argmax(1)
    share = float((truth == 2).float().mean())
    scores = segmentation_scores(model, panoramas, views, 7)
    assert scores["pixel_accuracy"] == pytest.approx(share)
    assert scores["mean_iou"] == pytest.approx(share / len(truth.unique()))


def test_scaled_features_say_the_same(panoramas: LabelledPanoramas) -> None:
    torch.manual_seed(2)
    model = SmallBackbone(6, len(LABELS)).requires_grad_(False)
    model.output.weight *= torch.logspace(-1, 1, 6)[:, None, None, None]
    views = held_out_views(CONFIG, len(panoramas))
    rgb, _ = render_labelled(panoramas, views)
    before = model.segment(model(rgb))
    scale_features(model, panoramas, views, 7)
    features = model(rgb)
    torch.testing.assert_close(features.square().mean((0, 2, 3)), torch.ones(6), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(model.segment(features), before, atol=1e-4, rtol=1e-4)


def test_training_learns(root: DataRoot, panoramas: LabelledPanoramas, tmp_path: Path) -> None:
    whole = tmp_path / "whole.safetensors"
    task = make_task(root, panoramas, **SMALLER)
    with unchecked():
        train_backbone(task, one_process(), whole)
    losses = [row["loss"] for row in rows_of(whole) if "loss" in row]
    print("losses", losses, "scores", task.scores)
    # Five labels: ln 5 = 1.6 for a guess among them.
    assert losses[0] > 1.6
    assert losses[-1] < 0.8
    assert task.scores["pixel_accuracy"] > 0.8  # on a house it was not trained on
    assert task.scores["mean_iou"] > 0.6
    assert not list(tmp_path.glob("*.state.safetensors"))


def test_a_stopped_training_resumes_bit_for_bit(root: DataRoot, panoramas: LabelledPanoramas, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.safetensors", tmp_path / "part.safetensors"
    short = {**SMALLER, "iterations": 8, "log_every": 2, "evaluate_every": 4, "checkpoint_every": 3}
    task = make_task(root, panoramas, **short)
    with unchecked():
        train_backbone(task, one_process(), whole)
    with pytest.raises(KeyboardInterrupt), unchecked():
        train_backbone(interrupted(make_task(root, panoramas, **short)), one_process(), part)
    assert not part.exists()
    assert load_checkpoint(part.with_suffix(".state.safetensors")).about["iteration"] == 3
    again = make_task(root, panoramas, **short)
    with unchecked():
        train_backbone(again, one_process(), part)
    assert again.scores == task.scores
    assert rows_of(part) == rows_of(whole)
    assert weights_hash(load_backbone(whole)) == weights_hash(load_backbone(part))
    assert load_checkpoint(part).about["scores"] == task.scores


def test_processes_share_the_views(root: DataRoot, panoramas: LabelledPanoramas) -> None:
    task = make_task(root, panoramas)
    whole = task.draw(3, Share())[1]
    for rank in range(2):
        half = task.draw(3, Share(rank, 2))[1]
        assert np.array_equal(half.headings_rad, whole.headings_rad[rank::2])
        assert np.array_equal(half.which, whole.which[rank::2])


def test_bad_input(root: DataRoot, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="width must be a multiple of 16, got 100"):
        BackboneConfig(width=100)
    bad = DataRoot(make_image_root(tmp_path / "bad", {"train": ("a",)}, count=2, face_px=16))
    label = bad.path / "scans" / "a" / "matterport_skybox_images" / f"{bad.graph('a').ids[1]}_skybox_label_small.png"
    cv2.imwrite(str(label), np.full((16, 96), 250, np.uint8))
    with pytest.raises(DataError, match=r"labels must be below \d+ \(got 250\)"):
        load_labelled(bad, ["a"], 10, CPU)
    label.unlink()
    with pytest.raises(DataError, match="only houses have label images"):
        load_labelled(bad, ["a"], 10, CPU)
