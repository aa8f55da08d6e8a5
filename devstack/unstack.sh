#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Stop the cluster that stack.sh started and remove its run folder.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=devstack/environment.sh
. "$here/environment.sh"

if [ ! -x "$venv/bin/python" ]; then
    say "There is no $venv, so no cluster was started from here; nothing to stop."
    exit 0
fi
exec "$venv/bin/python" -m devstack.unstack "$@"
