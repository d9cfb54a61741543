"""The paper's LingUNet baseline: the filter's map and words, and heat instead of a belief."""

from __future__ import annotations

from ghosts.methods.lingunet import presets
from ghosts.methods.method import Method


class LingUNetMethod(Method):
    """Goal and path heat on the map."""

    model = "ghosts.methods.lingunet.model:LingUNetModel"
    trained_by = "ghosts.methods.lingunet.task:LingUNetTask"
    predicts = starts = True


METHOD = LingUNetMethod("lingunet", "LingUNet", presets.ALL)
