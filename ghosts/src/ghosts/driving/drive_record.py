"""A drive kept for pictures: where the body was after every action, and what the agent believed at every look."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ghosts.driving.agent import ContinuousAgent, Look
from ghosts_houses.task.drive import driven
from ghosts_houses.task.episode import ContinuousEpisode
from ghosts_houses.task.scores import CeScores


@dataclass(frozen=True)
class Drive:
    """An episode driven to its end."""

    episode: ContinuousEpisode
    """Over."""
    scores: CeScores
    bumps: tuple[int, ...]
    """Actions that ended at an obstacle, counted from 1."""
    looks: tuple[tuple[int, Look], ...]
    """Actions taken by then, and the look around."""

    def look_at(self, step: int) -> Look | None:
        """The last look around by then; None before the first."""
        by_then = [look for taken, look in self.looks if taken <= step]
        return by_then[-1] if by_then else None


def record_drive(agent: ContinuousAgent, episode: ContinuousEpisode) -> Drive:
    """Let an agent drive until it stops or has no steps left."""
    looks: list[tuple[int, Look]] = []
    bumps: list[int] = []
    watching = replace(agent, watch=lambda look: looks.append((episode.steps, look)))
    for _ in driven(watching.follow, episode):
        if episode.collided:
            bumps.append(episode.steps)
    return Drive(episode, episode.scores, tuple(bumps), tuple(looks))


def beliefs_of(look: Look) -> Float[np.ndarray, "t1 y x"]:
    """The belief at the start and after each filter step, summed over headings; the last one is the goal's."""
    found: np.ndarray = look.estimate.trace.beliefs[0, 0].sum(1).cpu().numpy()
    return found
