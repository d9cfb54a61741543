"""Phrases for turns, for the start and for doors: templates by what they say.

`(a|b|)` is a choice (they nest), `<go>` one of a list of words (`WORDS`), `{…}` a slot filled by `clauses`. `{room}`
and `{left}` are rooms with their article, `{thing}` a thing with its article and what it takes to tell it apart,
`{hand}` is left or right, `{on}` "on your left" in one of its forms.
"""

from __future__ import annotations

from ghosts_houses.words.tables import entries, lines, templates

WORDS = entries("""
    go: walk*16, go*10, head*4, continue*5, move*2, proceed*2, keep walking, keep going, make your way
    go: walk straight*2, go straight*2, continue straight, walk forward, head straight, travel
    go: advance, carry on, walk on, stroll, keep moving, keep heading
    step: walk*12, go*8, step*2, head*2, move, come, proceed, continue*2, walk straight, go straight, make your way
    stop: stop*24, wait*18, stand*3, stop and wait*2, come to a stop, pause, halt, stay, finish, end up, remain
    halt: stop*12, wait*8, stop and wait*2, pause, halt, come to a stop
    stairs: stairs*8, steps*3, staircase*2, flight of stairs, stairway, set of stairs, flight of steps
    reach: reach*4, get to*4, come to*2, arrive at, come across, see*2, find, spot, notice, are at
    reach: are next to, are level with
    climb: walk*5, go*5, head*2, continue, proceed, step
""")
"""Words for one thing each."""

TURN = templates(
    plain="""
        turn {hand}*4
        turn to (the|your) {hand}
        take a {hand}*2
        make a {hand}*2
        go {hand}
        make a {hand} (turn|hand turn)
        take a {hand} turn
        hang a {hand}
        head (off |)to the {hand}
        swing (to the|) {hand}
        pivot {hand}
        turn (90|ninety) degrees to the {hand}
        make an immediate {hand}
        take a quick {hand}
        hook a {hand}
    """,
    slight="""
        turn slightly {hand}
        turn slightly to (the|your) {hand}
        bear {hand}
        veer (to the|) {hand}
        veer slightly to the {hand}
        take a slight {hand}
        make a slight {hand} (turn|)
        angle (to the|) {hand}
        turn a (little|bit) to (the|your) {hand}
        drift to the {hand}
        ease over to the {hand}
        curve to the {hand}
        go slightly {hand}
    """,
    sharp="""
        make a (sharp|hard) {hand}
        turn sharply (to the|) {hand}
        take a (sharp|hard|tight) {hand}
        make a (sharp|hard) {hand} turn
        turn (hard|sharp) {hand}
    """,
    around="""
        turn around*3
        turn all the way around
        turn around completely
        turn completely around
        do a (180|one eighty)
        spin around
        make a u turn
        turn 180 degrees
        turn to face the (other way|opposite direction)
    """,
)
"""Changes of direction, by size."""

FIRST_TURN = templates(
    plain="""
        turn {hand}*2
        turn to (your|the) {hand}
        start by turning (to the|) {hand}
        face {hand}
        make a {hand}
        begin by facing {hand}
        rotate to (your|the) {hand}
        turn (90|ninety) degrees to (the|your) {hand}
    """,
    slight="""
        turn slightly {hand}
        turn slightly to (your|the) {hand}
        turn a (little|bit) to the {hand}
        veer {hand}
        bear {hand}
    """,
    sharp="""
        turn sharply {hand}
        make a (sharp|hard) {hand}
        turn hard {hand}
    """,
    around="""
        turn around*3
        turn all the way around
        start by turning around
        turn completely around
        do a 180
        turn 180 degrees
        turn to face the other way
    """,
)

FACING = lines("""
    facing {thing}, {turn}
    you are facing {thing}. {turn}
    (if|when) you are facing {thing}, {turn}
    looking at {thing}, {turn}
    start facing {thing} and {turn}
""")

