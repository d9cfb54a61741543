"""VLN-CE's task in procedural houses as a Gymnasium environment, `ghosts/R2R-CE-v0`.

Importing this module registers it:

    import gymnasium, ghosts_houses.task.environment
    env = gymnasium.make("ghosts/R2R-CE-v0", root="my-world", split="val_unseen")
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, SupportsIndex

import cv2
import gymnasium
import numpy as np
from gymnasium import spaces

from ghosts_houses.task.episode import (
    MAX_STEPS,
    MAX_TOKENS,
    ContinuousEpisode,
    houses_of,
    open_episode,
    padded_tokens,
    training_words,
)
from ghosts_houses.task.picture import top_down
from ghosts_houses.task.simulator import HouseSimulators, SimulatorConfig
from ghosts_houses.task.texts import SharedText
from ghosts_sim.episodes import each_instruction
from ghosts_sim.errors import UnknownNameError
from ghosts_sim.motion import ACTIONS, RgbdFrame
from ghosts_sim.values import require


class R2RCEEnv(gymnasium.Env[dict[str, Any], np.int64]):
    """One body in one house at a time.

    Actions: 0 STOP ends the episode, 1 MOVE_FORWARD goes 0.25 m ahead, 2 TURN_LEFT and 3 TURN_RIGHT turn by 15°. The
    reward is 1 for stopping within 3 m of the goal (shortest walk), otherwise 0.

    Observation: `rgb`; `depth` along the optical axis, 0..1 for 0–10 m; `instruction` with its `text`, `tokens` (ids of
    the words of the root's training split, padded with 0) and `trajectory_id`. `info` holds VLN-CE's metrics by name,
    the camera's `position_m` and `heading_rad` (a robot's odometry), `collided`, `instr_id` and `scan`.

    Args:
        root: data root made by `ghosts world`.
        split: episodes to draw from.
        config: body, camera and renderer; VLN-CE's by default.
        max_steps: the episode is truncated after so many actions.
        render_mode: "rgb_array" for `render()`, which shows camera and map.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 (Gymnasium's own declaration)

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        config: SimulatorConfig | None = None,
        max_steps: int = MAX_STEPS,
        render_mode: str | None = None,
    ) -> None:
        require(max_steps >= 1, "max_steps must be at least 1", max_steps)
        if render_mode not in (None, "rgb_array"):
            raise UnknownNameError("render mode", str(render_mode), ["rgb_array"])
        self.render_mode = render_mode
        self._root = houses_of(root)
        self._instructions = list(each_instruction(self._root.episodes(split)))
        self._by_id = {item.instr_id: item for item in self._instructions}
        self._config, self._max_steps = config or SimulatorConfig(), max_steps
        self._houses = HouseSimulators(Path(root), self._config)
        self._vocabulary = training_words(self._root, split)
        self._episode: ContinuousEpisode | None = None
        self._frame: RgbdFrame | None = None
        self.action_space = spaces.Discrete(len(ACTIONS))
        side = self._config.depth_px
        longest = max(len(item.text) for item in self._instructions)
        characters = frozenset("".join(item.text for item in self._instructions))
        self.observation_space = spaces.Dict(
            {
                "rgb": spaces.Box(0, 255, (self._config.rgb_px, self._config.rgb_px, 3), np.uint8),
                "depth": spaces.Box(0.0, 1.0, (side, side, 1), np.float32),
                "instruction": spaces.Dict(
                    {
                        "text": SharedText(longest, charset=characters),
                        "tokens": spaces.Box(0, len(self._vocabulary) - 1, (MAX_TOKENS,), np.int64),
                        "trajectory_id": spaces.Box(0, np.iinfo(np.int64).max, (1,), np.int64),
                    }
                ),
            }
        )

    @property
    def episode(self) -> ContinuousEpisode:
        """The episode that is under way."""
        assert self._episode is not None, "Gymnasium's order: reset comes first"
        return self._episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode: a random one, or the one named by `options={"instr_id": …}`."""
        super().reset(seed=seed)
        wanted = (options or {}).get("instr_id")
        if wanted is None:
            chosen = self._instructions[int(self.np_random.integers(len(self._instructions)))]
        elif wanted in self._by_id:
            chosen = self._by_id[wanted]
        else:
            raise UnknownNameError("instruction", str(wanted), self._by_id)
        self._episode = open_episode(self._houses, self._root, chosen, self._max_steps)
        return self._observe(), self._info()

    def step(self, action: SupportsIndex) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Take one action."""
        self.episode.act(action)
        info = self._info()
        stopped = self.episode.stopped
        return self._observe(), float(info["success"]), stopped, self.episode.over and not stopped, info

    def render(self) -> np.ndarray | None:
        """Camera and map side by side, RGB."""
        if self.render_mode is None or self._frame is None:
            return None
        return np.hstack([self._frame.rgb, top_down(self.episode, self._config.depth_px)])

    def _observe(self) -> dict[str, Any]:
        self._frame = self.episode.look()
        low, high = self._config.depth_range_m
        depth = np.clip((self._frame.depth_m - low) / (high - low), 0.0, 1.0)
        item = self.episode.instruction
        size = self._config.rgb_px, self._config.rgb_px
        return {
            "rgb": cv2.resize(self._frame.rgb, size, interpolation=cv2.INTER_AREA),
            "depth": depth[..., None].astype(np.float32),
            "instruction": {
                "text": item.text,
                "tokens": padded_tokens(self._vocabulary, item.text),
                "trajectory_id": np.array([item.episode.path_id], np.int64),
            },
        }

    def _info(self) -> dict[str, Any]:
        pose = self.episode.pose
        return {
            **asdict(self.episode.scores),
            "position_m": np.array([pose.x_m, pose.y_m, pose.z_m]),
            "heading_rad": pose.heading_rad,
            "collided": self.episode.collided,
            "instr_id": self.episode.instruction.instr_id,
            "scan": self.episode.instruction.episode.scan,
        }


gymnasium.register(id="ghosts/R2R-CE-v0", entry_point="ghosts_houses.task.environment:R2RCEEnv")
