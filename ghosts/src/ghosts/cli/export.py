"""Write a run's weights in half precision, to ship or to send: `ghosts export --run RUN --out FILE.safetensors`.

With --networks, a tracker's networks as ONNX files and programs of torch.export instead, for robots without this
package: `ghosts export --run RUN --networks --out FOLDER`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_file, check_out_folder
from ghosts_sim.values import require


@dataclass(frozen=True)
class Options:
    run: Path
    """Run folder or checkpoint; with --networks also the name of shipped weights."""
    out: Path
    """File to write (.safetensors), or folder for networks."""
    networks: bool = False
    """Write the tracker's networks as ONNX and torch.export (needs ghosts[deploy])."""
    backbone: Path | None = None
    """Backbone of a run on images, with --networks; a file, or houses-backbone."""

    def __post_init__(self) -> None:
        require(self.networks or self.backbone is None, "--backbone belongs to --networks", str(self.backbone))


def main(arguments: list[str]) -> None:
    """Run `ghosts export`."""
    options = parse(Options, "export", arguments, __doc__)
    if options.networks:
        check_out_folder(options.out)
        from ghosts.run.deploy import write_networks

        for name, off in write_networks(options.run, options.backbone, options.out):
            print(f"{options.out / name}.onnx and .pt2: ONNX differs by at most {off:.1e}", flush=True)
        return
    check_out_file(options.out, "a checkpoint", (".safetensors",))
    # Imported here: torch takes seconds, and wrong options should not wait for it.
    from ghosts.run.load import export_run

    run = export_run(options.run, options.out)
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.1f} MB, iteration {run.iteration}")
