"""Write a report: `ghosts report --data ROOT --run RUN --out report.html` makes one page that needs nothing else.

Of a whole evaluation (the split's instructions, best, worst and middling episodes to look into), of chosen episodes
(`--episode`), or of episode records made elsewhere (`--record`). `--figures DIR` remakes the documentation's pictures.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from ghosts.cli._out import check_out_file, check_out_folder
from ghosts.config import require
from ghosts.errors import DataError

if TYPE_CHECKING:
    from ghosts.evaluate.goal import GoalScores
    from ghosts.view.library import Library
    from ghosts.view.mind import Mind
    from ghosts.view.report import Shown


@dataclass(frozen=True)
class Options:
    """Write a report: one HTML page that needs no server and no network."""

    data: Path
    """Data root."""
    run: tyro.conf.UseAppendAction[tuple[Path, ...]] = ()
    """Folder of a run, or a checkpoint; repeat to compare models side by side."""
    baseline: bool = False
    """Also compare with the hand-coded baseline."""
    out: Path = Path("report.html")
    """Page to write."""
    split: str = ""
    """Split; an unseen one by default."""
    episode: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """Show this instruction instead of evaluating the split; repeat for more."""
    record: tyro.conf.UseAppendAction[tuple[Path, ...]] = ()
    """Also show this episode record (JSON, of this data root); repeat for more."""
    examples: int = 200
    """Instructions of the split that are evaluated, evenly spaced; 0 = all."""
    show: int = 9
    """Episodes to look into: a third of them best, a third worst."""
    pictures: bool = True
    """Put panoramas and painted maps in, where there are images (--no-pictures: a small page)."""
    figures: Path | None = None
    """Folder for the documentation's pictures (belief, attention, inside, and the viewer where Chromium is)."""

    def __post_init__(self) -> None:
        require(self.show >= 1, "--show must be at least 1", self.show)
        require(self.examples >= 0, "--examples must not be negative", self.examples)


def main(arguments: list[str]) -> None:
    """Run `ghosts report`."""
    options = tyro.cli(Options, args=arguments, prog="ghosts report", description=__doc__)
    check_out_file(options.out, "a report", (".html", ".htm"))
    if options.figures is not None:
        check_out_folder(options.figures, "--figures")
    # Imported here: torch takes seconds, and wrong options should not wait for it.
    from ghosts.files import write_text
    from ghosts.view.images import remake_images
    from ghosts.view.open import open_world
    from ghosts.view.report import build_report, gather_assets

    library, world, minds, split = open_world(options.data, options.run, options.split, baseline=options.baseline)
    shown, scores = _episodes(options, library, minds, split)
    if options.figures is not None:
        for line in remake_images(options.figures, library, world, split, shown[0].records[0], scores):
            print(line)
    assets = gather_assets(library, world, [item.records[0] for item in shown], pictures=options.pictures)
    names = " and ".join(mind.name for mind in minds)
    page = build_report(f"Ghosts: {names} on {split}", f"{world}, {split}", shown, assets, scores)
    write_text(options.out, page)
    print(f"{options.out}: {len(shown)} episodes, {len(page) / 1e6:.1f} MB; open it in a browser")


def _episodes(
    options: Options, library: Library, minds: list[Mind], split: str
) -> tuple[list[Shown], dict[str, GoalScores] | None]:
    from ghosts.view.report import Shown
    from ghosts.view.report_scores import choose_episodes

    scores = None
    names = [(name, "chosen") for name in options.episode]
    if not names and not options.record:
        scores = {mind.name: _score(options, mind, split) for mind in minds}
        names = choose_episodes(list(scores.values()), options.show)
    shown = []
    for name, note in names:
        question = library.question(minds[0], split, name)
        shown.append(Shown(name, note, tuple(mind.record(question) for mind in minds)))
    return shown + [_stored(path, minds[0]) for path in options.record], scores


def _stored(path: Path, mind: Mind) -> Shown:
    """An episode recorded elsewhere: of one model, or of several (the viewer's export)."""
    from ghosts.view.record import read_records
    from ghosts.view.report import Shown

    records = read_records(path)
    for record in records:
        if record.scan not in mind.root.scans:
            raise DataError(
                "an episode of a building that this data root lacks",
                file=path,
                field="scan",
                value=record.scan,
                hint="name the root it was recorded in with --data",
            )
    models = " and ".join(record.model for record in records)
    return Shown(f"{path.stem} {records[0].instr_id}".strip(), f"record of {models}", records)


def _score(options: Options, mind: Mind, split: str) -> GoalScores:
    from ghosts.data.examples import evenly
    from ghosts.evaluate.goal import evaluate_goal

    return evaluate_goal(mind.model, mind.data, evenly(mind.data.examples(split), options.examples), batch=16)
