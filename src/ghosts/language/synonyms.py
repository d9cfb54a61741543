"""Synonyms that test how well a model reads words that training never met (`ghosts eval … --reword`)."""

from __future__ import annotations

import re

_PAIRS = """
walk stroll, turn swivel, go advance, stop halt, wait linger, exit depart,
continue carry, proceed progress, follow trail, cross traverse, move shift,
head steer, reach attain, pass bypass, face confront, take select,
immediately instantly, slightly somewhat, middle midst, center centre, top summit,
first initial, next subsequent, then afterwards, forward onward, down downward,
up upward, between amid, through thru, opening gap, area zone, path route,
bedroom chamber, kitchen galley, hall vestibule, office workplace, lounge parlor,
porch veranda, gym gymnasium, theater cinema, library archive, house dwelling,
door portal, doorway gateway, couch divan, painting canvas, lamp lantern,
window pane, fireplace hearth, refrigerator freezer, stove cooker, sink basin,
toilet loo, closet cupboard, dresser bureau, shelves racks, tv monitor,
plant shrub, curtains drapes, bench pew, stool barstool, computer laptop,
sign placard, rope cord, railing handrail, walls partitions, box crate,
basket hamper, bowl dish, books volumes, pillow cushion, blanket quilt,
chandelier candelabra, drawer compartment, nightstand commode,
large enormous, small tiny, brown chestnut, white ivory, red crimson,
green emerald, blue navy, grey ash, wooden oak, glass crystal, closed shut,
tall lofty, long lengthy, narrow slim, wide broad, single solitary,
dark gloomy, fancy luxurious, old ancient, curved bent, hanging suspended
"""
SYNONYMS = dict(pair.split() for pair in _PAIRS.split(","))
"""Words that R2R's instructions use, and one of about the same meaning that fewer than five of its training
instructions do: no vocabulary of a model trained on them lists it."""

_WORD = re.compile(r"[a-z]+", re.IGNORECASE)


def reword(text: str) -> str:
    """The text with words replaced by synonyms.

    Example:
        >>> reword("Walk past the couch.")
        'stroll past the divan.'
    """
    return _WORD.sub(lambda found: SYNONYMS.get(found[0].lower(), found[0]), text)
