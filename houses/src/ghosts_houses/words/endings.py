"""The phrases for stopping, and what stands between, before and after clauses."""

from __future__ import annotations

from ghosts_houses.words.tables import lines, names, templates

STOPS = templates(
    beside="""
        <stop> (next to|beside|by|near|next to|near|close to) {thing}
        <stop> (next to|near|by) {thing}
        <halt> (when|once|as soon as) you (reach|get to|are next to|are beside|come to) {thing}
        <stop> right (next to|beside|by) {thing}
        <stop> at {thing}
        <stop> (just |)(a step|a few feet) from {thing}
        <stop> alongside {thing}
        <stop> (at the side of|at the edge of|within reach of|adjacent to|a short distance from|close by) {thing}
        position yourself (next to|beside|near) {thing}
        (stop|stand|wait) over by {thing}
        go (up |)to {thing} and <stop>
        <stop> with {thing} (right |)(next to|beside|near) you
        walk (up |over |)to {thing} and <stop> (there|)
    """,
    in_front="""
        <stop> in front of {thing}*2
        <stop> (right|just|directly) in front of {thing}
        <stop> (near|by|at) {thing}
        <halt> once you are in front of {thing}
        go (up |)to {thing} and <stop>
        walk up to {thing} and <stop>
        <stop> before {thing}
        position yourself in front of {thing}
        <stop> immediately in front of {thing}
    """,
    upon="""
        <stop> on {thing}
        <halt> (when|once) you are (standing |)on {thing}
        step onto {thing} and <stop>
        <stop> on top of {thing}
        <stop> in the middle of {thing}
    """,
    between="""
        <stop> between {thing} and {other}
        <stop> in between {thing} and {other}
        <halt> when you are between {thing} and {other}
        <stop> (halfway|midway) between {thing} and {other}
    """,
    facing="""
        <stop> facing {thing}
        <stop>, facing {thing}
        <halt> so that you are facing {thing}
        <stop> with {thing} (straight ahead|in front of you|ahead of you)
        <stop> looking (at|towards) {thing}
    """,
    inside="""
        <stop> just inside (the {way}|{room})
        <stop> (right |)inside the {way}
        <halt> once you are (inside|in) {room}
        <halt> as soon as you (enter|are in|step into) {room}
        <stop> just inside {room}
        <halt> (immediately|right) after entering {room}
        <stop> (a few steps|a couple of steps|one step) (into|inside) {room}
        <halt> after you (enter|walk into|step into) {room}
        <stop> just past the {way}
    """,
    doorway="""
        <stop> in the {way} (of|to) {room}
        <stop> in the {way} (of|to|leading to) {room}
        <stop> in the entrance (of|to) {room}
        <stop> at the entrance (of|to) {room}
        <stop> at the {way} (of|to) {room}
        <stop> (just |right |)before (entering|you enter) {room}
        <stop> on the threshold of {room}
        <stop> in the {way} (between {other} and|that leads to) {room}
        <halt> when you (reach|get to) the {way} (of|to) {room}
        <stop> in the {way}, (looking|facing) into {room}
    """,
    outside="""
        <stop> (just|right) outside {other}
        <stop> outside (of |){other}
        <stop> outside the {way} (of|to) {other}
        <stop> (by|near|next to|in front of) the {way} to {other}
        <stop> (by|near) the entrance to {other}
    """,
    window="""
        <stop> (by|near|next to|at|beside) the window
        <stop> in front of the window
        <halt> when you (reach|get to) the window
        <stop> close to the window
        <stop> (by|near) the window, where you can see outside
        <stop> at the window and look outside
    """,
    corner="""
        <stop> in the corner of {room}
        <stop> in the corner
        <stop> (near|by) the corner of {room}
    """,
    middle="""
        <stop> in the (middle|center) of {room}
        <stop> (near|around) the (middle|center) of {room}
    """,
    end="""
        <stop> at the (end|far end) of {room}
        <halt> when you (get to|reach|are at) the end of {room}
        <stop> near the end of {room}
    """,
    top="""
        <stop> at the top of the <stairs>
        <stop> (by|near) the top of the <stairs>
        <stop> at the head of the <stairs>
        <halt> once you (reach|are at) the top of the <stairs>
    """,
    bottom="""
        <stop> at the (bottom|foot|base) of the <stairs>
        <stop> (by|near) the bottom of the <stairs>
        <halt> (when|once) you (reach|are at) the bottom of the <stairs>
    """,
    on="""
        <stop> on the <stairs>
        <stop> in the middle of the <stairs>
        <stop> (halfway|midway|partway) (on|along) the <stairs>
        <halt> while you are (still |)on the <stairs>
    """,
    room="""
        <stop> in {room}
        <halt> (when|once) you are in {room}
        <stop> in {room}
        <stop> somewhere in {room}
    """,
    there="""
        <stop> there*2
        stop
        wait there
        stop (right |)there
        wait (right |)here
        <stop> in {room}
        stay there
        wait
    """,
)
"""Where to stop, by manner."""

JOIN: dict[str, tuple[str, ...]] = {
    "plain": (". ", " and ", ", ", ". ", " and then ", ", then ", " and ", ". Then "),
    "terse": (", ", ", ", ". ", ", then ", " and "),
    "chatty": (
        *(". ", ". ", " and ", " and ", ". Then ", ". Then ", " and then ", " and then ", ". Next, ", ", and "),
        *(". After that, ", ". From there, ", ". Now ", ". At this point, ", ". Afterwards, "),
        *(". Following that, ", ". After this, ", ". Once there, ", ". Having done that, ", ". From that point, "),
    ),
}
"""What may stand between two clauses."""

SHORT = {"you are": "you're", "you will": "you'll", "that is": "that's", "do not": "don't", "there is": "there's"}
"""What people run together."""

OPENERS = lines("""
    first
    to begin with
    okay
    from here
    from where you are
    to start
    alright
    starting here
""")
"""How a talkative author begins."""

STARTS = lines("""
    starting in {room},
    you are in {room}.
    beginning in {room},
    you start in {room}.
    start in {room}.
    start out in {room} and
""")
"""How an author says where the reader is."""

MODALS = names(
    "you will want to, you should, you need to, you will, please, be sure to, you can, you have to, make sure to, "
    "carefully, simply, just, you are going to, I want you to, you must, slowly, you might want to"
)
"""How a talkative author softens an order."""

LAST = (". Finally, ", ". Lastly, ", " and finally ", ". To finish, ")
"""What a talkative author may say before the last clause."""

CLOSERS = lines("""
    That is your destination
    You have arrived
    You are done
    This is where you should end up
    That is the spot
    Your goal is right there
    You made it
    This is the end of your route
    And that is it
    You have reached your goal
    This is the final stop
    Do not go any further
    Stay put
    Wait here for further instructions
    I will meet you there
    This should be your final position
    Good job
    Thank you
    Nothing more to do
    Your journey ends here
    Well done
    You do not need to walk any farther
    Look around and wait
    That completes the walk
    You are now at the correct location
""")
"""How a talkative author ends."""

LOOK = lines("""
    (once|when|after) you are in {room},
    as soon as you (are in|enter) {room},
    once in {room},
    once inside {room},
    (after|upon|when) entering {room},
    (after|upon|when) (leaving|exiting) {left},
    after you (leave|exit) {left},
    coming out of {left},
    in {room},
    now
    here,
    at that point,
    right away,
    you are now in {room}.
    you should now be in {room}.
    you will find yourself in {room}.
    at this point,
""")
"""Before a turn that follows a door at once."""
