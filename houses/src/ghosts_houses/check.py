"""Whether the houses of a world are believable, and its instructions true: each is compared with the geometry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ghosts_houses import __version__
from ghosts_houses.audit import flaws
from ghosts_houses.graph.sight import things_seen
from ghosts_houses.house import House
from ghosts_houses.words.truth import contradictions
from ghosts_houses.world import load_house
from ghosts_sim.check import Finding
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import Instruction, each_instruction
from ghosts_sim.errors import DataError, GhostsError
from ghosts_sim.files import read_object


def check_words(root: DataRoot, command: str) -> tuple[int, list[Finding]]:
    """Look over every house of a data root and read its instructions.

    Args:
        root: any data root; in one that is not made of houses nothing is read.
        command: writes the made instructions again.

    Returns:
        How many instructions were read, and a finding per flaw of a house and per instruction that says what is not so.
    """
    world, read, findings = root.path / "world.json", 0, list[Finding]()
    if not world.is_file():
        return read, findings
    try:
        version = read_object(world).get("version")
        if version != __version__:
            raise DataError(f"made by ghosts {version}; the houses of {__version__} may differ")
        instructions: dict[str, list[tuple[str, Instruction]]] = defaultdict(list)
        for split in root.splits:
            for item in each_instruction(root.episodes(split)):
                instructions[item.episode.scan].append((split, item))
        for scan, items in instructions.items():
            house = load_house(root.path, scan)
            for flaw in flaws(house):
                problem = f"house {scan}, room {flaw.room}: {flaw.text}"
                findings.append(Finding("wrong", "houses", str(world), problem, command))
            for split, item, wrong in _untrue(root, house, items):
                where = str(root.path / "r2r" / f"R2R_{split}.json")
                problem = f"instruction {item.instr_id} is not true of house {scan}: {'; '.join(wrong)}"
                findings.append(Finding("wrong", "words", where, problem, command))
            read += len(items)
    except GhostsError as error:
        findings.append(Finding("note", "words", str(world), f"instructions not checked: {error}"))
    return read, findings


def _untrue(
    root: DataRoot, house: House, items: list[tuple[str, Instruction]]
) -> Iterator[tuple[str, Instruction, list[str]]]:
    """The instructions that contradict their house, and what is wrong."""
    graph = root.graph(house.name)
    seen = things_seen(house, graph.position_m)
    for split, item in items:
        rows = [graph.index(name) for name in item.episode.path]
        if len(rows) > 1:  # of the test split only the start is known
            wrong = contradictions(house, graph.feet_m[rows], item.episode.heading_rad, seen[rows], item.text)
            if wrong:
                yield split, item, wrong
