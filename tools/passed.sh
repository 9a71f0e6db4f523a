# For which commit everything has passed; sourced by ./test.

# The commit that is checked out; nothing if something was not committed, or there is no repository.
commit_without_changes() {
    [ -n "$(git status --porcelain 2>&1)" ] || git rev-parse HEAD
}

# note_passed FILE FAILED PART COMMIT: after a run of PART (empty: all of it) with so many failures
# that began with COMMIT. A part tells nothing of the whole, so it leaves the file alone.
note_passed() {
    [ -z "$3" ] || return 0
    rm -f "$1"
    if [ "$2" -eq 0 ] && [ -n "$4" ] && [ "$4" = "$(commit_without_changes)" ]; then
        echo "$4" >"$1"
    fi
}
