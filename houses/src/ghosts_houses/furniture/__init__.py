"""Kinds of objects, and finding each its place in a room."""
