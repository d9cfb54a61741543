"""The reader's own vocabulary.

It shares nothing with the writer's `vocabulary`, `traits` and `phrases` on purpose: a slip in the writer must not be
repeated by the reader who checks it.
"""

from __future__ import annotations

from collections import defaultdict

from ghosts_houses.words.tables import entries, names

_CALLED = entries("""
    aquarium: fish tank, fish aquarium
    armchair: arm chair, easy chair, lounge chair, chair, club chair, accent chair, single sofa
    bar stool: stool, barstool, counter stool, high stool, bar chair, kitchen stool
    bath mat: bathmat, mat, bathroom mat, bathroom rug
    bathtub: tub, bath tub, bath, soaking tub
    bench: bench seat, sitting bench
    bookshelf: bookcase, book shelf, shelf of books, shelving unit, book case, bookrack, set of shelves
    cactus: potted cactus, desert plant, spiky plant
    chair: seat, side chair, dining chair
    china cabinet: display cabinet, hutch, china hutch, curio cabinet, crockery cabinet
    clock: wall clock, timepiece
    clothes rail: clothes rack, garment rack, rack of clothes, hanging clothes
    coat rack: coat stand, coat tree, hat stand, hat rack, hall tree
    coffee table: low table, table, cocktail table, center table
    console table: console, entry table, table, narrow table, hall stand
    crib: baby bed, cot, cradle, infant bed
    curtains: drapes, drapery, window curtains, window drapes
    desk: writing desk, work desk, study desk, desk table
    dining table: dinner table, table, dining room table, supper table, eating table
    door mat: doormat, welcome mat, mat, entrance mat
    dresser: chest of drawers, drawers, bureau, drawer chest, chest
    drum set: drums, drum kit, percussion set
    dryer: clothes dryer, tumble dryer, drying machine
    dumbbell rack: weights rack, dumbbells, weights, rack of weights, free weights
    exercise ball: yoga ball, gym ball, fitness ball
    exercise bike: stationary bike, bike, exercise bicycle, cycling machine
    filing cabinet: file cabinet, file drawers
    fireplace: fire place, hearth, mantel, mantle, chimney piece
    floor lamp: standing lamp, lamp, lamp stand, reading lamp, floor light
    fridge: refrigerator, kitchen fridge
    front door: main door, entrance door, entry door, main entrance, exterior door, house door
    globe: world globe, earth globe
    grandfather clock: tall clock, clock, pendulum clock, standing clock
    guitar: acoustic guitar, instrument
    ironing board: ironing table
    kitchen counter: counter, countertop, counter top, worktop, kitchen countertop, work surface
    kitchen counter: kitchen worktop
    kitchen island: island, center island, breakfast bar, kitchen bar, island counter
    kitchen sink: sink
    laundry basket: hamper, clothes basket, basket, clothes hamper, linen basket, washing basket
    microwave: microwave oven
    mirror: wall mirror, looking glass
    music stand: sheet music stand, note stand
    nightstand: bedside table, night stand, night table, bedside cabinet, bedside stand
    office chair: desk chair, swivel chair, rolling chair, chair, computer chair, work chair
    ottoman: footstool, foot stool, pouf, hassock, foot rest, pouffe
    painting: picture, artwork, piece of art, wall art, canvas, framed picture, work of art, print
    painting: wall hanging, poster, art piece, picture frame, wall decoration, art, wall picture
    pantry shelf: storage shelf, shelving, storage rack, food shelf
    plant: potted plant, houseplant, house plant, pot plant, greenery, indoor plant, planter, leafy plant
    plant: flower pot
    punching bag: boxing bag, heavy bag, punch bag
    round rug: rug, carpet, circular rug, round carpet
    rug: carpet, area rug, throw rug, floor rug, floor mat, floor covering
    runner: runner rug, carpet runner, hall rug, narrow rug, narrow carpet
    shoe rack: shoe shelf, rack of shoes, shoes, shoe stand, footwear rack
    shower: shower stall, shower cabin, shower enclosure, shower booth, walk in shower
    side table: end table, occasional table, lamp table, drink table
    sideboard: buffet, credenza, buffet table, buffet cabinet, serving table
    single bed: bed, twin bed, kids bed
    sink: basin, wash basin, vanity, bathroom sink, bathroom vanity, washbasin, hand basin
    sofa: couch, settee, sofa couch
    stove: cooker, oven, kitchen range, oven range, cooking stove
    suitcase: luggage, travel bag, baggage, travel case
    table lamp: lamp, lamp shade, desk light
    teddy bear: stuffed bear, stuffed animal, teddy, toy bear, plush bear, plush toy
    television: tv, tv screen, flat screen, television set, flat screen tv, flat screen television, tv set
    television: screen
    toilet: commode, toilet bowl, toilet seat, lavatory
    towel rack: towel rail, towel bar, towels, bath towels
    toy box: toy chest, box of toys
    trash can: garbage can, wastebasket, trash bin, waste bin, dustbin, rubbish bin, waste basket
    treadmill: running machine, exercise machine
    tv stand: television stand, tv console, media console, entertainment center, tv unit, tv table
    tv stand: media stand, media cabinet
    umbrella stand: umbrella holder, umbrellas, umbrella rack
    vase: flower vase, ornamental vase, urn, pot
    wall cabinet: cupboard, wall cupboard, upper cabinet, hanging cabinet, overhead cabinet
    wardrobe: armoire, wardrobe closet, clothes cabinet, clothes cupboard
    washing machine: washer, clothes washer, laundry machine
    weight bench: workout bench, lifting bench
    whiteboard: white board, dry erase board
    bed: mattress, bed frame
    printer: copier, printing machine
    yoga mat: exercise mat, mat, workout mat, fitness mat
""")
_HALLS = ("hallway", "stair hall", "entryway")
_ROOM_CALLED = entries("""
    hallway: hall, corridor, passage, passageway, hall way, walkway
    stair hall: hallway, hall, stairwell
    entryway: foyer, entrance hall, entry, front hall, vestibule, entry way, lobby, entrance area
    bathroom: restroom, washroom, bathroom area, wash room, powder room
    bedroom: sleeping room, bedroom area, sleeping area, bedchamber, sleeping quarters
    kitchen: kitchen area, kitchen space, cooking area
    living room: lounge, family room, sitting room, living area, sitting area, parlor, front room, great room
    dining room: dining area, eating area, dining space
    office: study, home office, work room, office space, workspace
    laundry room: laundry, utility room, laundry area
    gym: workout room, exercise room, fitness room, home gym, weight room
    nursery: baby room, kids room, children s room, playroom
    closet: walk in closet, dressing room, clothes closet
    library: reading room, library room, book room
    music room: practice room, music studio
    pantry: larder, food pantry, storeroom
    garage: car port
""")
TRAITS = entries("""
    large: large, big, huge, giant, massive
    small: small, little, tiny
    tall: tall
    long: long
    round: round, circular
    square: square
    rectangular: rectangular
    glass: glass
    wood: wooden, wood
    metal: metal, steel, stainless steel
    leather: leather
    fabric: upholstered, cushioned, padded
    wicker: wicker, woven
    brick: brick
    picture: framed, hanging
    rug: patterned
""")
"""Adjectives by what they claim: a size, a shape, or a material."""
_SHADES = entries("""
    gray: grey
    beige: tan, cream colored
    brown: dark brown
    blue: dark blue, navy blue, navy
    green: dark green
    red: dark red, crimson
    teal: turquoise, blue green
    purple: violet
    white: off white
    yellow: mustard yellow, gold colored
""")
COLORS = {word: color for color, words in _SHADES.items() for word in words}
"""Other words for colours."""
_NUMBERS = names(
    "one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen, "
    "seventeen, eighteen, nineteen, twenty"
)
COUNTS = {word: k for k, word in enumerate(_NUMBERS, 1)}
NUMBERS = {
    **{word: k for word, k in COUNTS.items() if 2 <= k <= 8},
    **{str(k): k for k in range(2, 9)},
    "pair of": 2,
    "couple of": 2,
    "both": 2,
}
"""How many things are spoken of."""
_ORDINALS = ("first, 1st", "second, 2nd", "third, 3rd", "fourth, 4th", "fifth, 5th")
ORDINALS = {word: k for k, words in enumerate(_ORDINALS, 1) for word in names(words)}
UNITS_M = {"feet": 0.305, "meters": 1.0, "steps": 0.7, "paces": 0.8}
SHORT = {"you re": "you are", "you ll": "you will", "that s": "that is", "don t": "do not", "there s": "there is"}
"""Words run together, as they read without the apostrophe."""
SURFACES: dict[str, dict[str, tuple[str, ...]]] = {
    "floor": {
        "wooden": ("planks", "parquet"), "wood": ("planks", "parquet"), "hardwood": ("planks", "parquet"),
        "parquet": ("parquet",), "tiled": ("tile",), "tile": ("tile",), "checkered": ("checker",),
        "checkerboard": ("checker",), "marble": ("marble",), "carpeted": ("carpet",), "rubber": ("rubber",),
    },
    "wall": {"brick": ("brick",), "striped": ("stripes",), "tiled": ("wall tile",)},
}  # fmt: skip
"""Materials of the shell by what a floor or a wall is called."""


def _inverted(table: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    result: dict[str, list[str]] = defaultdict(list)
    for kind, words in table.items():
        for word in (kind, *words):
            if kind not in result[word]:
                result[word].append(kind)
    return {word: tuple(kinds) for word, kinds in result.items()}


THINGS = _inverted(_CALLED)
"""Kinds of things by every word that may mean them."""
ROOMS = _inverted(_ROOM_CALLED) | {
    word: tuple(kind for kind in _ROOM_CALLED if kind not in _HALLS) for word in ("room", "next room", "area")
}
"""Kinds of rooms by every word that may mean them."""
ADJECTIVES = {word: trait for trait, words in TRAITS.items() for word in words}
