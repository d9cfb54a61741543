"""Seeing it: top-down drawing, attention, the inside of the filter, reports, films, and a viewer in the browser."""
