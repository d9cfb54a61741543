"""The module `MatterSim` under the name that some programs import: `from Matterport3DSimulator import MatterSim`."""

from MatterSim import SimState, Simulator, ViewPoint, cbf

__all__ = ["SimState", "Simulator", "ViewPoint", "cbf"]
