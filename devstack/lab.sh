#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measure gantt against baselines on this machine, on servers that each run starts and stops.
# `./devstack/lab.sh help` lists the benchmarks; `./devstack/lab.sh help decide` has the options of one.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=devstack/environment.sh
. "$here/environment.sh"

make_environment "$here/.." "$venv"
# Deprecation warnings of libraries do not concern the user.
exec "$venv/bin/python" -W ignore -m devstack.lab "$@"
