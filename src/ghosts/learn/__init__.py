"""Learning: trajectories, cached tiles, batches, goal training, the loop, checkpoints."""
