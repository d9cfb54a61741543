"""Following instructions without a graph: the task in houses, its scores, agents that drive, baselines."""
