"""A drop-in for the original simulator's Python module: `import ghosts_sim.mattersim as MatterSim`.

Same functions, defaults, order, rounding, errors and state fields as `peteanderson80/Matterport3DSimulator`, without
OpenGL. `ghosts_sim.mattersim.v1` has its older interface (one simulator, plain values). Where the two differ from the
originals on purpose, `docs/mattersim.md` says why.
"""

from ghosts_sim.mattersim.batch import SimState, Simulator, ViewPoint, cbf

__all__ = ["SimState", "Simulator", "ViewPoint", "cbf"]
