"""Commands of this distribution (see `ghosts_sim.cli`)."""
