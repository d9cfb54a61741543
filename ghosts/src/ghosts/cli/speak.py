"""Write directions for a walk (`ghosts speak --data ROOT --scan SCAN --walk START --walk GOAL`) or for thousands.

`--paths N --out FILE` samples paths like R2R's in the training buildings and writes them with the speaker's directions,
in R2R's format, for `ghosts train goal --spoken FILE`. `--score SPLIT` compares its directions with people's, and with
`--follower RUN` says how often an agent reaches the goal with either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ghosts.config.values import Bound, CommandOptions, Count, Dropout, Weight, Whole
from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_file
from ghosts_sim.cli._progress import shown_progress
from ghosts_sim.errors import ConfigError

if TYPE_CHECKING:
    from ghosts.data.dataset import Dataset
    from ghosts.data.examples import Example
    from ghosts.run.load import Run
    from ghosts_sim.metrics import NavScores


@dataclass(frozen=True)
class Options(CommandOptions):
    data: Path
    """Data root."""
    run: Path = Path("landmarks-speaker")
    """Folder of a run of `ghosts train speaker`, a checkpoint, or shipped weights."""
    scan: str = ""
    """Building of the walk."""
    walk: tuple[str, ...] = ()
    """A viewpoint of the walk; repeat from start to goal. Viewpoints that are not neighbours are joined by the shortest
    walk."""
    heading: Annotated[float, Bound("must be a number of degrees", math.isfinite)] | None = None
    """Where the walker looks at the start, in degrees clockwise from north (+y); by default along the walk."""
    paths: Whole = 0
    """Write directions for this many paths of the training buildings instead."""
    out: Path | None = None
    """File for these paths or for the scores (.json), or for a picture of the walk and its directions (.png)."""
    label_dropout: Dropout = 0.0
    """Share of the labels that are hidden from the speaker on each path of --paths. Training on these paths hides
    the same ones (Tan et al. 2019)."""
    score: str = ""
    """Describe the paths of this split instead, in the likeliest words, and say how close these are to people's."""
    follower: Path | None = None
    """Agent that follows people's words and the speaker's on the paths of --score: a run, a checkpoint, or shipped
    weights."""
    examples: Whole = 0
    """Number of paths of --score, evenly spaced; 0 = all."""
    batch: Count | None = None
    """Instructions that --follower follows at a time. By default 16 on a CPU and 64 on a GPU."""
    half: bool = False
    """Run the networks of --follower in bfloat16, as in training; float32 by default."""
    temperature: Weight = 0.6
    """Temperature at which the words of --paths are sampled; 0 takes the likeliest."""
    seed: Whole = 0
    """Seed of paths, words and hidden labels."""
    device: str = "auto"
    """cpu, cuda or auto."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.paths) + bool(self.walk) + bool(self.score) != 1:
            raise ConfigError(
                "say what to describe: --scan SCAN --walk START --walk GOAL, --paths N --out FILE, or --score SPLIT"
            )
        if self.walk and not self.scan:
            raise ConfigError("the walk needs a building; name it with --scan")
        if self.paths and self.out is None:
            raise ConfigError("no file to write the paths to; name it with --out FILE.json")
        if self.label_dropout and not self.paths:
            raise ConfigError("--label-dropout hides labels of paths to train on; add --paths N --out FILE")
        if self.follower is not None and not self.score:
            raise ConfigError("--follower walks the paths of a split; add --score SPLIT")


def main(arguments: list[str]) -> None:
    """Run `ghosts speak`."""
    options = parse(Options, "speak", arguments, __doc__)
    if options.out is not None and options.walk:
        check_out_file(options.out, "a picture of the walk", (".png", ".svg", ".pdf"))
    elif options.out is not None:
        check_out_file(options.out, "a file of scores" if options.score else "a file of described paths", (".json",))
    # Imported here: torch takes seconds, and `--help` should not wait for it.
    from ghosts.data.dataset import open_dataset
    from ghosts.run.load import load_run
    from ghosts.run.speak import describe, speaker_of
    from ghosts_sim.dataroot import DataRoot

    run = load_run(options.run)
    speaker_of(run)  # says so before the data is read where it does not speak
    follower = _follower(options)
    data = open_dataset(DataRoot(options.data), run.reading, also=(options.scan,) if options.walk else ())
    if options.walk:
        heading = None if options.heading is None else math.radians(options.heading)
        text = describe(run, data, options.scan, options.walk, heading)
        print(text)
        if options.out is not None:
            _draw(options.out, data, options, heading, text)
        return
    if options.score:
        _score(options, run, data, follower)
    else:
        _tell(options, run, data)


def _draw(out: Path, data: Dataset, options: Options, heading_rad: float | None, text: str) -> None:
    from ghosts.run.speak import walk_through
    from ghosts_houses.draw.canvas import save_figure
    from ghosts_houses.draw.floor_plan import make_floor_plan
    from ghosts_houses.draw.plan import house_figure
    from ghosts_sim.geometry import heading_of

    graph = data.root.graph(options.scan)
    rows = walk_through(graph, options.walk)
    if heading_rad is None:
        heading_rad = float(heading_of(graph.position_m[rows[1]] - graph.position_m[rows[0]]))
    names = [graph.ids[row] for row in rows]
    save_figure(house_figure(make_floor_plan(data.root, options.scan), options.scan, names, heading_rad, text), out)
    print(out)


def _score(options: Options, run: Run, data: Dataset, follower: Run | None) -> None:
    from ghosts.cli.eval import repeatable_products
    from ghosts.data.examples import evenly
    from ghosts.devices import choose_device
    from ghosts.evaluate.speech import score_speech
    from ghosts.evaluate.vln_table import summarise_vln, vln_table
    from ghosts.run.speak import tell_paths
    from ghosts.weights.checkpoint import provenance
    from ghosts_sim.files import write_json

    repeatable_products()
    paths: dict[str, list[Example]] = {}
    for example in data.examples(options.score):
        paths.setdefault(example.instr_id.rsplit("_", 1)[0], []).append(example)
    people = evenly(list(paths.values()), options.examples)
    said = tell_paths(run, data, [examples[0] for examples in people], device=choose_device(options.device))
    scores = score_speech(said, [[example.text for example in examples] for examples in people])
    described = f"{len(said)} paths of {options.score}"
    close = f"BLEU {scores.bleu:.3f}, ROUGE-L {scores.rouge:.3f}, CIDEr {scores.cider:.3f}"
    print(f"{described} beside people's words: {close}")
    found: dict[str, Any] = {"speaker": run.name, "split": options.score, "paths": len(said), **asdict(scores)}
    if follower is not None:
        walks = _follow(options, follower, data, people, said)
        found["followed"] = summarise_vln({follower.name: {by: [of] for by, of in walks.items()}}, published=False)
        for by in walks:
            print(f"\n{vln_table(found['followed'], by).text()}")
    if options.out is not None:
        write_json(options.out, found | {"provenance": provenance()}, indent=1)
        print(f"written: {options.out}")


def _follower(options: Options) -> Run | None:
    """The agent that is to walk, refused before the data is read where it cannot, or does not listen."""
    from ghosts.run.load import load_run

    if options.follower is None:
        return None
    run = load_run(options.follower)
    if not run.experiment.acts or run.experiment.on_true_beliefs:
        why = "knows the way without words" if run.experiment.on_true_beliefs else "was not trained to act"
        raise ConfigError(f"{run.name} {why}; name a run of ghosts train vln, such as landmarks-agent")
    return run


def _follow(
    options: Options, run: Run, data: Dataset, people: Sequence[Sequence[Example]], said: Sequence[str]
) -> dict[str, NavScores]:
    """How an agent does on a split by people's words and by a speaker's.

    The split is that of the speaker's data, whatever the agent held out.
    """
    from ghosts.cli._launch import launch
    from ghosts.data.dataset import open_dataset
    from ghosts.data.examples import DEV_UNSEEN, make_example, split_buildings
    from ghosts.evaluate.goal import Execution
    from ghosts.evaluate.vln import score_walks, walk_split

    scans = {examples[0].scan for examples in people}
    seen = scans & {*split_buildings(data.root, run.reading.hold_out, run.reading.buildings)[0]}
    if options.score == DEV_UNSEEN and seen:
        print(f"{run.name} was trained on {len(seen)} of these {len(scans)} buildings; only the speaker never saw them")
    fabric, read = launch(options.device), open_dataset(data.root, run.reading, also=sorted(scans))
    told_by = {
        f"{options.score} by people's words": [(item, item.text) for examples in people for item in examples],
        f"{options.score} by the speaker's words": [(items[0], text) for items, text in zip(people, said)],
    }
    found = {}
    for by, words in told_by.items():
        examples = [
            make_example(
                read.root.graph(item.scan), item.instr_id, text, item.start_heading_rad, item.path, read.reading.steps
            )
            for item, text in words
        ]
        with shown_progress(f"{run.name} walks {by}") as report:
            how = Execution(fabric, options.batch, precision="bf16-mixed" if options.half else "32-true", report=report)
            found[by] = score_walks(read.root, examples, walk_split(run, read, examples, how))
    return found


def _tell(options: Options, run: Run, data: Dataset) -> None:
    from rich.progress import track

    from ghosts.devices import choose_device
    from ghosts.run.speak import as_episodes, hide_labels, paths_like_r2r, tell_paths
    from ghosts_sim.files import write_json

    assert options.out is not None
    examples = paths_like_r2r(data, options.paths, options.seed)
    if options.label_dropout:
        examples = hide_labels(data, examples, options.label_dropout, options.seed)
    texts: list[str] = []
    for at in track(range(0, len(examples), 1024), "telling"):
        texts += tell_paths(
            run,
            data,
            examples[at : at + 1024],
            temperature=options.temperature,
            seed=options.seed + at,
            device=choose_device(options.device),
        )
    records = as_episodes(data, examples, texts)
    write_json(options.out, records)
    print(f"{options.out}: {len(records)} paths with directions in {len({item['scan'] for item in records})} buildings")
