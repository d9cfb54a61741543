"""Words of photographs, for a tracker that reads captions and detections: BLIP and DETR by `transformers`.

The weights were trained on the words of these two models (`ghosts landmarks --captions`). Models are named as on the
Hugging Face Hub, or by a local folder; only safetensors are loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import UInt8

from ghosts.agent.frames import BoundingBox, Description
from ghosts_sim.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable

CAPTIONER = "Salesforce/blip-image-captioning-base"
DETECTOR = "facebook/detr-resnet-50"
_LEAST = 0.5
"""Boxes of less confidence are not reported; the weights read none either (`PictureConfig.confidence`)."""
_TOKENS = 30


@dataclass(frozen=True, eq=False)
class Perception:
    """A captioner and a detector; either may be missing. Called with an image it says what is in it."""

    captioner: tuple[Any, Any] | None
    """Processor and model."""
    detector: tuple[Any, Any] | None

    @torch.no_grad()
    def __call__(self, rgb: UInt8[np.ndarray, "h w 3"]) -> Description:
        """What is in an image: red, green, blue, 0 to 255."""
        rgb = np.ascontiguousarray(rgb)
        return Description(self._caption(rgb), self._boxes(rgb))

    def _caption(self, rgb: np.ndarray) -> str:
        if self.captioner is None:
            return ""
        processor, model = self.captioner
        inputs = processor(images=rgb, return_tensors="pt").to(model.device)
        words = model.generate(**inputs, max_new_tokens=_TOKENS)
        return str(processor.decode(words[0], skip_special_tokens=True)).strip()

    def _boxes(self, rgb: np.ndarray) -> tuple[BoundingBox, ...]:
        if self.detector is None:
            return ()
        processor, model = self.detector
        inputs, (rows, cols) = processor(images=rgb, return_tensors="pt").to(model.device), rgb.shape[:2]
        (found,) = processor.post_process_object_detection(model(**inputs), _LEAST, [(rows, cols)])
        boxes = []
        for score, label, edges in zip(found["scores"].tolist(), found["labels"].tolist(), found["boxes"].tolist()):
            left, right = sorted(min(max(edge, 0.0), float(cols)) for edge in edges[::2])
            top, bottom = sorted(min(max(edge, 0.0), float(rows)) for edge in edges[1::2])
            boxes.append(BoundingBox(model.config.id2label[label].lower(), (left, top, right, bottom), score))
        return tuple(boxes)


def load_perception(
    captioner: str | Path | None = CAPTIONER,
    detector: str | Path | None = DETECTOR,
    device: str | torch.device = "cpu",
) -> Perception:
    """A captioner and a detector.

    Args:
        captioner: BLIP, by its name on the Hub or a local folder; None for none.
        detector: DETR or another object detector of `transformers`; None for none.
        device: where they compute.

    Raises:
        MissingExtraError: transformers is not installed.
        DataError: there is no such model, or it cannot be loaded.
    """
    try:
        import transformers
    except ImportError:
        raise MissingExtraError("transformers", "perception", "captions and detections of photographs") from None
    words, boxes = transformers.BlipForConditionalGeneration, transformers.AutoModelForObjectDetection
    return Perception(
        _load(captioner, transformers.BlipProcessor, words, device) if captioner is not None else None,
        _load(detector, transformers.AutoImageProcessor, boxes, device) if detector is not None else None,
    )


def _load(name: str | Path, processor: Any, model: Any, device: str | torch.device) -> tuple[Any, Any]:
    load: Callable[..., Any] = model.from_pretrained
    try:
        return processor.from_pretrained(name), load(name, use_safetensors=True).eval().to(device)
    except (OSError, ValueError, KeyError, ImportError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0][:200]
        hint = "name a model of the Hugging Face Hub, or a folder that save_pretrained wrote"
        raise DataError(f"no {model.__name__} can be loaded: {why}", file=str(name), hint=hint) from None
