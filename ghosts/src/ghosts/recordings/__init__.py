"""Recordings of a robot's camera: read from bags and folders, shown to a tracker, and written."""
