"""The Matterport3D Simulator's Python module, by ghosts-sim: programs that `import MatterSim` run as they are.

It serves programs of both times. Where another module of this name waits further down Python's import path, such as a
build of the original, importing this one says so.
"""

from ghosts_sim.mattersim.either import SimState, Simulator, ViewPoint, cbf, warn_of_others

__all__ = ["SimState", "Simulator", "ViewPoint", "cbf"]

warn_of_others(__file__)
