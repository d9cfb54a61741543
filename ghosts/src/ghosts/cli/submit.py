"""Write the R2R test server's file, or check one: `ghosts submit --run RUN --data ROOT --split test --out FILE`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ghosts.cli._launch import launch
from ghosts.cli._runs import FollowOptions, PragmaticOptions
from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_file
from ghosts_sim.cli._progress import shown_progress
from ghosts_sim.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Submit(FollowOptions, PragmaticOptions):
    """Write the R2R test server's file with an agent, or check any such file."""

    run: Path | None = None
    """Folder of a run of `ghosts train vln` (or of `ghosts train goal`, with --planner), a checkpoint, or shipped
    weights."""
    check: Path | None = None
    """Only check this file, which any program may have made."""
    data: Path = Path("data")
    """Data root."""
    split: str = "test"
    """Split whose instructions are followed."""
    out: Path = Path("submission.json")
    """The file to write."""
    planner: bool = False
    """Let the planner, which is not trained, act on the run's filter."""
    device: str = "auto"
    """cpu, cuda or auto."""

    def __post_init__(self) -> None:
        if (self.run is None) == (self.check is None):
            raise ConfigError("nothing to do: name either --run RUN, to write a submission, or --check FILE")
        super().__post_init__()


def main(arguments: list[str]) -> None:
    """Run `ghosts submit`."""
    options = parse(Submit, "submit", arguments, Submit.__doc__)
    if options.check is not None:
        _check(options.check, options)
    else:
        check_out_file(options.out, "a submission", (".json",))
        _write(options)


def _check(path: Path, options: Submit) -> None:
    from ghosts.evaluate.submission import check_submission
    from ghosts_sim.dataroot import DataRoot

    count = check_submission(path, DataRoot(options.data), options.split)
    print(f"{path}: {count} instructions of split {options.split}, all in order")


def _write(options: Submit) -> None:
    # Imported here: torch takes seconds, and `--help` should not wait for it.
    from ghosts.cli.eval import repeatable_products
    from ghosts.data.dataset import open_dataset
    from ghosts.data.examples import make_examples
    from ghosts.evaluate.goal import Execution
    from ghosts.evaluate.submission import write_submission
    from ghosts.evaluate.vln import walk_split
    from ghosts.run.load import load_run
    from ghosts.words.tokens import unread
    from ghosts_sim.dataroot import DataRoot

    assert options.run is not None
    repeatable_products()
    run, root = load_run(options.run), DataRoot(options.data)
    run.agent(planner=options.planner)  # says so before the data is read where it cannot act
    if run.experiment.on_true_beliefs:
        raise ConfigError(f"{options.run} acts on the true trajectory, which no test split shows; submit another run")
    options.check_pragmatic([run], options.planner)
    episodes = root.episodes(options.split)
    scans = sorted({episode.scan for episode in episodes})
    data = open_dataset(root, run.reading, also=scans)
    examples = make_examples(root, episodes, run.reading.steps)
    how = Execution(launch(options.device), options.batch, symmetries=options.symmetries)
    speaker = options.pragmatist(root, how.device, scans)
    with shown_progress("walks that have ended") as report:
        how = replace(how, report=report)
        paths = walk_split(run, data, examples, how, planner=options.planner, pragmatic=speaker)
    walked = {example.instr_id: path for example, path in zip(examples, paths)}
    count = write_submission(options.out, root, options.split, walked)
    print("".join(f"{note}\n" for note in unread(data.vocabulary, [example.text for example in examples])), end="")
    print(f"written: {options.out}, {count} instructions of split {options.split}")
