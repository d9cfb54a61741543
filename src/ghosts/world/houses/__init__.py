"""Procedural houses: plan, furniture, materials, ray caster, graph, instructions (the embedded default world)."""
