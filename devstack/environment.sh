# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts: creates the virtual environment of stack.sh, in the checkout.

INSTALLED_MB=275
venv=${GANTT_VENV:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.venv}

say() { printf '%s\n' "$*" >&2; }
die() { say "$(basename "$0"): $*"; exit 1; }
usage_error() { say "$(basename "$0"): $*"; exit 2; }

find_python() {
    local name
    for name in "${PYTHON:-}" python3.11 python3.12 python3.13 python3; do
        [ -n "$name" ] || continue
        if command -v "$name" >/dev/null 2>&1 \
            && "$name" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    die "Python 3.11 or newer is needed and none is on PATH; install it (apt-get install python3 python3-venv)."
}

# make_environment PROJECT VENV: install the project with every service, again only when its packaging changed.
make_environment() {
    local project=$1 target=$2 python="" stamp log
    stamp=$(cat "$project/setup.py" "$project/pyproject.toml" | sha256sum | cut -c1-64)
    if [ -x "$target/bin/python" ] && [ "$(cat "$target/.gantt-stamp" 2>/dev/null)" = "$stamp" ]; then
        return
    fi
    # A working environment is updated in place: a cluster may be running from it.
    if "$target/bin/python" -m pip --version >/dev/null 2>&1; then
        say "gantt: its requirements changed; updating the virtual environment $(printf %q "$target")"
    else
        python=$(find_python)
        say "gantt: installing gantt and its requirements in the virtual environment $(printf %q "$target")"
        say "       (about $INSTALLED_MB MB; takes a minute or two, only the first time)"
    fi
    # A file of that name points editors to an environment of another tool (PEP 832).
    [ ! -f "$target" ] || rm -f "$target"
    log=$(mktemp)
    # An incomplete environment is removed on failure.
    if ! { { [ -z "$python" ] || "$python" -m venv --clear "$target"; } \
        && "$target/bin/python" -m pip install --disable-pip-version-check --editable "$project[all]"; } >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        rm -f "$log"
        [ -z "$python" ] || rm -rf "$target"
        die "the virtual environment $(printf %q "$target") could not be created; see above. It needs python3-venv and, the first time, a reachable package index (no network?)."
    fi
    rm -f "$log"
    printf '%s' "$stamp" >"$target/.gantt-stamp"
}
