"""The phrases: templates by what they say. `(a|b|)` is a choice (they nest), `{…}` a slot filled by `grammar`.

`{room}`, `{left}` are rooms with their article, `{thing}` a thing with its article and what it takes to tell it apart,
`{hand}` is left or right, `{on}` "on your left" in one of its forms.
"""

from __future__ import annotations

TURN = {
    "plain": (
        "turn {hand}",
        "take a {hand}",
        "make a {hand}",
        "go {hand}",
        "turn {hand}",
        "turn to the {hand}",
        "make a {hand} turn",
        "take a {hand} turn",
        "hang a {hand}",
    ),
    "slight": (
        "turn slightly {hand}",
        "bear {hand}",
        "veer {hand}",
        "veer slightly to the {hand}",
        "take a slight {hand}",
        "make a slight {hand}",
        "angle {hand}",
    ),
    "sharp": ("make a sharp {hand}", "turn sharply {hand}", "take a sharp {hand}", "make a sharp {hand} turn"),
    "around": ("turn around", "turn all the way around", "turn around completely", "turn around", "do a 180"),
}
"""Changes of direction, by size."""

FIRST_TURN = {
    "plain": ("turn {hand}", "turn to your {hand}", "turn to the {hand}", "start by turning {hand}", "face {hand}"),
    "slight": ("turn slightly {hand}", "turn slightly to your {hand}", "turn a little to the {hand}"),
    "sharp": ("turn sharply {hand}", "make a sharp {hand}"),
    "around": ("turn around", "turn around", "turn all the way around", "start by turning around"),
}

ORIENT = (
    "with {thing} {around}, walk forward",
    "stand so that {thing} is {around} and walk (forward|straight)",
    "start with {thing} {around} and (walk|go) (forward|straight)",
    "walk forward with {thing} {around}",
)
AROUND = {
    "left": "(on your left|to your left)",
    "right": "(on your right|to your right)",
    "behind": "(behind you|at your back)",
}

LEAVE = (
    "(step|head|come) out of {left}",
    "(go|walk) through the {way} and out of {left}",
    "make your way out of {left}",
    "(exit|leave) {left}",
    "(walk|go|head|step|move) out of {left}",
    "(exit|leave) {left}",
    "(exit|leave) {left} (through|by) the {way}",
    "get out of {left}",
    "(walk|head) out of {left} through the {way}",
)
"""Out of a room, into a hallway mostly."""

LEAVE_TO = (
    "(exit|leave) {left} (and (go|walk|step) |)into {room}",
    "(walk|go|head) out of {left} into {room}",
    "(walk|go|step) from {left} into {room}",
    "(exit|leave) {left} and enter {room}",
    "leave {left} through the {way} to {room}",
)

ENTER = (
    "make your way into {room}",
    "(cross|walk over) the threshold into {room}",
    "(head|go) on into {room}",
    "enter {room}",
    "(walk|go|head|step|move|continue) into {room}",
    "go through the {way} (into|to) {room}",
    "(walk|step|pass) through the {way} into {room}",
    "enter {room}",
    "proceed into {room}",
    "go in to {room}",
)

TURN_ENTER = (
    "(turn|go) {hand} into {room}",
    "take a {hand} into {room}",
    "make a {hand} into {room}",
    "enter {room} {on}",
    "(go|walk) into {room} {on}",
    "go through the {way} {on} into {room}",
    "turn {hand} (and enter|to enter) {room}",
    "take the {way} {on} into {room}",
)

ORDINAL_ENTER = (
    "take the {nth} {count} {on} into {room}",
    "(go|turn) into the {nth} {count} {on}, {room}",
    "go through the {nth} {count} {on} into {room}",
    "enter the {nth} {count} {on}, which is {room}",
    "at the {nth} {count} {on}, turn {hand} into {room}",
)

WALK_ALONG = (
    "(make your way|keep walking|stroll|carry on) (down|along) {room}",
    "(walk|go|head|continue|proceed|move) (down|along) {room}",
    "follow {room}",
    "walk (straight |)down {room}",
    "(go|continue) (straight |)along {room}",
    "go down {room}",
)

WALK_THROUGH = (
    "(make your way|keep going|stroll) through {room}",
    "(pass|go) straight through {room}",
    "(walk|go|head|pass|continue|cut) through {room}",
    "(cross|walk across) {room}",
    "go across {room}",
    "walk through {room} to the (other|far) side",
)

