"""Houses in the standard formats of other programs: GLB, MJCF and USD."""
