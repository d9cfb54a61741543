"""From solids to pictures: ray caster, light, materials, panoramas."""
