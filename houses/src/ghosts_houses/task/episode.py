"""One episode in a house: the body, what it sees, what it has done. The environment and the agents' walks share it."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsIndex

import numpy as np
from jaxtyping import Float32, Int, UInt8

from ghosts_houses.body.moves import Stance, forward, turn
from ghosts_houses.mesh.renderers import axial_m
from ghosts_houses.task.residence import Outfit, Residence, Residences
from ghosts_houses.task.scores import CeScores, ScoreKeeper
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import Instruction
from ghosts_sim.errors import ConfigError
from ghosts_sim.files import read_object
from ghosts_sim.tokens import frequent_words, tokenise
from ghosts_sim.types import Pose

STOP, MOVE_FORWARD, TURN_LEFT, TURN_RIGHT = range(4)
ACTIONS = ("STOP", "MOVE_FORWARD", "TURN_LEFT", "TURN_RIGHT")
MAX_STEPS = 500
MAX_TOKENS = 200
"""VLN-CE's instructions are padded with 0 to this."""


@dataclass(frozen=True)
class Sight:
    """What the camera sees."""

    rgb: UInt8[np.ndarray, "h w 3"]
    """At the size of the depth image."""
    depth_m: Float32[np.ndarray, "h w"]
    """Along the optical axis; 0 where nothing is seen."""
    pose: Pose


class ContinuousEpisode:
    """A body that follows one instruction, for at most so many actions."""

    def __init__(
        self, residence: Residence, root: DataRoot, instruction: Instruction, max_steps: int = MAX_STEPS
    ) -> None:
        self.residence, self.instruction, self.max_steps = residence, instruction, max_steps
        self.places = residence.places(root.graph(instruction.episode.scan), instruction.episode.path)
        self.reference_m = residence.demonstration_m(self.places, residence.outfit.forward_m)
        self.goal = self.places[-1]
        self.stance: Stance = turn(self.places[0], instruction.episode.heading_rad)
        self.walk: list[Stance] = [self.stance]
        self.collided = self.stopped = False
        self._keeper = ScoreKeeper(residence.field(self.goal), self.reference_m, self.stance)

    @property
    def outfit(self) -> Outfit:
        """Body and camera."""
        return self.residence.outfit

    @property
    def steps(self) -> int:
        """Actions taken."""
        return len(self.walk) - 1

    @property
    def actions_left(self) -> int:
        """That may still be taken."""
        return self.max_steps - self.steps

    @property
    def over(self) -> bool:
        """Whether the body has stopped or ran out of steps."""
        return self.stopped or self.steps >= self.max_steps

    @property
    def scores(self) -> CeScores:
        """So far."""
        return self._keeper.scores()

    @property
    def pose(self) -> Pose:
        """Of the camera."""
        return self.stance.camera(self.outfit.camera_m, self.outfit.elevation_rad)

    def act(self, action: SupportsIndex) -> None:
        """Take one action.

        Raises:
            ConfigError: there is no such action, or the episode is over.
        """
        try:
            number = operator.index(action)
        except TypeError:  # no whole number
            number = -1
        if number not in range(len(ACTIONS)):
            told = ", ".join(f"{number} {name}" for number, name in enumerate(ACTIONS))
            raise ConfigError(f"unknown action {action!r}; choose one of {told}")
        if self.over:
            raise ConfigError("the episode is over; call reset to begin another")
        self.collided = False
        if number == MOVE_FORWARD:
            self.stance, self.collided = forward(self.residence.ground, self.stance, self.outfit.forward_m)
        elif number != STOP:
            right = self.outfit.turn_rad if number == TURN_RIGHT else -self.outfit.turn_rad
            self.stance = turn(self.stance, right)
        self.stopped = number == STOP
        self.walk.append(self.stance)
        self._keeper.step(self.stance, collided=self.collided, stopped=self.stopped)

    def look(self) -> Sight:
        """Draw what the camera sees."""
        pictures = self.residence.renderer.render([self.pose], self.outfit.camera)
        depth = axial_m(pictures.depth_m[0], self.outfit.camera).astype(np.float32)
        return Sight(pictures.rgb[0], depth, self.pose)


def open_episode(
    residences: Residences, root: DataRoot, instruction: Instruction, max_steps: int = MAX_STEPS
) -> ContinuousEpisode:
    """Begin an episode in its house."""
    return ContinuousEpisode(residences[instruction.episode.scan], root, instruction, max_steps)


def houses_of(root: str | Path) -> DataRoot:
    """The data root of procedural houses.

    Raises:
        DataError: there is none, or its buildings are no procedural houses.
    """
    opened = DataRoot(Path(root))
    read_object(
        Path(root) / "world.json",
        hint="continuous motion needs procedural houses; make some with: ghosts world --out DIR",
    )
    return opened


def training_words(root: DataRoot, split: str) -> dict[str, int]:
    """The words of the training split and their numbers; where there is none, those of another one."""
    episodes = root.episodes("train" if "train" in root.splits else split)
    words = frequent_words((text for item in episodes for text in item.instructions), min_count=1)
    return {word: number for number, word in enumerate(words)}


def padded_tokens(words: dict[str, int], text: str) -> Int[np.ndarray, " n"]:
    """Numbers of an instruction's words, as many as VLN-CE has."""
    found = [words.get(word, 1) for word in tokenise(text)][:MAX_TOKENS] or [1]
    return np.pad(np.array(found, np.int64), (0, MAX_TOKENS - len(found)))
