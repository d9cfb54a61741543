"""A method of one's own: the paper's, but its ghost walks straight on."""

from __future__ import annotations

from ghosts.methods.ghost import GhostMethod
from my_method.settings import my_method


class StraightMethod(GhostMethod):
    """Everything but the model is the paper's."""

    model = "my_method.model:StraightModel"  # a name: torch takes seconds, and `ghosts train --help` should not wait


METHOD = StraightMethod("my_method", "a filter that walks straight on", (my_method,))
