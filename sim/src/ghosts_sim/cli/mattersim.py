"""Say what `import MatterSim` imports: the module of ghosts-sim, or another one."""

from __future__ import annotations

from dataclasses import dataclass

from ghosts_sim.cli._options import parse
from ghosts_sim.mattersim.either import find_modules


@dataclass(frozen=True)
class Options:
    """Nothing is changed."""


def main(arguments: list[str]) -> None:
    """Run `ghosts mattersim`."""
    parse(Options, "mattersim", arguments, __doc__)
    found = find_modules()
    for number, file in enumerate(found):
        ours = "ghosts_sim.mattersim.either" in file.read_text("utf-8") if file.suffix == ".py" else False
        said = "import MatterSim" if number == 0 else "hidden by it"
        print(f"{said}: {file}, {'of ghosts-sim' if ours else 'not of ghosts-sim'}")
    if not found:
        print("import MatterSim: no such module; pip install ghosts-sim brings it")
