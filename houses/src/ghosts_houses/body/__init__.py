"""A body that can stand anywhere in a house: where it fits, how it moves, how far it is to a goal."""
