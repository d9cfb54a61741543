"""What a model is asked about an episode."""

from __future__ import annotations

from dataclasses import dataclass

from ghosts_sim.errors import ConfigError
from ghosts_sim.tokens import tokenise

FIXED_WALK, VISITOR = "fixed walk", "visitor"
"""Who walks, if no model does: the fixed walk of goal prediction, the same for all models, or a visitor who clicks."""


@dataclass(frozen=True)
class EpisodeQuery:
    """An instruction given at a pose, and where the agent walks while it builds its map."""

    scan: str
    text: str
    heading_rad: float
    walk: tuple[int, ...]
    """Rows of the graph; the first is the start."""
    path: tuple[int, ...] = ()
    """The demonstrator's, where there is one."""
    instr_id: str = ""
    walked_by: str = VISITOR
    """Who chose the walk: a model by name, `FIXED_WALK`, or a visitor."""

    def __post_init__(self) -> None:
        if not self.walk:
            raise ConfigError("a walk needs at least one viewpoint: its start")
        if not tokenise(self.text):
            raise ConfigError(
                f"the instruction has no words, got {self.text[:80]!r}; write a sentence, such as 'walk to the sofa'"
            )

    @property
    def start(self) -> EpisodeQuery:
        """The instruction at its start: all that reading the words needs."""
        return EpisodeQuery(self.scan, self.text, self.heading_rad, self.walk[:1], self.walk[:1])
