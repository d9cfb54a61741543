"""The speaker (Fried et al. 2018): it puts paths into words, and helps to train and to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ghosts.methods.method import Method
from ghosts.methods.speaker import presets

if TYPE_CHECKING:
    from torch import nn

    from ghosts.methods.speaker.model import Speaker


class SpeakerMethod(Method):
    """Paths in, instructions out."""

    model = "ghosts.methods.speaker.model:Speaker"
    trained_by = "ghosts.methods.speaker.task:SpeakerTask"

    def speaker(self, model: nn.Module) -> Speaker | None:
        return model  # type: ignore[return-value]


METHOD = SpeakerMethod("speaker", "a speaker", presets.ALL)
