"""What commands on continuous motion share: how an agent is made, and `ghosts eval ce`."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Console

from ghosts.cli._runs import names_of_runs
from ghosts.config.values import CommandOptions, Whole
from ghosts_sim.cli._options import names_of
from ghosts_sim.cli._out import check_out_folder
from ghosts_sim.cli._progress import shown_progress as shown
from ghosts_sim.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from ghosts.driving.drives import Choose
    from ghosts_sim.dataroot import DataRoot
    from ghosts_sim.motion import Driver


@dataclass(frozen=True, kw_only=True)
class EvalCe(CommandOptions):
    """Score agents that drive in houses (continuous motion) by VLN-CE's metrics. Writes ce.json and ce.md to --out."""

    run: tuple[Path, ...] = ()
    """Folder of a run on images, a checkpoint, or the name of shipped weights; repeat for more."""
    backbone: Path = Path("houses-backbone")
    """The backbone that the runs were trained on."""
    data: Path = Path("data")
    """Data root made by ghosts world."""
    split: str = "val_unseen"
    """Split whose instructions are followed."""
    planner: bool = False
    """Also score each run with the planner in place of its policy."""
    baseline: tuple[str, ...] = ()
    """Driver without a model: random, stop, hand-coded, oracle, or `none`; repeat for more. All by default."""
    answers: Path | None = None
    """Also drive along the walks in a file of `ghosts submit`."""
    examples: Whole = 0
    """Number of instructions, evenly spaced; 0 = all."""
    camera: Literal["trained", "vln-ce"] = "trained"
    """Camera: `trained` is 60° wide and looks 30° down, as in the agent's training; `vln-ce` is 90° wide and level."""
    renderer: str = "auto"
    """Renderer: exact, baked, fast, or auto (docs/continuous.md)."""
    out: Path | None = None
    """Folder for the table and its numbers."""

    def __post_init__(self) -> None:
        if not self.run and not self.drivers and self.answers is None:
            raise ConfigError("nothing to evaluate; name --run RUN, --answers FILE or --baseline oracle")
        super().__post_init__()
        if self.out is not None:
            check_out_folder(self.out)

    @property
    def drivers(self) -> list[str]:
        """Names of the baselines."""
        return names_of(self.baseline, ("random", "stop", "hand-coded", "oracle"))

    @property
    def named_runs(self) -> dict[Path, str]:
        """The runs and their names in the table."""
        return dict(zip(self.run, names_of_runs(self.run, self.drivers)))


def evaluate_ce(options: EvalCe) -> None:
    """Run `ghosts eval ce`."""
    # Imported here: torch takes seconds, and `--help` should not wait for it.
    from ghosts.data.examples import evenly
    from ghosts.driving.drives import Driven, drive_all, summary, table
    from ghosts.run.load import load_run
    from ghosts.weights.checkpoint import provenance
    from ghosts.words.tokens import unread
    from ghosts_houses.task.drive import DRIVERS
    from ghosts_houses.task.episode import houses_of
    from ghosts_houses.task.simulator import TRAINED_CAMERA, HouseSimulators, SimulatorConfig
    from ghosts_sim.episodes import each_instruction
    from ghosts_sim.files import write_json, write_text

    for name in options.drivers:
        if name not in DRIVERS:
            raise UnknownNameError("baseline", name, DRIVERS)
    root = houses_of(options.data)
    config = replace(TRAINED_CAMERA if options.camera == "trained" else SimulatorConfig(), renderer=options.renderer)
    houses = HouseSimulators(options.data, config)
    instructions = evenly(list(each_instruction(root.episodes(options.split))), options.examples)
    driven, seconds = dict[str, Driven](), {}
    for name, choose in _choosers(options, root).items():
        since = time.process_time()
        with shown(name) as report:
            driven[name] = drive_all(choose, houses, root, instructions, report)
        seconds[name] = (time.process_time() - since) / len(instructions)
    print(table(driven))
    print("".join(f"{name}: {spent:.2f} s of processor time per episode\n" for name, spent in seconds.items()), end="")
    for run, name in options.named_runs.items():
        vocabulary = load_run(run).reading.vocabulary
        assert vocabulary is not None, "a run knows its words"
        notes = unread(vocabulary, [item.text for item in instructions])
        print("".join(f"{name}: {note}\n" for note in notes), end="")
    if options.out is not None:
        scores = {"split": options.split, "drivers": summary(driven), "seconds_per_episode": seconds}
        write_json(options.out / "ce.json", {**scores, "provenance": provenance()}, indent=1)
        write_text(options.out / "ce.md", table(driven, markdown=True) + "\n")
        print(f"written: {options.out / 'ce.json'}, {options.out / 'ce.md'}")


DEMO_WORLD = ("--houses", "1", "--storeys", "1", "1", "--rooms", "6", "7", "--area", "0", "90")
"""A small house: half a minute on two cores with pictures."""
AVERAGE = "45 % of 300 drives in five unseen houses arrive"
"""So that four drives are not taken for the whole."""


