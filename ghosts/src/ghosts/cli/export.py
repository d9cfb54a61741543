"""Write a run's weights in half precision, to ship or to send: `ghosts export --run RUN --out FILE.safetensors`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_file


@dataclass(frozen=True)
class Options:
    run: Path
    """Run folder or checkpoint."""
    out: Path
    """File to write (.safetensors)."""


def main(arguments: list[str]) -> None:
    """Run `ghosts export`."""
    options = parse(Options, "export", arguments, __doc__)
    check_out_file(options.out, "a checkpoint", (".safetensors",))
    # Imported here: torch takes seconds, and wrong options should not wait for it.
    from ghosts.run.load import export_run

    run = export_run(options.run, options.out)
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.1f} MB, iteration {run.iteration}")
