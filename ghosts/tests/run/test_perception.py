"""The real loading code, on tiny random BLIP and DETR models that are written here: nothing is downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ghosts.run.perception import load_perception
from ghosts.run.tracker import load_tracker
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.types import Intrinsics, Pose

transformers = pytest.importorskip("transformers")
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[DEC]", "[ENC]", "kitchen", "sink"]
RGB = np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)


def write_blip(folder: Path) -> Path:
    """A captioner that says "kitchen" all the time."""
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    tiny: dict[str, Any] = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    ids = {"bos_token_id": 5, "pad_token_id": 0, "eos_token_id": 3, "sep_token_id": 3}
    text = {"vocab_size": len(WORDS), "encoder_hidden_size": 16, "max_position_embeddings": 48, **ids}
    vision = {"image_size": 32, "patch_size": 16}
    config = transformers.BlipConfig(text_config={**tiny, **text}, vision_config={**tiny, **vision}, projection_dim=8)
    model = transformers.BlipForConditionalGeneration(config)
    with torch.no_grad():
        model.text_decoder.cls.predictions.bias[WORDS.index("kitchen")] = 100.0
    model.save_pretrained(folder)
    words = transformers.BertTokenizer(str(folder / "vocab.txt"), additional_special_tokens=["[DEC]"])
    images = transformers.BlipImageProcessor(size={"height": 32, "width": 32})
    transformers.BlipProcessor(images, words).save_pretrained(folder)
    return folder


def write_detr(folder: Path) -> Path:
    """A detector that sees five chairs anywhere."""
    backbone = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8] * 4, depths=[1] * 4, layer_type="basic", out_features=["stage4"]
    )
    sizes = {
        f"{part}_{what}": 2 for part in ("encoder", "decoder") for what in ("layers", "attention_heads", "ffn_dim")
    }
    names = {0: "chair", 1: "tv"}
    plain = {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None, "id2label": names}
    config = transformers.DetrConfig(backbone_config=backbone, d_model=16, num_queries=5, **sizes, **plain)
    model = transformers.DetrForObjectDetection(config)
    with torch.no_grad():
        model.class_labels_classifier.bias.copy_(torch.tensor([5.0, 0.0, 0.0]))
    model.save_pretrained(folder)
    transformers.DetrImageProcessor(size={"shortest_edge": 64, "longest_edge": 96}).save_pretrained(folder)
    return folder


@pytest.mark.filterwarnings("ignore")
def test_photographs_become_words_on_the_map(tmp_path: Path) -> None:
    torch.manual_seed(0)
    perception = load_perception(write_blip(tmp_path / "blip"), write_detr(tmp_path / "detr"))
    told = perception(RGB)
    assert set(told.caption.split()) == {"kitchen"}
    assert [box.label for box in told.boxes] == ["chair"] * 5
    assert all(0 <= box.edges_px[0] <= box.edges_px[2] <= 64 for box in told.boxes)
    assert load_perception(None, None)(RGB).boxes == ()
    tracker = load_tracker("landmarks-agent", perception=perception)
    pose, camera = Pose(0.0, 0.0, 1.5, 0.0), Intrinsics(64, 48, 1.0)
    start = tracker.start("Walk to the chair.", pose)
    state = tracker.observe(start, RGB, np.full((48, 64), 2.0, np.float32), pose, camera)
    blind = tracker.observe(start, None, np.full((48, 64), 2.0, np.float32), pose, camera)
    assert np.abs(tracker.goal(state).mass - tracker.goal(blind).mass).sum() > 1e-3


def test_models_that_are_not_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match=r"no BlipForConditionalGeneration can be loaded.*save_pretrained"):
        load_perception(tmp_path / "none", None)
    with pytest.raises(ConfigError, match="houses-agent reads images and needs no perception"):
        load_tracker("houses-agent", "houses-backbone", perception=load_perception(None, None))
