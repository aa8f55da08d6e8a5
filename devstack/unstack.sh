#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Stop the cluster that stack.sh started and remove its run folder.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=devstack/environment.sh
. "$here/environment.sh"

case "${1:-}" in
    "") ;;
    -h | --help)
        printf '%s\n' "Usage: unstack.sh" "Stop the cluster that stack.sh started and remove its run folder (\$GANTT_RUN)."
        exit 0
        ;;
    *) usage_error "unknown argument $1; the only one is --help. Nothing was stopped." ;;
esac

if [ ! -x "$venv/bin/python" ]; then
    say "There is no $(printf %q "$venv"), so no cluster was started from here; nothing to stop."
    exit 0
fi
# Deprecation warnings of libraries do not concern the user.
exec "$venv/bin/python" -W ignore -m devstack.unstack
