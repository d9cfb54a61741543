"""Get ResNet-34's official ImageNet weights for `ghosts tiles`: from a file, or fetched with a checksum."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_file


@dataclass(frozen=True)
class Options:
    file: Path | None = None
    """Torchvision's resnet34-….pth, or the same tensors as safetensors. It is fetched when not given."""
    out: Path | None = None
    """File to write (.safetensors); by default in the cache folder."""


def main(arguments: list[str]) -> None:
    """Run `ghosts weights`."""
    options = parse(Options, "weights", arguments, __doc__)
    if options.out is not None:
        check_out_file(options.out)
    # Imported here: torch takes seconds, and `--help` should not wait for it.
    from ghosts.mapping.resnet_weights import URL, check_file, default_path, install_weights

    if options.file is not None and not check_file(options.file):
        print(f"{options.file}: not verified, since its name carries no checksum (as {Path(URL).name} does)")
    path = install_weights(options.out or default_path(), options.file)
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)\nnext: ghosts tiles --data ROOT --backbone {path}")
