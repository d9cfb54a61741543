"""The R2R test server's file: writing one, and checking any, whoever made it.

A list with one object per instruction: `{"instr_id": "<path>_<number>", "trajectory": [[viewpoint, heading, elevation],
…]}`, angles in radians. The server scores the viewpoints alone; consecutive ones may be equal (a turn on the spot).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ghosts.data.examples import headings_along
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import Instruction, each_instruction
from ghosts_sim.errors import DataError
from ghosts_sim.files import is_finite, read_json, write_json
from ghosts_sim.geometry import wrap_rad
from ghosts_sim.graph import NavGraph

MOST_PROBLEMS = 20
"""Problems listed at most; a wrong file mostly has the same one everywhere."""


def trajectory(graph: NavGraph, rows: Sequence[int], heading_rad: float) -> list[list[Any]]:
    """A walk as the server wants it: the walker looks along its last move, level.

    Args:
        graph: the building.
        rows: viewpoints walked through, the start first.
        heading_rad: at the start.
    """
    headings = headings_along(graph, tuple(rows), float(wrap_rad(heading_rad)))
    return [[graph.ids[row], heading, 0.0] for row, heading in zip(rows, headings)]


def write_submission(path: Path, root: DataRoot, split: str, paths: Mapping[str, Sequence[int]]) -> int:
    """Write a split's file, and check it.

    Args:
        path: the file.
        root: buildings and instructions.
        split: of the instructions.
        paths: rows walked through, by `instr_id`.

    Returns:
        The number of instructions.

    Raises:
        DataError: walks are missing, or not allowed; nothing is written.
    """
    records = [
        {
            "instr_id": item.instr_id,
            "trajectory": trajectory(root.graph(item.episode.scan), paths[item.instr_id], item.episode.heading_rad),
        }
        for item in each_instruction(root.episodes(split))
        if item.instr_id in paths
    ]
    _refuse(problems_of(records, root, split), path)
    write_json(path, records)
    return len(records)


def check_submission(path: Path, root: DataRoot, split: str) -> int:
    """Check a file for the test server.

    Returns:
        The number of instructions.

    Raises:
        DataError: naming what is wrong, every problem on a line.
    """
    records = read_json(path, hint="write one with: ghosts submit --run RUN --data ROOT --out FILE")
    if not isinstance(records, list):
        raise DataError(
            "expected a list of trajectories",
            file=path,
            value=records,
            hint="write one with: ghosts submit --run RUN",
        )
    _refuse(problems_of(records, root, split), path)
    return len(records)


def _refuse(problems: list[str], path: Path) -> None:
    if problems:
        more = len(problems) - MOST_PROBLEMS
        lines = problems[:MOST_PROBLEMS] + ([f"… and {more} more"] if more > 0 else [])
        raise DataError("the test server would refuse or misjudge it:\n  " + "\n  ".join(lines), file=path)


def problems_of(records: list[Any], root: DataRoot, split: str) -> list[str]:
    """Everything that is wrong with a submission: shape, identifiers, starts, moves, numbers."""
    wanted = {item.instr_id: item for item in each_instruction(root.episodes(split))}
    problems: list[str] = []
    seen: set[str] = set()
    for number, record in enumerate(records):
        name = record.get("instr_id") if isinstance(record, dict) else None
        if not isinstance(name, str):
            problems.append(f"record {number}: expected an object with the text 'instr_id'")
        elif name in seen:
            problems.append(f"{name}: given twice")
        elif name not in wanted:
            problems.append(f"{name}: no such instruction in split {split}")
        else:
            problem = _trajectory_problem(record.get("trajectory"), wanted[name], root)
            problems += [f"{name}: {problem}"] if problem else []
        if isinstance(name, str):
            seen.add(name)
    return problems + [f"{name}: missing" for name in wanted if name not in seen]


def _trajectory_problem(steps: Any, item: Instruction, root: DataRoot) -> str | None:
    """The first thing wrong with a trajectory."""
    if not isinstance(steps, list) or not steps:
        return "'trajectory' must be a non-empty list"
    graph = root.graph(item.episode.scan)
    known = set(graph.ids)
    for number, step in enumerate(steps):
        if not isinstance(step, list) or len(step) != 3 or not isinstance(step[0], str):
            return f"step {number} must be [viewpoint, heading, elevation], got {step!r:.60}"
        if not all(is_finite(value) for value in step[1:]):
            return f"step {number} has an angle that is no finite number, got {step[1:]!r:.60}"
        if step[0] not in known:
            return f"step {number}: viewpoint {step[0]!r:.40} is not in scan {graph.scan}"
        if not graph.included[graph.index(step[0])]:
            return f"step {number}: viewpoint {step[0]} is excluded from navigation"
    if steps[0][0] != item.episode.path[0]:
        return f"starts at {steps[0][0]}, the instruction at {item.episode.path[0]}"
    for number, (here, there) in enumerate(pairwise(step[0] for step in steps)):
        if here != there and not graph.adjacent[graph.index(here), graph.index(there)]:
            return f"no edge from step {number} ({here}) to step {number + 1} ({there})"
    return None
