"""The original simulator's two Python interfaces; the module `MatterSim` serves programs of both.

Same functions, defaults, order, rounding, errors and state fields as `peteanderson80/Matterport3DSimulator`, without
OpenGL. This is the newer interface, a batch of environments and lists; `ghosts_sim.mattersim.v1` is the older one, one
environment and plain values; `either` tells which a program means. Where they differ from the originals on purpose,
`docs/mattersim.md` says why.
"""

from ghosts_sim.mattersim.batch import SimState, Simulator, ViewPoint, cbf

__all__ = ["SimState", "Simulator", "ViewPoint", "cbf"]
