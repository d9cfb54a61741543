"""Write a report: `ghosts report --data ROOT --run RUN --out report.html` makes one page that needs nothing else.

It shows a whole evaluation (scores of a split, and its best, worst and middling episodes), chosen episodes
(`--episode`), or episode records made elsewhere (`--record`, alone or with the rest). `--figures DIR` makes the
documentation's pictures again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ghosts.cli._runs import Walk, check_episodes
from ghosts.config.values import CommandOptions, Count, Whole
from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_file, check_out_folder
from ghosts_sim.cli._progress import shown_progress
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.values import require

if TYPE_CHECKING:
    from ghosts.view.inspector import Inspector
    from ghosts.view.library import Library
    from ghosts.view.report import Assets, Evaluation, Shown
    from ghosts_sim.dataroot import DataRoot


@dataclass(frozen=True)
class Options(CommandOptions):
    data: Path | None = None
    """Data root. Only --record works without it, and then shows no photos."""
    run: tuple[Path, ...] = ()
    """Folder of a run, a checkpoint, or shipped weights; repeat to compare models side by side."""
    baseline: bool = False
    """Also compare with the hand-coded baseline."""
    out: Path = Path("report.html")
    """Page to write."""
    split: str = ""
    """Split to evaluate; by default one of unseen buildings."""
    walk: Walk = "agent"
    """Walk to show: the model's own (agent), or the one on which `ghosts eval goal` scores all models (fixed)."""
    episode: tuple[str, ...] = ()
    """Show this episode instead of evaluating the split; repeat for more."""
    record: tuple[Path, ...] = ()
    """Show this episode record (JSON, of `ghosts belief` or saved in the viewer), with or without a run; repeat for
    more."""
    examples: Whole = 200
    """Number of instructions of the split to evaluate, evenly spaced; 0 = all."""
    show: Count = 9
    """Number of episodes to show in detail: a third of them the best, a third the worst."""
    pictures: bool = True
    """Include panoramas and painted maps, where there are images (--no-pictures makes a small page)."""
    figures: Path | None = None
    """Folder for the documentation's pictures of the first episode: belief, attention, inside, and viewer and report if
    Chromium is installed."""


def main(arguments: list[str]) -> None:
    """Run `ghosts report`."""
    options = parse(Options, "report", arguments, __doc__)
    check_out_file(options.out, "a report", (".html", ".htm"))
    alone, figures = options.record and not (options.run or options.episode), options.figures
    require(not alone or figures is None, "--figures needs --run RUN, to photograph the viewer", figures)
    if figures is not None:
        check_out_folder(figures, "--figures")
    if options.data is not None:
        check_episodes(options.data, options.split, options.episode)
    elif not alone:
        raise ConfigError("no data root: name --data ROOT (only --record FILE, without --run, goes without one)")
    # Imported here: torch takes seconds, and wrong options should not wait for it.
    from ghosts.view.images import remake_images
    from ghosts.view.library import Library
    from ghosts.view.open import open_world
    from ghosts.view.report import Assets, Evaluation, gather_assets

    if options.data is None:
        shown = [_stored(path) for path in options.record]
        scenes = {record.scan: record.scene for item in shown for record in item.records if record.scene is not None}
        worlds = ", ".join(dict.fromkeys(item.records[0].world for item in shown))
        _write(options.out, shown, Evaluation(), Assets(scenes), [f"{worlds}, recorded episodes"], worlds)
        return
    inspectors: list[Inspector] = []
    if alone:
        library, split = Library([options.data], ()), ""
        world = next(iter(library.roots))
    else:
        library, world, inspectors, split = open_world(
            options.data, options.run, options.split, "".join(options.episode[:1]), baseline=options.baseline
        )
    shown, evaluation = _episodes(options, library, inspectors, split)
    shown += [_stored(path, library.root(world)) for path in options.record]
    with shown_progress("pictures of the buildings") as report:
        first = [item.records[0] for item in shown]
        assets = gather_assets(library, world, first, pictures=options.pictures, report=report)
    print("".join(f"{line}\n" for line in library.twins()), end="")
    about = [f"{world}, {split}" if split else f"{world}, recorded episodes", *library.twins()]
    _write(options.out, shown, evaluation, assets, about, split or world)
    if figures is not None:
        for line in remake_images(figures, library, world, split, shown[0].records[0], options.out):
            print(line, flush=True)


