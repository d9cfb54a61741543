"""Phrases for the way between doors: along, past, between, towards, up and down. Templates as in `phrases`."""

from __future__ import annotations

from ghosts_houses.words.tables import lines, templates

WALK_ALONG = lines("""
    <go> down {room}*2
    <go> (along|through) {room}
    follow {room}
    traverse {room}
    (walk|go) (straight |)down {room}
    go down {room}
    go along {room}
    take {room}
    keep to {room} and (keep walking|keep going|go straight)
""")
WALK_END = lines("""
    <go> to the (end|far end) of {room}
    <go> all the way down {room}
    (walk|go|continue) all the way to the end of {room}
    follow {room} to the (very |)end
    <go> down {room} to the end
    walk the (whole |entire |full |)length of {room}
""")
END_TURN = lines("""
    at the end of {room}, {turn}
    <go> to the end of {room} and {turn}
    when you (get to|reach) the end of {room}, {turn}
    once at the end of {room}, {turn}
""")
TURN_WALK = lines("""
    {turn} (down|along) {room}
    {turn} and <go> (down|along) {room}
    {turn} and follow {room}
    {turn}, (walking|going|heading) down {room}
    {turn} and (walk|go|continue) (straight |)(down|along) {room}
""")
WALK_FAR = lines("""
    <go> (about|around|roughly|approximately|some) {far} (down|along) {room}
    <go> (down|along) {room} for (about|around|roughly|approximately|some) {far}
    follow {room} for (about|around) {far}
""")
"""A stretch and its length."""
UNTIL = lines("""
    {walk} until you <reach> {thing}*2
    {walk} until {thing} is {on}
    {walk} till you <reach> {thing}
    {walk} as far as {thing}
    {walk} up to {thing}
""")
"""A stretch that leads up to a thing."""
UNTIL_ROOM = lines("""
    {walk} until you (reach|get to|come to|enter|are in) {room}
    {walk} until you (reach|get to|come to) {room}
    {walk} till you get to {room}
    {walk} (straight |)into {room}
    {walk} and (on |)into {room}
""")

WALK_THROUGH = lines("""
    <go> through {room}*2
    (pass|go|walk|cut|head) (straight |)through {room}
    (cross|walk across|go across|head across|move across) {room}
    walk through {room} to the (other|far|opposite) side
    <go> across {room} (to the (other|far) side|)
    make your way (through|across) {room}
    cross over {room}
    walk from one side of {room} to the other
    (traverse|navigate through) {room}
""")

PASS = lines("""
    <go> past {thing} {on}*2
    (walk|go|move|continue|head) past {thing}
    (walk|go|head) past {thing}
    (walk|go|continue) straight past {thing}
    pass {thing} {on}
    pass {thing}
    pass by {thing} {on}
    (walk|go|move|continue) beyond {thing}
    bypass {thing} {on}
    walk along beside {thing}
    (walk|go) by {thing} {on}
    (walk|go|move|squeeze) alongside {thing}
    keep {thing} {on} as you (walk|go|pass)
    you will (pass|see|walk by) {thing} {on}
    you should (pass|see) {thing} {on}
    (walk|go|continue), passing {thing} {on}
    there (is|will be) {one} {on} as you walk
    you will notice {one} {on}
    walk (forward|straight|ahead) past {thing}
    go (forward|straight|ahead) past {thing}
""")
PASS_TWO = lines("""
    <go> past {thing} and {other}
    pass {thing} and {other}
    walk by {thing} and {other}
    <go> past {thing} and (then |){other} {on}
""")
BETWEEN = lines("""
    <go> between {thing} and {other}
    (walk|go|pass) in between {thing} and {other}
    pass between {thing} and {other}
    (squeeze|cut|move|head) between {thing} and {other}
    (walk|go) (forward|straight|) between {thing} and {other}
""")
PASS_DOOR = lines("""
    <go> past {room} {on}
    pass {room} {on}
    <go> past the {way} (of|to) {room} {on}
    (walk|go|continue) (straight |)past {room}
    you will pass {room} {on}
    pass the {way} to {room}
    do not (enter|go into) {room} {on}
    <go> past {room} without (entering|going in)
""")

TOWARD = lines("""
    <go> (towards|toward) {thing}*2
    (walk|go|head|move) (towards|toward) {thing}
    head for {thing}
    (walk|go) straight (toward|towards) {thing}
    walk (toward|towards) {thing}
    (walk|go) in the direction of {thing}
    approach {thing}
    make a beeline for {thing}
    (set off|start walking|start) (towards|toward) {thing}
    (walk|go|head) over (towards|toward) {thing}
    (aim|make) for {thing}
    walk (straight |forward |)with {thing} (ahead of you|in front of you)
    go (straight |forward |)(towards|toward) {thing}
""")

CLIMB = templates(
    up="""
        <climb> up the <stairs>*2
        climb the <stairs>
        climb (up |)the <stairs>
        (go|head|walk) upstairs
        take the stairs up
        ascend the <stairs>
        (go|walk) all the way up the <stairs>
        walk up the steps
        walk to the top of the <stairs>
        go up the <stairs> to the top
    """,
    down="""
        <climb> down the <stairs>*2
        descend the <stairs>
        (go|head|walk) downstairs
        take the stairs down
        (go|walk) all the way down the <stairs>
        walk down the steps
        come down the <stairs>
        walk to the bottom of the <stairs>
        go down the <stairs> to the bottom
    """,
)
"""Stairs, by direction; those that speak of an end are for climbs that get there."""
FLOORS = templates(
    up="""
        to the {floor} floor
        to the (next|upper) floor
        to the {floor} (level|story)
        until you reach the {floor} floor
    """,
    down="""
        to the {floor} floor
        to the lower (floor|level)
        to the floor below
        until you get to the {floor} floor
    """,
)
"""What may be added about the floor a flight leads to."""
AT_STAIRS = lines("""
    at the {end} of the <stairs>, {turn}
    at the {end}, {turn}
    {turn} at the {end} (of the <stairs>|)
    once you are at the {end}, {turn}
    when you (reach|get to) the {end}, {turn}
""")
