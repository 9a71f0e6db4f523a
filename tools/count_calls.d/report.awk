# report.awk - the median of the rings. First file: address, function, file of those that count;
# second: ring, thread, address or "wake" or "begin", see ring.c. Variables: list (0 or 1), rings (how
# many were made).

FNR == NR { name[$1] = $2; file[$1] = $3; next }

$3 == "begin" { handlers[$1] = $2 }

$3 == "wake" || $3 in name {
    at = ++entries[$1]
    thread[$1, at] = $2
    what[$1, at] = $3
}

# Sets on_way[ring, i] for all entries of the ring. What others do after they have called the
# handler's thread is not, that is after their last call before it went on.
function find_way(ring,    i, begun, last, woke) {
    last = entries[ring]
    for (begun = 1; begun < last && thread[ring, begun] != handlers[ring];)
        begun++
    for (i = begun; i >= 1; i--)
        if (what[ring, i] == "wake" && !(thread[ring, i] in woke))
            woke[thread[ring, i]] = i
    for (i = 1; i <= last; i++) {
        if (what[ring, i] == "wake")
            continue
        all[ring]++
        on_way[ring, i] = !(thread[ring, i] in woke) || i < woke[thread[ring, i]] ||
            thread[ring, i] == handlers[ring]
        calls[ring] += on_way[ring, i]
    }
}

function show(ring,    i, number, count, who, shown) {
    for (i = 1; i <= entries[ring]; i++) {
        if (what[ring, i] == "wake")
            continue
        if (!((who = thread[ring, i]) in number))
            number[who] = ++count
        printf "%4s  thread %d  %-20s %s\n", on_way[ring, i] ? ++shown : "-", number[who],
            file[what[ring, i]], name[what[ring, i]]
    }
}

# How many functions (or files) the way goes through.
function distinct(ring, of,    i, seen, count) {
    for (i = 1; i <= entries[ring]; i++)
        if (on_way[ring, i])
            count += !seen[of == "files" ? file[what[ring, i]] : what[ring, i]]++
    return count
}

END {
    for (ring in handlers) { # into order, by insertion
        find_way(ring)
        for (at = ++heard; at > 1 && calls[ring] < calls[order[at - 1]]; at--)
            order[at] = order[at - 1]
        order[at] = ring
    }
    if (!heard) {
        print "No ring was heard: does the dispatcher still wait in epoll_wait?" >"/dev/stderr"
        exit 1
    }
    middle = order[int((heard + 1) / 2)]
    if (list)
        show(middle)
    printf "%d calls of %d functions in %d files from the ring to the handler; %d by all threads\n",
        calls[middle], distinct(middle, "functions"), distinct(middle, "files"), all[middle]
    printf "(the median of %d rings, which took %d to %d calls)\n", heard, calls[order[1]],
        calls[order[heard]]
    if (heard < rings)
        printf "%d of %d rings do not count: a look was quicker than the doorbell\n", rings - heard, rings
}