def _write(out: Path, shown: list[Shown], evaluation: Evaluation, assets: Assets, about: list[str], where: str) -> None:
    from ghosts.view.report import build_report
    from ghosts_sim.files import write_text

    names = " and ".join(dict.fromkeys(record.model for item in shown for record in item.records))
    page = build_report(f"Ghosts: {names} on {where}", ". ".join(about), shown, assets, evaluation)
    write_text(out, page)
    count = "1 episode" if len(shown) == 1 else f"{len(shown)} episodes"
    print(f"{out}: {count}, {len(page) / 1e6:.1f} MB; open it in a browser")


def _episodes(
    options: Options, library: Library, inspectors: list[Inspector], split: str
) -> tuple[list[Shown], Evaluation]:
    """Episodes of the data root to look into, and what is known of all of them."""
    from ghosts.view.report import Evaluation, Shown

    evaluation, names = Evaluation(), [(name, "chosen") for name in options.episode]
    if not names and not options.record:
        evaluation, names = _evaluate(options, inspectors, split)
    shown, fixed = [], options.walk == "fixed"
    with shown_progress("episodes to look into") as report:
        for number, (name, note) in enumerate(names):
            query = library.query(inspectors[0], split, name, fixed=fixed)
            shown.append(Shown(name, note, tuple(inspector.record(query) for inspector in inspectors)))
            report(number + 1, len(names))
    return shown, evaluation


def _evaluate(options: Options, inspectors: list[Inspector], split: str) -> tuple[Evaluation, list[tuple[str, str]]]:
    """How the models do on the split, and which of its episodes are worth looking into."""
    from ghosts.data.examples import evenly
    from ghosts.evaluate.goal import Execution, evaluate_goal
    from ghosts.evaluate.vln import score_walks, walk_split
    from ghosts.view.report import Evaluation
    from ghosts.view.report_scores import Listed, choose_episodes

    examples = evenly(inspectors[0].data.examples(split), options.examples)
    goals, walks = {}, {}
    for inspector in inspectors:
        with shown_progress(f"goal prediction ({inspector.name})") as report:
            goals[inspector.name] = evaluate_goal(
                inspector.predictor, inspector.data, examples, Execution(report=report)
            )
        if options.walk == "agent" and inspector.has_filter and not inspector.run.experiment.on_true_beliefs:
            with shown_progress(f"walking ({inspector.name})") as report:
                how, planner = Execution(report=report), inspector.acts == "planner"
                paths = walk_split(inspector.run, inspector.data, examples, how, planner=planner)
                walks[inspector.name] = score_walks(inspector.data.root, examples, paths)
    # A model that does not walk by itself is compared by what it predicts.
    errors = [walks[name].columns["NE"] if name in walks else item.error_m.mean(1) for name, item in goals.items()]
    names = [example.instr_id for example in examples]
    ends = walks[inspectors[0].name].columns["NE"].tolist() if inspectors[0].name in walks else [None] * len(names)
    off = goals[inspectors[0].name].error_m.mean(1).tolist()
    listed = [
        Listed(example.instr_id, example.scan, example.text, _short(end), _short(error))
        for example, end, error in zip(examples, ends, off)
    ]
    return Evaluation(listed, walks, goals), choose_episodes(names, errors, options.show)


def _short(metres: float | None) -> float | None:
    return None if metres is None else round(min(metres, 9999.0), 6)  # a goal out of reach is infinitely far


def _stored(path: Path, root: DataRoot | None = None) -> Shown:
    """An episode recorded elsewhere: of one model, or of several (the viewer's export)."""
    from ghosts.view.record_json import read_records
    from ghosts.view.report import Shown

    records, hint = read_records(path), "name the root it was recorded in with --data"
    for record in records:
        if root is None:
            if record.scene is None:
                raise DataError("the record has no plan of its building", file=path, field="scene", hint=hint)
        elif record.scan not in root.scans:
            problem = "an episode of a building that this data root lacks"
            raise DataError(problem, file=path, field="scan", value=record.scan, hint=hint)
        else:
            known = root.graph(record.scan).ids
            for name in record.viewpoints:
                if name not in known:
                    problem = f"building {record.scan} of this data root lacks a viewpoint"
                    raise DataError(problem, file=path, value=name, hint=hint)
    models = " and ".join(record.model for record in records)
    return Shown(f"{path.stem} {records[0].instr_id}".strip(), f"record of {models}", records)
