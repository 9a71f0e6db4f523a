# shellcheck shell=bash
# common.sh - sourced by bench/run and bench/compare, in the top folder: the temporary folder, optimised
# builds, and servers that wait for the disk.

. tools/packages.sh
. tools/private_postgres.sh

say() { printf '%s\n' "$*" >&2; }

bench_end() {
    pg_stop
    rm -rf "$tmp"
}

# Makes the temporary folder, and sets tmp; however we end, it goes, and so do the servers.
bench_begin() { # FOLDER
    tmp=$(mktemp -d "$1/posthorn-bench.XXXXXX") || return 1
    chmod 755 "$tmp"
    trap bench_end EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    need_packages "$tmp/apt.log" gcc libc6-dev meson ninja-build pkg-config libsqlite3-dev libpq-dev \
        libjansson-dev postgresql postgresql-client openssl python3
}

bench_build() { # SOURCE BUILD TARGET…
    local source=$1 build=$2 configure=setup
    shift 2
    [ ! -e "$build/build.ninja" ] || configure=configure
    if ! { bench_configure "$configure" "$build" "$source" && ninja -C "$build" "$@"; } \
        >"$tmp/build.log" 2>&1; then
        cat "$tmp/build.log" >&2
        say "The build failed."
        return 1
    fi
}

bench_configure() { # setup|configure BUILD SOURCE
    local source=("$3")
    [ "$1" = setup ] || source=()
    meson "$1" "$2" "${source[@]}" -Dbuildtype=release -Dbench=true
}

start_server() { # FOLDER SHARED_BUFFERS: sets server_url
    (pg_prepare "$1") && pg_start "$1" -c fsync=on -c full_page_writes=on \
        -c "shared_buffers=$2" -c max_wal_size=4GB -c ssl=off || return 1
    # shellcheck disable=SC2034,SC2154
    server_url="postgresql:///postgres?host=$1&port=$pg_port&user=postgres"
}