PASS = (
    "(make your way|stroll|keep walking) past {thing} {on}",
    "(walk|go|move|continue|head) past {thing} {on}",
    "pass {thing} {on}",
    "(walk|go|continue) past {thing}",
    "pass {thing}",
    "(walk|go) by {thing} {on}",
    "keep {thing} {on} as you (walk|go)",
    "(walk|go) past {thing} {on}",
    "you will pass {thing} {on}",
)

TOWARD = (
    "(make your way|advance|proceed) (towards|toward) {thing}",
    "(walk|go|head|move) (towards|toward) {thing}",
    "head for {thing}",
    "(walk|go) straight (toward|towards) {thing}",
    "walk (toward|towards) {thing}",
    "walk in the direction of {thing}",
)

CLIMB = {
    "up": (
        "(go|walk|head|continue) up the (stairs|steps|staircase)",
        "climb the (stairs|steps|staircase)",
        "(go|head|walk) upstairs",
        "take the stairs up",
        "go up the (stairs|flight of stairs)",
        "walk up the steps",
    ),
    "down": (
        "(go|walk|head|continue) down the (stairs|steps|staircase)",
        "descend the (stairs|steps)",
        "(go|head|walk) downstairs",
        "take the stairs down",
        "go down the (stairs|flight of stairs)",
        "walk down the steps",
    ),
}

STOP = "(stop|wait|stop|wait|stand|stop and wait)"

STOPS = {
    "beside": (
        f"{STOP} (next to|beside|by|near|next to|near) {{thing}}",
        f"{STOP} when you (reach|get to) {{thing}}",
        f"{STOP} right (next to|beside|by) {{thing}}",
        f"{STOP} (next to|near|by) {{thing}}",
        f"{STOP} at {{thing}}",
    ),
    "in front": (
        f"{STOP} in front of {{thing}}",
        f"{STOP} right in front of {{thing}}",
        f"{STOP} in front of {{thing}}",
        f"{STOP} (near|by|at) {{thing}}",
    ),
    "upon": (f"{STOP} on {{thing}}", f"{STOP} when you are on {{thing}}"),
    "inside": (
        f"{STOP} just inside (the {{way}}|{{room}})",
        f"{STOP} (right |)inside the {{way}}",
        f"{STOP} once you are inside {{room}}",
        f"{STOP} as soon as you (enter|are in) {{room}}",
        f"{STOP} just inside {{room}}",
    ),
    "doorway": (
        f"{STOP} in the {{way}} (of|to) {{room}}",
        f"{STOP} in the entrance (of|to) {{room}}",
        f"{STOP} at the entrance to {{room}}",
        f"{STOP} in the {{way}} to {{room}}",
        f"{STOP} before entering {{room}}",
    ),
    "top": (f"{STOP} at the top of the (stairs|steps|staircase)", f"{STOP} (by|near) the top of the stairs"),
    "bottom": (
        f"{STOP} at the (bottom|foot) of the (stairs|steps|staircase)",
        f"{STOP} (by|near) the bottom of the stairs",
    ),
    "on": (
        f"{STOP} on the (stairs|steps)",
        f"{STOP} in the middle of the stairs",
        f"{STOP} halfway (on|along) the stairs",
    ),
    "room": (f"{STOP} in {{room}}", f"{STOP} (when|once) you are in {{room}}", f"{STOP} in {{room}}"),
    "there": (f"{STOP} there", f"{STOP} there", "stop", "wait there", f"{STOP} in {{room}}"),
}
"""Where to stop, by manner."""

SIDES = (
    "on your {hand}",
    "on the {hand}",
    "on your {hand}",
    "to your {hand}",
    "on the {hand} side",
    "on your {hand} hand side",
)

JOIN = {
    "plain": (". ", ". ", " and ", ", ", ". Then ", " and then ", ", then "),
    "terse": (", ", ", ", ". ", ", then "),
    "chatty": (". Then ", " and then ", ". Next, ", ", and ", ". After that, ", ". From there, ", ". Now "),
}
"""What may stand between two clauses."""

OPENERS = ("first, ", "to begin, ", "okay, ", "from where you are, ", "start here: ", "to start, ")
"""How a talkative annotator begins."""

CLOSERS = (
    " That is your destination",
    " You have arrived",
    " You are done",
    " This is where you should end up",
    " That is the spot",
    " Your goal is right there",
)
"""How a talkative annotator ends."""

LOOK = ("(once|when|after) you are in {room}, ", "(now|here) ", "at that point, ", "as soon as you are in {room}, ")
"""Before a turn that follows a door at once."""
