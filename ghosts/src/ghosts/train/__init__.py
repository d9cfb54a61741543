"""Learning: tasks, the one trainer, its log, stopping and resuming, starting from other weights."""
