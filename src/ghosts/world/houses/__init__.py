"""Procedural houses: plan, furniture, render, graph, words, in the order a house is made (the default world)."""
