#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prepare the tests' environment and run them: lint, types, import contracts, the default suite with the systemd units,
# and the documentation with its links.
# With --quick only lint, types, import contracts and unit tests: under three minutes once installed. With --full also the
# long tests. With CI=true a missing server fails tests instead of skipping them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=devstack/environment.sh
. "$here/environment.sh"

tests=py
case "${1:-}" in
    "") ;;
    --quick) tests=unit ;;
    --full) tests=py,long ;;
    -h | --help)
        printf '%s\n' "Usage: $(basename "$0") [--quick | --full]" \
            "Run lint, types, import contracts, the default tests and those of the systemd units; make the documentation." \
            "  --quick  lint, types, import contracts and unit tests only (without those of the lab)" \
            "  --full   also the long tests"
        exit 0
        ;;
    *) usage_error "unknown argument $1; allowed are --quick and --full." ;;
esac

# Debian installs debootstrap and similar programs in folders that are only on root's PATH.
export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

cd "$here/.."
python=$(find_python)
tox=$PWD/.tox/bootstrap
if ! "$tox/bin/python" -c 'import tox' 2>/dev/null; then
    say "gantt: preparing tox in $tox"
    if ! { "$python" -m venv --clear "$tox" && "$tox/bin/python" -m pip install --quiet --disable-pip-version-check tox; }; then
        rm -rf "$tox"
        die "tox could not be installed; see above. It needs python3-venv and a reachable package index (no network?)."
    fi
fi

# check ENVIRONMENTS: run these environments of tox, and print what they print only if one fails.
check() {
    local log status=0
    log=$(mktemp)
    "$tox/bin/tox" run -e "$1" >"$log" 2>&1 || status=$?
    if [ "$status" -eq 0 ]; then say "gantt: passed: $1"; else cat "$log"; fi
    rm -f "$log"
    return "$status"
}

# The checks need one core, and so does each installation; the tests wait a part of their time. So all run side by side.
check lint,imports &
sources=$!

servers=
if [ "${1:-}" != --quick ]; then
    # Reports packages that cannot be installed; tests that need them are skipped or, in CI, fail.
    "$python" -m tests.support.packages &
    servers=$!
fi

# The types, the documentation and the unit tests run on the installation of env py.
"$tox/bin/tox" run --quiet -e py --notest
[ -z "$servers" ] || wait "$servers" \
    || say "gantt: continuing without them; tests that need them are skipped, or fail in CI."
pages=types,docs
[ "${1:-}" != --quick ] || pages=types
check "$pages" &
installed=$!

status=0
"$tox/bin/tox" run -e "$tests" || status=$?
wait "$sources" || { status=$?; say "gantt: lint or imports failed; see above."; }
wait "$installed" || { status=$?; say "gantt: $pages failed; see above."; }
exit "$status"
