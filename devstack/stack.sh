#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Set up and start a gantt cluster on this machine, boot servers on it, and leave it running.
# `./devstack/stack.sh --help` lists the sizes and modes; `./devstack/unstack.sh` stops the cluster.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=devstack/environment.sh
. "$here/environment.sh"

# The help and the check of the options need no installation.
check_options() { (cd "$here/.." && exec "$1" -B -m devstack.command_line "${@:2}"); }
python=$venv/bin/python
[ -x "$python" ] || python=$(command -v "${PYTHON:-python3}") || python=$(find_python)
for argument; do
    case $argument in
        -h | --h*) check_options "$python" --help; exit ;;
    esac
done
check_options "$python" "$@"

make_environment "$here/.." "$venv"
# Deprecation warnings of libraries do not concern the user.
exec "$venv/bin/python" -W ignore -m devstack.stack "$@"
