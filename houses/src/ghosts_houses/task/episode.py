"""One episode in a house: the body, what it sees, what it has done. The environment and the agents' walks share it."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import SupportsIndex

import numpy as np
from jaxtyping import Int

from ghosts_houses.body.moves import BodyPose, forward, turn
from ghosts_houses.mesh.renderers import axial_m
from ghosts_houses.task.scores import CeScores, ScoreKeeper
from ghosts_houses.task.simulator import HouseSimulator, HouseSimulators
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import Instruction
from ghosts_sim.errors import ConfigError
from ghosts_sim.files import read_object
from ghosts_sim.motion import ACTIONS, MOVE_FORWARD, STOP, TURN_RIGHT, Body, RgbdFrame
from ghosts_sim.tokens import frequent_words, tokenise
from ghosts_sim.types import Intrinsics, Pose

MAX_STEPS = 500
MAX_TOKENS = 200
"""VLN-CE's instructions are padded with 0 to this."""


class ContinuousEpisode:
    """A body that follows one instruction, for at most so many actions."""

    def __init__(
        self, simulator: HouseSimulator, root: DataRoot, instruction: Instruction, max_steps: int = MAX_STEPS
    ) -> None:
        self.simulator, self.instruction, self.max_steps = simulator, instruction, max_steps
        self.places = simulator.places(root.graph(instruction.episode.scan), instruction.episode.path)
        self.reference_m = simulator.demonstration_m(self.places, simulator.config.body.forward_m)
        self.goal = self.places[-1]
        self.body_pose: BodyPose = turn(self.places[0], instruction.episode.heading_rad)
        self.walk: list[BodyPose] = [self.body_pose]
        self.collided = self.stopped = False
        self._keeper = ScoreKeeper(simulator.field(self.goal), self.reference_m, self.body_pose)

    @property
    def body(self) -> Body:
        """The body's size and steps."""
        return self.simulator.config.body

    @property
    def camera(self) -> Intrinsics:
        """The camera of the depth image; colours have the same size."""
        return self.simulator.config.camera

    @property
    def steps(self) -> int:
        """How many actions were taken."""
        return len(self.walk) - 1

    @property
    def actions_left(self) -> int:
        """How many actions may still be taken."""
        return self.max_steps - self.steps

    @property
    def over(self) -> bool:
        """Whether the body has stopped or ran out of steps."""
        return self.stopped or self.steps >= self.max_steps

    @property
    def scores(self) -> CeScores:
        """Scores of the walk so far."""
        return self._keeper.scores()

    @property
    def pose(self) -> Pose:
        """The camera's pose."""
        return self.simulator.camera_pose(self.body_pose)

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
            choices = ", ".join(f"{number} {name}" for number, name in enumerate(ACTIONS))
            raise ConfigError(f"unknown action {action!r}; choose one of {choices}")
        if self.over:
            raise ConfigError("the episode is over; call reset to begin another")
        self.collided = False
        if number == MOVE_FORWARD:
            self.body_pose, self.collided = forward(self.simulator.ground, self.body_pose, self.body.forward_m)
        elif number != STOP:
            right = self.body.turn_rad if number == TURN_RIGHT else -self.body.turn_rad
            self.body_pose = turn(self.body_pose, right)
        self.stopped = number == STOP
        self.walk.append(self.body_pose)
        self._keeper.step(self.body_pose, collided=self.collided, stopped=self.stopped)

    def look(self) -> RgbdFrame:
        """What the camera sees now."""
        pictures = self.simulator.renderer.render([self.pose], self.camera)
        depth = axial_m(pictures.depth_m[0], self.camera).astype(np.float32)
        return RgbdFrame(pictures.rgb[0], depth, self.pose)


def open_episode(
    simulators: HouseSimulators, root: DataRoot, instruction: Instruction, max_steps: int = MAX_STEPS
) -> ContinuousEpisode:
    """Begin an episode in its house."""
    return ContinuousEpisode(simulators[instruction.episode.scan], root, instruction, max_steps)


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
