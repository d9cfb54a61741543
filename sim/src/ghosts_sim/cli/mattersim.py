"""Run programs written for MatterSim unchanged: install a module of that name, or remove it."""

from __future__ import annotations

from dataclasses import dataclass

from ghosts_sim.cli._options import parse
from ghosts_sim.mattersim import shim
from ghosts_sim.values import require


@dataclass(frozen=True)
class Options:
    """Make `import MatterSim` import this package; without options, say what it imports now."""

    install_shim: bool = False
    """Write a module `MatterSim` among this Python's packages. If another one is there, it stays as it is."""
    remove_shim: bool = False
    """Remove that module again."""
    version: shim.Version = 2
    """2 is the newer interface (a batch, lists), 1 the older one (one simulator, plain values, `init`)."""

    def __post_init__(self) -> None:
        require(not (self.install_shim and self.remove_shim), "give --install-shim or --remove-shim, not both", "both")


def main(arguments: list[str]) -> None:
    """Run `ghosts mattersim`."""
    options = parse(Options, "mattersim", arguments, __doc__)
    if options.install_shim:
        shim.install(options.version)
    elif options.remove_shim:
        removed = shim.remove()
        print(f"removed {removed}" if removed is not None else "there was no shim to remove")
        return
    print(status())


def status() -> str:
    """What `import MatterSim` imports, in one line."""
    found = shim.find()
    if found.path is None:
        return "import MatterSim: no such module; to have it import ghosts: ghosts mattersim --install-shim"
    if found.version is None:
        return f"import MatterSim: {found.path}, which is not of this package"
    return f"import MatterSim: {shim.NAMES[found.version]} of ghosts ({found.path})"
