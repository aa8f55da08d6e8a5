# SPDX-License-Identifier: Apache-2.0
"""Command line of nova.sh."""

import argparse
from collections.abc import Sequence

from devstack.command_line import positive
from devstack.nova.roles import ROLES
from devstack.nova.size import CloudSize

DESCRIPTION = "Start a Nova cloud on this machine, boot servers on it, show where they run, and leave it running."
DEFAULT = CloudSize()
GANTT, NOVA = "gantt", "nova"
HELP = {"placement": "gantt", "scheduler": "gantt; nova with another Placement than gantt's"}


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nova.sh", description=DESCRIPTION)
    for role, choices in ROLES.items():
        parser.add_argument(f"--{role}", choices=choices, help=f"who serves this role ({HELP[role]})")
    parser.add_argument("--computes", type=positive, default=DEFAULT.computes, help=f"computes ({DEFAULT.computes})")
    parser.add_argument("--servers", type=positive, default=8, help="servers to boot (8)")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--install", action="store_true", help="only install Nova and the servers that it needs")
    only.add_argument("--down", action="store_true", help="stop the cloud and remove its run folder")
    options = parser.parse_args(argv)
    _choose_roles(options, parser)
    return options


def _choose_roles(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Let gantt serve each unchosen role that it can serve."""
    options.placement = options.placement or GANTT
    options.scheduler = options.scheduler or (GANTT if options.placement == GANTT else NOVA)
    if options.placement != GANTT and options.scheduler != NOVA:
        parser.error(
            f"argument --scheduler: {options.scheduler} cannot decide with --placement {options.placement}: gantt "
            f"decides by the providers and allocations in its own store; allowed with it: {NOVA}"
        )


def size(options: argparse.Namespace) -> CloudSize:
    return CloudSize(computes=options.computes, **{role: getattr(options, role) for role in ROLES})
