"""Episodes driven to their end, and their scores as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ghosts.driving.agent import ContinuousAgent
from ghosts.evaluate.bootstrap import draw_paths, mean_interval
from ghosts.evaluate.submission import check_submission
from ghosts.evaluate.text_table import markdown_rows, text_rows
from ghosts.run.load import load_run
from ghosts.run.tracker import load_tracker
from ghosts_houses.task.drive import driven
from ghosts_houses.task.episode import ContinuousEpisode, open_episode
from ghosts_houses.task.scores import CeScores
from ghosts_houses.task.simulator import HouseSimulators
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import Instruction
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.files import read_json
from ghosts_sim.motion import Driver, along

Choose = Callable[[ContinuousEpisode], Driver]
"""Who drives an episode."""


@dataclass(frozen=True)
class Driven:
    """Scores of one driver, one per instruction."""

    instr_ids: tuple[str, ...]
    scores: tuple[CeScores, ...]

    def means(self) -> dict[str, float]:
        """Of every metric."""
        return {
            item.name: float(np.mean([getattr(score, item.name) for score in self.scores])) for item in fields(CeScores)
        }

    def interval(self, metric: str) -> tuple[float, float]:
        """95 % interval of a metric's mean, paths resampled."""
        values = np.array([getattr(score, metric) for score in self.scores])
        return mean_interval(values, draw_paths(self.instr_ids))


def make_agent(run: Path, backbone: Path, *, planner: bool = False) -> ContinuousAgent:
    """The agent that drives on a run's belief, by its policy or by the planner, with the backbone it was trained on.

    Raises:
        ConfigError: the run was not trained to act, and no planner is asked for.
    """
    loaded = load_run(run)
    if not (loaded.experiment.acts or planner):
        raise ConfigError(f"{run} predicts goals and was not trained to act; add --planner")
    return ContinuousAgent(load_tracker(run, backbone), loaded.planner() if planner else None)


def drive_all(
    choose: Choose,
    houses: HouseSimulators,
    root: DataRoot,
    instructions: Sequence[Instruction],
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Driven:
    """Drive many episodes, house by house, so that each house is opened once."""
    found: dict[str, CeScores] = {}
    for number, item in enumerate(sorted(instructions, key=lambda item: item.episode.scan)):
        episode = open_episode(houses, root, item)
        for _ in driven(choose(episode), episode):
            pass
        found[item.instr_id] = episode.scores
        report(number + 1, len(instructions))
    names = tuple(item.instr_id for item in instructions)
    return Driven(names, tuple(found[name] for name in names))


def answers(path: Path, root: DataRoot, split: str) -> Choose:
    """Drivers that follow the walks that an agent chose on the graph, from a file of `ghosts submit`.

    Raises:
        DataError: the file is missing, or does not answer the split.
    """
    check_submission(path, root, split)
    walks = {record["instr_id"]: [step[0] for step in record["trajectory"]] for record in read_json(path)}

    def choose(episode: ContinuousEpisode) -> Driver:
        item = episode.instruction
        if item.instr_id not in walks:
            raise DataError("no answer", file=path, record=item.instr_id, hint="name the file of this split")
        places = episode.simulator.places(root.graph(item.episode.scan), walks[item.instr_id])
        return along(episode.simulator.demonstration_m(places, 0.1))

    return choose


_COLUMNS = {
    "TL": "path_length",
    "NE": "distance_to_goal",
    "OS": "oracle_success",
    "SR": "success",
    "SPL": "spl",
    "nDTW": "ndtw",
    "SDTW": "sdtw",
    "steps": "steps_taken",
    "collisions": "collisions",
}


def table(driven: Mapping[str, Driven], *, markdown: bool = False) -> str:
    """One row per driver; SR with its interval."""
    rows: list[Sequence[str]] = [["driver", "n", *_COLUMNS, "SR, 95 %"]]
    for name, item in driven.items():
        means = item.means()
        digits = {"TL": 2, "NE": 2, "steps": 0, "collisions": 1}
        low, high = item.interval("success")
        figures = [f"{means[metric]:.{digits.get(short, 3)}f}" for short, metric in _COLUMNS.items()]
        rows.append([name, str(len(item.scores)), *figures, f"{low:.3f}–{high:.3f}"])
    return "\n".join(markdown_rows(rows, 1) if markdown else text_rows(rows, 1))


def summary(driven: Mapping[str, Driven]) -> dict[str, Any]:
    """Means, the interval of SR and every episode, as plain JSON values."""
    return {
        name: {
            "means": item.means(),
            "success_interval": list(item.interval("success")),
            "episodes": {key: asdict(score) for key, score in zip(item.instr_ids, item.scores)},
        }
        for name, item in driven.items()
    }
