"""Paths in words: facts, grammar, instructions, and the reader that checks them."""