def drive_demo(out: Path, root: Path, seed: int, count: int, console: Console) -> None:
    """Run `ghosts demo --continuous`: a house without panoramas, and the shipped agent driving in it."""
    from ghosts.data.examples import evenly
    from ghosts.driving.drives import make_agent
    from ghosts_houses.cli import world
    from ghosts_houses.task.drive import driven
    from ghosts_houses.task.episode import houses_of, open_episode
    from ghosts_houses.task.picture import filmstrip, snapshot
    from ghosts_houses.task.simulator import TRAINED_CAMERA, HouseSimulators
    from ghosts_sim.episodes import each_instruction
    from ghosts_sim.images import write_image
    from ghosts_sim.types import SUCCESS_M

    console.print("1. An unseen house and its paths", style="bold")
    world.main(["--out", str(root), *DEMO_WORLD, "--seed", str(seed), "--no-images"], hint=False)
    console.print("2. The agent drives, 0.25 m or 15° at a time", style="bold")
    opened, houses = houses_of(root), HouseSimulators(root, TRAINED_CAMERA)
    agent, arrived = make_agent(Path("houses-agent"), Path("houses-backbone")), 0
    chosen = evenly(list(each_instruction(opened.episodes("val_unseen"))), count)
    for item in chosen:
        episode = open_episode(houses, opened, item)
        console.print(f"\n[italic]“{item.text}”[/italic]", soft_wrap=True)
        for note in agent.tracker.vocabulary.read(item.text).notes():
            console.print(f"   {note}", soft_wrap=True)
        pictures = [snapshot(episode)]
        for _ in driven(agent.follow, episode):
            if episode.over or episode.steps % 25 == 0:
                pictures.append(snapshot(episode))
        scores = episode.scores
        arrived += bool(scores.success)
        verdict = "[green]arrived[/green]" if scores.success else "[red]missed[/red]"
        done = f"{scores.steps_taken:.0f} actions, {scores.path_length:.1f} m, {scores.collisions:.0f} bumps"
        path = out / f"drive-{item.instr_id}.jpg"
        write_image(path, filmstrip(pictures))
        console.print(
            f"   {done}; ends {scores.distance_to_goal:.1f} m from the goal: {verdict}; {path}", soft_wrap=True
        )
    console.print(f"\n{arrived} of {len(chosen)} instructions reached their goal (within {SUCCESS_M:.0f} m).")
    console.print(f"On average {AVERAGE} (docs/continuous.md).")
    console.print(
        f"next: ghosts film --drive --data {root} --out {out / 'drive.mp4'} (one of them as a film)", soft_wrap=True
    )


def film_drive(data: Path, runs: tuple[Path, ...], split: str, instr_id: str, out: Path) -> None:
    """Run `ghosts film --drive`: by default the shipped agent, in the first episode of an unseen split."""
    from ghosts.driving.drive_record import record_drive
    from ghosts.driving.drives import make_agent
    from ghosts.run.load import load_run
    from ghosts.view.drive_film import ACTIONS_A_SECOND, drive_pictures
    from ghosts.view.film import write_pictures
    from ghosts_houses.draw.floor_plan import make_floor_plan
    from ghosts_houses.task.episode import houses_of, open_episode
    from ghosts_houses.task.simulator import TRAINED_CAMERA, HouseSimulators
    from ghosts_sim.episodes import each_instruction

    root = houses_of(data)
    splits = [split] if split else sorted(root.splits, key=lambda name: ("unseen" not in name, name))
    by_id = {item.instr_id: item for name in splits for item in each_instruction(root.episodes(name))}
    if instr_id and instr_id not in by_id:
        raise UnknownNameError("episode", instr_id, by_id)
    item = by_id[instr_id] if instr_id else next(iter(by_id.values()))
    run = runs[0] if runs else Path("houses-agent")
    agent = make_agent(run, Path("houses-backbone"), planner=not load_run(run).experiment.acts)
    print("\n".join([*agent.tracker.vocabulary.read(item.text).notes(), "driving …"]), flush=True)
    drive = record_drive(agent, open_episode(HouseSimulators(data, TRAINED_CAMERA), root, item))
    scene = make_floor_plan(root, item.episode.scan)
    with shown("drawing actions") as report:
        count = write_pictures(out, drive_pictures(drive, scene, report), ACTIONS_A_SECOND)
    ended = "arrived" if drive.scores.success else "missed"
    done = f"{drive.scores.steps_taken:.0f} actions, {ended}, {drive.scores.distance_to_goal:.1f} m from the goal"
    print(f"{out}: {count} pictures of a drive of episode {item.instr_id}: {done}")


def _always(driver: Driver) -> Choose:
    return lambda episode: driver


def _choosers(options: EvalCe, root: DataRoot) -> dict[str, Choose]:
    """All drivers by name. Wrong options are refused before anybody drives."""
    from ghosts.driving.drives import answers, make_agent
    from ghosts.run.load import load_run
    from ghosts_houses.task.drive import make_driver

    found: dict[str, Choose] = {}
    for run, name in options.named_runs.items():
        alone = options.planner and not load_run(run).experiment.acts  # without a policy, only the planner can drive
        for planner in (True,) if alone else (False, True) if options.planner else (False,):
            agent = make_agent(run, options.backbone, planner=planner)
            found[f"{name}, planner" if planner else name] = _always(agent.follow)
    if options.answers is not None:
        found[f"{options.answers.stem}, walked"] = answers(options.answers, root, options.split)
    for name in options.drivers:
        found[name] = partial(make_driver, name)
    return found
