"""Labelled landmarks (objects and rooms) instead of images: what a robot with an object detector has."""
