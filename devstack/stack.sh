#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Set up and start a gantt cluster on this machine, boot servers on it, and leave it running.
# `./devstack/stack.sh --help` lists the sizes and modes; `./devstack/unstack.sh` stops the cluster.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=devstack/environment.sh
. "$here/environment.sh"

case " $* " in
    *" -h "* | *" --help "*) ;;
    *) say "gantt: preparing $venv" ;;
esac
make_environment "$here/.." "$venv"
# Deprecation warnings of libraries do not concern the user.
exec "$venv/bin/python" -W ignore -m devstack.stack "$@"
