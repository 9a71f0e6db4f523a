"""Which cases there are at each size of a run, and what peers do beside them."""

PROGRAMS = ("engine", "cost", "beside", "dispatcher", "growth", "workflow", "coordination", "many")

# What a program is given: messages, crowd, seconds. A program without a row takes that of "".
SIZES = {
    "quick": {"": (10000, 50000, 2), "cost": (50000, 0, 2), "growth": (10000, 100000, 2)},
    "default": {"": (50000, 1000000, 5), "workflow": (20000, 100000, 5), "coordination": (20000, 0, 5),
                "many": (5000, 100000, 3), "dispatcher": (30000, 0, 5), "beside": (20000, 1000000, 5)},
    "full": {"": (200000, 1000000, 10), "growth": (50000, 5000000, 180), "many": (20000, 1000000, 30),
             "coordination": (100000, 0, 30)},
}
LIMIT_S = {"quick": 270, "default": 1170, "full": None}
ROUNDS = {"quick": 5, "default": 9, "full": 5}

# So many rounds pass until a program is measured again, so that the others have more of them.
EVERY = {"workflow": 3, "coordination": 3, "many": 3}

# How a name begins; a program without a row measures all of its cases.
PARTS = {
    "quick": {"dispatcher": ("one dispatcher, batch 500", "commit to handler, 100/s, doorbell"),
              "cost": ("server time, claim + ack, batch 1", "server time, enqueue in SQL", "server time, ph_enqueue",
                       "log per"),
              "growth": ("backlog",), "workflow": (), "coordination": (), "many": ()},
    "default": {"growth": ("backlog",), "many": ("scale-out",)},
    "full": {},
}

BATCHES = (1, 10, 100, 500, 1000)
BATCH_PARTS = {1: 50, 10: 10, 100: 2}  # fewer messages, as in engine.c

# Peers beside cases: task, share of the program's messages, settings.
NOTES = {
    "graphile-worker": "deletes the bodies",
    "pg-boss": "keeps the bodies",
    "pgq": "no settling per message",
    "plainjob": "commits do not wait for the disk",
}
OF_BACKEND = {"postgresql": ("graphile-worker", "pg-boss", "pgq"), "sqlite": ("plainjob",)}
# It keeps no state for a message: it is shown, but the best peer is looked for among the others.
LESSER = ("pgq",)


def parts(size, program, name):
    """Is this case part of a run of this size?"""
    starts = PARTS[size].get(program)
    return starts is None or any(name.startswith(start) for start in starts)


def due(size, program, number):
    return size != "default" or (number - 1) % EVERY.get(program, 1) == 0


def at(size, program):
    return SIZES[size].get(program, SIZES[size][""])


def beside(backend, case, messages):
    """[(peer, arguments of bench/peers/measure.mjs)]"""
    peers = OF_BACKEND[backend]
    if case == "drain, bodies kept":
        return [(peer, ["drain", "--messages", str(messages)]) for peer in peers]
    if case == "drain, bodies deleted":
        return [(peer, ["drain", "--messages", str(messages)]) for peer in peers if peer != "pg-boss"]
    if case.startswith("enqueue one per transaction"):
        return [(peer, ["enqueue", "--messages", str(max(800, messages // 25 // 8 * 8))]) for peer in peers]
    if case.startswith("bulk enqueue"):
        return [(peer, ["bulk", "--messages", str(messages // 500 * 500)]) for peer in peers]
    if case == "commit to handler, 100/s, doorbell":
        return [(peer, ["latency"]) for peer in peers if peer != "pgq"]
    if case.startswith("exchange loop, batch "):
        return by_batch(peers, int(case.rsplit(" ", 1)[1]), messages)
    return []


def by_batch(peers, batch, messages):
    """One process with one setting for how much is fetched at once, where the peer has one."""
    drain = ["drain", "--messages", str(messages // BATCH_PARTS.get(batch, 1)), "--set", "processes=1"]
    settings = {"graphile-worker": [f"localQueue={batch if batch > 1 else 0}",
                                    f"completeDelay={0 if batch > 1 else -1}"],
                "pg-boss": ["loops=1", f"batch={batch}"]}
    return [(peer, [*drain, *(word for setting in settings[peer] for word in ("--set", setting))])
            for peer in peers if peer in settings]
