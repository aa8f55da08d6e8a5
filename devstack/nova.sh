#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Set up and start a Nova cloud on gantt on this machine, boot servers on it, and leave it running.
# `./devstack/nova.sh --help` lists the options; `./devstack/nova.sh --down` stops the cloud.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=devstack/environment.sh
. "$here/environment.sh"

make_environment "$here/.." "$venv"
# Deprecation warnings of libraries do not concern the user.
exec "$venv/bin/python" -W ignore -m devstack.nova "$@"
