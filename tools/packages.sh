# shellcheck shell=bash
# packages.sh - sourced by ./test, ./quickstart and others: installs what is missing.

# Names the missing ones of the given Debian packages.
missing_packages() {
    local package
    for package in "$@"; do
        if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
            printf '%s\n' "$package"
        fi
    done
}

# Runs apt-get with its output in the file $1, and says what it is at.
told() {
    local log=$1
    shift
    "$@" 2>&1 | tee "$log" | sed -uEn \
        -e 's/^Get:[0-9]+ [^ ]+ [^ ]+ [^ ]+ ([^][ ]+) .*/    fetching \1/p' \
        -e 's/^(Unpacking|Setting up) ([^ ]+).*/    \1 \2/p' >&2
    return "${PIPESTATUS[0]}"
}

# Installs those of the given packages that are missing. The log goes to the file $1.
need_packages() {
    local log=$1 as_root=() missing
    shift
    if ! command -v dpkg-query >/dev/null; then
        echo "This is not Debian: please install the equivalents of: $*" >&2
        return 0
    fi
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "Missing packages, and neither root nor sudo to install them: ${missing[*]}" >&2
            return 1
        fi
        as_root=(sudo)
    fi
    echo "installing: ${missing[*]}" >&2
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y
        --no-install-recommends "${missing[@]}")
    # The package lists may be absent or old: then once more with new ones.
    if ! told "$log" "${install[@]}" &&
        ! { echo "    fetching the package lists" >&2 &&
            told "$log" "${as_root[@]}" apt-get update && told "$log" "${install[@]}"; }; then
        cat "$log" >&2
        echo "Could not install: ${missing[*]}" >&2
        return 1
    fi
}