ORIENT = lines("""
    with {thing} {around}, <go> (forward|ahead|straight ahead)
    stand so that {thing} is {around} and walk (forward|straight)
    start with {thing} {around} and (walk|go) (forward|straight)
    walk forward with {thing} {around}
    walk (ahead|forward|on) so that {thing} is {around}
    go forward (so that|so) {thing} is {around}
    walk straight ahead with {thing} {around}
    go straight with {thing} {around}
""")
AROUND = {
    "left": "(on your left|to your left|on the left side)",
    "right": "(on your right|to your right|on the right side)",
    "behind": "(behind you|at your back|directly behind you)",
}
AWAY = lines("""
    (walk|walk|go|move|step|head) away from {thing}
    walk straight away from {thing}
    (go|walk) (forward|straight), away from {thing}
    with your back to {thing}, walk (forward|straight|ahead)
    leave {thing} behind you and walk (forward|straight|on)
""")

LEAVE = lines("""
    (exit|leave) {left}*3
    (exit|leave) {left} (through|by|via|using) the {way}
    <step> out of {left}*2
    (walk|go) out of {left} (through|by) the {way}
    (walk|go) through the {way} and out of {left}
    (walk|go) out the {way} of {left}
    make your way out of {left}
    (get|come|head) out of {left}
    emerge from {left}
    exit out of {left}
    find your way out of {left}
    walk through the {way} to (leave|exit) {left}
    make an exit from {left}
    walk (straight|forward) and (exit|leave) {left}
    (walk|go) (straight |)out of {left}
""")
"""Out of a room, into a hallway mostly."""

LEAVE_TO = lines("""
    (exit|leave) {left} (and (go|walk|step|head) |)into {room}
    (walk|go|head|move) out of {left} (and |)into {room}
    (walk|go|step|cross|move) from {left} into {room}
    (exit|leave) {left} and enter {room}
    leave {left} (through|by|via) the {way} (to|leading to|that leads to) {room}
    (walk|go) out of {left} and through the {way} (to|into) {room}
    exit {left} through the {way} into {room}
""")

ENTER = lines("""
    enter {room}*2
    <step> into {room}*3
    (walk|go|pass|head) through the {way} (into|to) {room}
    (walk|step|pass|move) through the {way} into {room}
    go through the {way} that leads (to|into) {room}
    take the {way} (leading (to|into)|to|into) {room}
    make your way into {room}
    (cross|step over|walk over) the threshold into {room}
    (head|go|move) on into {room}
    continue (straight |on |)(ahead |)into {room}
    keep (walking|going) (straight |)into {room}
    (walk|go|step) inside {room}
    proceed (straight |)(through the {way} |)into {room}
    use the {way} to enter {room}
    get to {room}
    slip into {room}
    let yourself into {room}
    (continue|carry on) through to {room}
    head over to {room} and (go in|enter)
""")

TURN_ENTER = lines("""
    turn {hand} into {room}
    turn {hand} (through the {way} |)into {room}
    (go|walk|head) {hand} into {room}
    (take|make) a {hand} into {room}
    (turn|go) {hand}, entering {room}
    enter {room} {on}
    enter {room} (that is|which is|) {on}
    (go|walk|step|head) into {room} {on}
    (go|walk) through the {way} {on} into {room}
    turn {hand} (and enter|to enter|and walk into|and go into) {room}
    take the {way} {on} (into|to enter) {room}
    make a {hand} turn into {room}
    (walk|go) into {room} (located|just|) {on}
    hang a {hand} into {room}
""")

ORDINAL_ENTER = lines("""
    take the {nth} {count} {on} into {room}
    (go|turn|walk) into the {nth} {count} {on}, {room}
    (go|walk) through the {nth} {count} {on} into {room}
    enter the {nth} {count} {on}, which is {room}
    at the {nth} {count} {on}, turn {hand} into {room}
    take the {nth} {hand} into {room}
    make the {nth} {hand} into {room}
    turn {hand} at the {nth} {count} and (enter|go into) {room}
""")

SIDES = lines("""
    on your {hand}
    on the {hand}
    on your {hand}
    on the {hand}
    to your {hand}
    to the {hand}
    on the {hand} side
    on your {hand} side
    on your {hand} hand side
    off to your {hand}
    on the {hand} hand side
""")
