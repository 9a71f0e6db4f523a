# shellcheck shell=bash
# private_postgres.sh - sourced by ./test, bench/run and others: PostgreSQL servers of our own, each in
# a temporary folder, run by an unprivileged user, on a socket in that folder and,
# only with TLS and passwords, on 127.0.0.1.

pg_user=() # options of setpriv that become that user; none if we are not root
pg_bin=
pg_pids=() # of the servers that run

pg_become() { # FOLDER: gives it to the server's account
    local account=postgres
    [ "$(id -u)" -eq 0 ] || return 0
    id "$account" >/dev/null 2>&1 || account=nobody
    chown "$account" "$1"
    pg_user=(--reuid="$account" --regid="$(id -g "$account")" --clear-groups)
}

pg_prepare() { # FOLDER: initdb and certificate; may run while something else is built
    local folder=$1
    pg_bin=$(pg_find_bin) || return 1
    mkdir -p "$folder" && cd "$folder" && pg_become "$folder" || return 1
    setpriv "${pg_user[@]}" "$pg_bin/initdb" -D "$folder/data" -U postgres --no-sync -E UTF8 \
        --locale=C.UTF-8 --auth-local=trust --auth-host=scram-sha-256 >"$folder/initdb.log" 2>&1 ||
        { cat "$folder/initdb.log" >&2; return 1; }
    setpriv "${pg_user[@]}" sed -i '1i hostnossl all all all reject' "$folder/data/pg_hba.conf" || return 1
    pg_certificate "$folder" >"$folder/openssl.log" 2>&1 ||
        { cat "$folder/openssl.log" >&2; return 1; }
}

pg_find_bin() {
    local candidate
    for candidate in "$(pg_config --bindir 2>/dev/null)" \
        $(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -Vr); do
        if [ -x "$candidate/initdb" ]; then
            echo "$candidate"
            return 0
        fi
    done
    echo "no PostgreSQL server found; install the package postgresql" >&2
    return 1
}

# An authority and a server certificate for "localhost", good for a day.
pg_certificate() {
    # shellcheck disable=SC2016
    setpriv "${pg_user[@]}" sh -eu -c '
        mkdir "$1/tls"
        cd "$1/tls"
        new="openssl req -new -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1"
        $new -x509 -days 1 -subj "/CN=Posthorn test authority" -keyout ca.key -out ca.crt
        $new -subj "/CN=localhost" -keyout server.key -out server.csr
        echo "subjectAltName=DNS:localhost" >server.ext
        openssl x509 -req -days 1 -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial \
            -extfile server.ext -out server.crt
        chmod 600 server.key' sh "$1"
}

# Starts the server that pg_prepare made; sets pg_pid and pg_port, those of the
# last one. A server goes down with this shell, however that ends.
pg_start() { # FOLDER [OPTION…]: options of postgres, stronger than those below
    local folder=$1
    shift
    pg_bin=$(pg_find_bin) && pg_become "$folder" || return 1
    for _ in 1 2 3 4 5; do
        pg_port=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
        (cd "$folder" && exec setpriv "${pg_user[@]}" --pdeathsig QUIT "$pg_bin/postgres" \
            -D "$folder/data" -k "$folder" -h 127.0.0.1 -p "$pg_port" -c fsync=off \
            -c full_page_writes=off -c max_connections=100 -c max_prepared_transactions=5 -c shared_buffers=64MB \
            -c max_wal_size=2GB -c jit=off -c ssl=on -c ssl_cert_file="$folder/tls/server.crt" \
            -c ssl_key_file="$folder/tls/server.key" "$@") >"$folder/server.log" 2>&1 &
        pg_pid=$!
        pg_pids+=("$pg_pid")
        if pg_wait "$folder"; then
            psql -X -q -h "$folder" -p "$pg_port" -U postgres -d postgres \
                -c "CREATE ROLE t_tcp LOGIN SUPERUSER PASSWORD 'correct horse'"
            return 0
        fi
        pg_stop "$pg_pid"
    done
    tail -n 20 "$folder/server.log" >&2
    echo "PostgreSQL did not start" >&2
    return 1
}

pg_wait() {
    for _ in $(seq 200); do
        kill -0 "$pg_pid" 2>/dev/null || return 1
        "$pg_bin/pg_isready" -q -h "$1" -p "$pg_port" && return 0
        sleep 0.05
    done
    return 1
}

pg_stop() { # [PID…]: those, or all
    local pid
    [ $# -gt 0 ] || set -- "${pg_pids[@]}"
    for pid in "$@"; do
        kill -QUIT "$pid" 2>/dev/null
    done
    for pid in "$@"; do
        wait "$pid" 2>/dev/null
        pg_forget "$pid"
    done
}

pg_forget() { # PID: it is gone
    local pid kept=()
    for pid in "${pg_pids[@]}"; do
        [ "$pid" = "$1" ] || kept+=("$pid")
    done
    pg_pids=("${kept[@]}")
}
