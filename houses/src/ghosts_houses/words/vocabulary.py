"""Words for things and rooms: what people call them, and which things have a front to stand in front of."""

from __future__ import annotations

import functools

from ghosts_houses.words.tables import entries, names

_NOUNS = entries("""
    aquarium: aquarium, fish tank, fish aquarium
    armchair: armchair, arm chair, easy chair, lounge chair, chair, club chair, accent chair, single sofa
    bar stool: bar stool, stool, barstool, counter stool, high stool, bar chair, kitchen stool
    bath mat: bath mat, bathmat, mat, bathroom mat, bathroom rug
    bathtub: bathtub, tub, bath tub, bath, soaking tub
    bench: bench, bench seat, sitting bench
    bookshelf: bookshelf, bookcase, book shelf, shelf of books, shelving unit, book case, bookrack
    bookshelf: set of shelves
    cactus: cactus, potted cactus, desert plant, spiky plant
    chair: chair, seat, side chair, dining chair
    china cabinet: china cabinet, display cabinet, hutch, china hutch, curio cabinet, crockery cabinet
    clock: clock, wall clock, timepiece
    clothes rail: clothes rail, clothes rack, garment rack, rack of clothes, hanging clothes
    coat rack: coat rack, coat stand, coat tree, hat stand, hat rack, hall tree
    coffee table: coffee table, low table, table, cocktail table, center table
    console table: console table, console, entry table, table, narrow table, hall stand
    crib: crib, baby bed, cot, cradle, infant bed
    curtains: curtains, drapes, drapery, window curtains, window drapes
    desk: desk, writing desk, work desk, study desk, desk table
    dining table: dining table, dinner table, table, dining room table, supper table, eating table
    door mat: door mat, doormat, welcome mat, mat, entrance mat
    dresser: dresser, chest of drawers, drawers, bureau, drawer chest, chest
    drum set: drum set, drums, drum kit, percussion set
    dryer: dryer, clothes dryer, tumble dryer, drying machine
    dumbbell rack: dumbbell rack, weights rack, dumbbells, weights, rack of weights, free weights
    exercise ball: exercise ball, yoga ball, gym ball, fitness ball
    exercise bike: exercise bike, stationary bike, bike, exercise bicycle, cycling machine
    filing cabinet: filing cabinet, file cabinet, file drawers
    fireplace: fireplace, fire place, hearth, mantel, mantle, chimney piece
    floor lamp: floor lamp, standing lamp, lamp, lamp stand, reading lamp, floor light
    fridge: fridge, refrigerator, kitchen fridge
    front door: front door, main door, entrance door, entry door, main entrance, exterior door, house door
    globe: globe, world globe, earth globe
    grandfather clock: grandfather clock, tall clock, clock, pendulum clock, standing clock
    guitar: guitar, acoustic guitar, instrument
    ironing board: ironing board, ironing table
    kitchen counter: kitchen counter, counter, countertop, counter top, worktop, kitchen countertop
    kitchen counter: work surface, kitchen worktop
    kitchen island: kitchen island, island, center island, breakfast bar, kitchen bar, island counter
    kitchen sink: kitchen sink, sink
    laundry basket: laundry basket, hamper, clothes basket, basket, clothes hamper, linen basket
    laundry basket: washing basket
    microwave: microwave, microwave oven
    mirror: mirror, wall mirror, looking glass
    music stand: music stand, sheet music stand, note stand
    nightstand: nightstand, bedside table, night stand, night table, bedside cabinet, bedside stand
    office chair: office chair, desk chair, swivel chair, rolling chair, chair, computer chair, work chair
    ottoman: ottoman, footstool, foot stool, pouf, hassock, foot rest, pouffe
    painting: painting, picture, artwork, piece of art, wall art, canvas, work of art, print
    painting: wall hanging, poster, art piece, picture frame, wall decoration, art, wall picture
    pantry shelf: pantry shelf, storage shelf, shelving, storage rack, food shelf
    piano: piano
    plant: plant, potted plant, houseplant, house plant, pot plant, greenery, indoor plant, planter
    plant: leafy plant, flower pot
    punching bag: punching bag, boxing bag, heavy bag, punch bag
    round rug: round rug, rug, circular rug, round carpet
    rug: rug, carpet, area rug, throw rug, floor rug, floor mat, floor covering
    runner: runner, runner rug, carpet runner, hall rug, narrow rug, narrow carpet
    shoe rack: shoe rack, shoe shelf, rack of shoes, shoes, shoe stand, footwear rack
    shower: shower, shower stall, shower cabin, shower enclosure, shower booth, walk in shower
    side table: side table, end table, occasional table, lamp table, drink table
    sideboard: sideboard, buffet, credenza, buffet table, buffet cabinet, serving table
    single bed: single bed, bed, twin bed, kids bed
    sink: sink, basin, wash basin, vanity, bathroom sink, bathroom vanity, washbasin, hand basin
    sofa: sofa, couch, settee, sofa couch
    stove: stove, cooker, oven, kitchen range, oven range, cooking stove
    suitcase: suitcase, luggage, travel bag, baggage, travel case
    table lamp: table lamp, lamp, lamp shade, desk light
    teddy bear: teddy bear, stuffed bear, stuffed animal, teddy, toy bear, plush bear, plush toy
    television: television, tv, tv screen, flat screen, television set, flat screen tv, flat screen television
    television: tv set, screen
    toilet: toilet, commode, toilet bowl, toilet seat, lavatory
    towel rack: towel rack, towel rail, towel bar, towels, bath towels
    toy box: toy box, toy chest, box of toys
    trash can: trash can, garbage can, wastebasket, trash bin, waste bin, dustbin, rubbish bin, waste basket
    treadmill: treadmill, running machine, exercise machine
    tv stand: tv stand, television stand, tv console, media console, entertainment center, tv unit, tv table
    tv stand: media stand, media cabinet
    umbrella stand: umbrella stand, umbrella holder, umbrellas, umbrella rack
    vase: vase, flower vase, ornamental vase, urn, pot
    wall cabinet: wall cabinet, cupboard, wall cupboard, upper cabinet, hanging cabinet, overhead cabinet
    wardrobe: wardrobe, armoire, wardrobe closet, clothes cabinet, clothes cupboard
    washing machine: washing machine, washer, clothes washer, laundry machine
    weight bench: weight bench, workout bench, lifting bench
    whiteboard: whiteboard, white board, dry erase board
    bed: bed*2, mattress, bed frame
    printer: printer, copier, printing machine
    yoga mat: yoga mat, exercise mat, mat, workout mat, fitness mat
""")
UNSPOKEN = frozenset({"door", "ceiling lamp", "pendant lamp", "chandelier", "range hood"})
"""Kinds that directions never mention, because they hang overhead or stand everywhere."""
SMALL = frozenset({"vase", "clock", "towel rack", "curtains", "table lamp", "microwave", "wall cabinet"})
"""Kinds people mention only now and then: small, or never alone."""
FRONTED = frozenset(
    names("""
        sofa, armchair, television, fridge, stove, dryer, bookshelf, wardrobe, dresser, fireplace, desk,
        piano, mirror, painting, sink, toilet, shower, sideboard, aquarium, whiteboard, washing machine, tv
        stand, kitchen counter, kitchen sink, china cabinet, filing cabinet, grandfather clock, front door,
        console table, pantry shelf
    """)
)
"""Kinds one can stand in front of."""

