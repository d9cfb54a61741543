"""See the shipped agent follow instructions in a house it has never seen; writes a report to open in a browser.

It makes a small house (only once; it takes half a minute on two cores), runs the shipped backbone on its pictures, and
lets the shipped agent follow several instructions there.
"""

from __future__ import annotations

import shutil
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console

from ghosts.cli._continuous import DEMO_WORLD, drive_demo
from ghosts.config.values import Bound, CommandOptions, Count
from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_folder
from ghosts_sim.cli._progress import shown_progress

if TYPE_CHECKING:
    from ghosts.agent.loop import Belief
    from ghosts.data.examples import Example
    from ghosts.run.rollout import WalkStep
    from ghosts_sim.graph import NavGraph

AGENT, FILTER, BACKBONE = "houses-agent", "houses-improved", "houses-backbone"


@dataclass(frozen=True)
class Options(CommandOptions):
    out: Path = Path("runs/demo")
    """Folder of the world and the report."""
    seed: Annotated[
        int, Bound("must not be the one of the houses that the weights were trained on", lambda value: value != 5)
    ] = 299
    """Seed of the house. It must not be 5, on which the shipped weights were trained."""
    instructions: Count = 4
    """Number of instructions to show, a fair sample: as many of them arrive as on average in this house."""
    examples: Count = 30
    """Number of instructions to follow for the average."""
    faces: int = 256
    """Side of a skybox face in pixels, as in training."""
    continuous: bool = False
    """Let the agent drive without a graph, in steps of 0.25 m and 15°, and write a picture of each drive."""
    open: bool = False
    """Open the report in a browser."""


def main(arguments: list[str]) -> None:
    """Run `ghosts demo`."""
    options = parse(Options, "demo", arguments, __doc__)
    check_out_folder(options.out)
    from ghosts.cli import tiles
    from ghosts_houses.cli import world

    console, root = Console(), options.out / f"world-{options.seed}"
    if options.continuous:
        drive_demo(options.out, root, options.seed, options.instructions, console)
        return
    console.print("1. An unseen house, its pictures and its paths", style="bold")
    world.main(
        ["--out", str(root), *DEMO_WORLD, "--seed", str(options.seed), "--faces", str(options.faces)], hint=False
    )
    console.print("2. What the shipped backbone makes of the pictures", style="bold")
    tiles.main(["--data", str(root), "--backbone", BACKBONE])
    console.print("3. The agent follows instructions", style="bold")
    _walk(options, root, console)


def _walk(options: Options, root: Path, console: Console) -> None:
    # Imported here: torch takes seconds, and wrong options should not wait for it.
    import torch

    from ghosts.data.examples import evenly
    from ghosts.evaluate.goal import Execution
    from ghosts.evaluate.vln import score_walks, walk_split
    from ghosts.run.rollout import GraphWalks, walk_episodes
    from ghosts.view.open import open_world
    from ghosts.view.query import EpisodeQuery
    from ghosts.view.report import Evaluation, Shown, build_report, gather_assets
    from ghosts.view.report_scores import Listed
    from ghosts.weights import shipped
    from ghosts_sim.files import write_text
    from ghosts_sim.types import SUCCESS_M

    weights = AGENT if AGENT in shipped() else FILTER
    library, name, (inspector,), split = open_world(root, [Path(weights)], "val_unseen")
    examples = evenly(inspector.data.splits[split], max(options.examples, options.instructions))
    assert inspector.agent is not None, f"{weights} is a filter"
    with shown_progress("walks that have ended") as report:
        how, planner = Execution(report=report), inspector.acts == "planner"
        paths = walk_split(inspector.run, inspector.data, examples, how, planner=planner)
    scores = score_walks(inspector.data.root, examples, paths)
    ends = dict(zip((item.instr_id for item in examples), scores.columns["NE"].tolist()))
    listed = [Listed(item.instr_id, item.scan, item.text, min(ends[item.instr_id], 9999.0)) for item in examples]
    places, shown = GraphWalks(inspector.data, torch.device("cpu")), []
    for example in fair_sample(examples, [end < SUCCESS_M for end in ends.values()], options.instructions):
        rollout = walk_episodes(inspector.agent, places, places.begin([example]), keep=True)
        graph = inspector.root.graph(example.scan)
        console.print(f"\n[italic]“{example.text}”[/italic]", soft_wrap=True)
        for note in inspector.data.vocabulary.read(example.text).notes():
            console.print(f"   {note}", soft_wrap=True)
        for number, step in enumerate(rollout.steps):
            console.print(_line(number, step, graph, example))
        left_m = float(graph.distance_m[rollout.paths[0][-1], example.goal])
        verdict = "[green]arrived[/green]" if left_m < SUCCESS_M else "[red]missed[/red]"
        console.print(f"   stops {left_m:.1f} m from the goal: {verdict}")
        walk = tuple(int(step.row[0]) for step in rollout.steps)
        fields = (example.scan, example.text, example.start_heading_rad, walk, example.path, example.instr_id)
        asked = EpisodeQuery(*fields, walked_by=inspector.name)
        shown.append(Shown(example.instr_id, f"stopped {left_m:.1f} m from the goal", (inspector.record(asked),)))
    page = options.out / "report.html"
    assets = gather_assets(library, name, [item.records[0] for item in shown])
    about = f"{weights} with the {inspector.acts} in an unseen house (ghosts demo --seed {options.seed})"
    evaluation = Evaluation(listed, {inspector.name: scores})
    write_text(page, build_report("Ghosts: the agent at work", about, shown, assets, evaluation))
    arrived = sum(end < SUCCESS_M for end in ends.values())
    console.print(f"\n{arrived} of {len(examples)} instructions reached their goal (within 3 m).")
    console.print(f"The report, with maps, beliefs and panoramas: {page} (open it in a browser)", soft_wrap=True)
    command = "ghosts" if shutil.which("ghosts") else sys.argv[0]  # `make` does not put it on the path
    console.print(f"next: {command} view --data {root} --run {weights} (look inside, type your own)", soft_wrap=True)
    if options.open:
        webbrowser.open(page.resolve().as_uri())


def fair_sample(examples: Sequence[Example], arrived: Sequence[bool], count: int) -> list[Example]:
    """Some examples, of which the same share arrives as of all; those that arrive come first."""
    from ghosts.data.examples import evenly

    groups = [[item for item, good in zip(examples, arrived) if good is kind] for kind in (True, False)]
    count = min(count, len(examples))
    first = min(len(groups[0]), max(round(count * len(groups[0]) / len(examples)), count - len(groups[1])))
    return [*(evenly(groups[0], first) if first else []), *(evenly(groups[1], count - first) if count > first else [])]


def _line(number: int, step: WalkStep[Belief], graph: NavGraph, example: Example) -> str:
    """One step: what is believed about the goal, how far it is, and what is done."""
    from ghosts.belief.histogram import entropy

    action, chosen = step.action, int(step.chosen[0])
    assert step.thought is not None, "thoughts are kept"
    unsure = float(entropy(step.thought.mass[:, -1])[0])
    distance = float(graph.distance_m[int(step.row[0]), example.goal])
    does = "stop" if step.known.visited[0, chosen] else "go on"
    by_policy = action.scores is not None and action.scores.features is not None
    sure = f"{does} ({action.probabilities[0, chosen]:.0%})" if by_policy else does
    return f"   step {number}: belief's entropy {unsure:4.2f} nats, {distance:4.1f} m to the goal: {sure}"