_ROOMS = entries("""
    hallway: hallway, hall, corridor, hallway, passage, passageway, hall way, walkway
    stair hall: hallway, hall, stair hall, stairwell
    entryway: entryway, foyer, entrance hall, entry, front hall, vestibule, entry way, lobby, entrance area
    bathroom: bathroom*6, restroom*2, washroom, bathroom area, wash room, powder room
    bedroom: bedroom*9, sleeping room, bedroom area, sleeping area, bedchamber, sleeping quarters
    kitchen: kitchen*6, kitchen area*2, kitchen space, cooking area
    living room: living room, lounge, living room, family room, sitting room, living area, sitting area
    living room: parlor, front room, great room
    dining room: dining room, dining area, dining room, eating area, dining space
    office: office, study, home office, work room, office space, workspace
    laundry room: laundry room, laundry, utility room, laundry area
    gym: gym, workout room, exercise room, fitness room, home gym, weight room
    nursery: nursery, baby room, kids room, children's room, playroom
    closet: closet, walk in closet, dressing room, clothes closet
    library: library, reading room, library room, book room
    music room: music room*2, practice room, music studio
    pantry: pantry, larder, food pantry, storeroom
""")


def nouns(kind: str) -> tuple[str, ...]:
    """What people call a kind of thing; the first is the commonest."""
    return _NOUNS.get(kind, (kind.replace("_", " "),))


@functools.cache
def namesakes(kind: str, other: str) -> bool:
    """Whether two kinds of things share a noun."""
    return not set(nouns(kind)).isdisjoint(nouns(other))


def room_names(kind: str) -> tuple[str, ...]:
    """What people call a kind of room."""
    return _ROOMS.get(kind, (kind.replace("_", " "),))
