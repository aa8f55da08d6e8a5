# SPDX-License-Identifier: Apache-2.0
"""Options of stack.sh. Standard library only: stack.sh checks them before it installs anything."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

DESCRIPTION = "Start a cluster, boot servers on it, show where they run, and leave it running."
MOST_NODES = 100_000


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    options = parser.parse_args(argv)
    nodes = options.computes * options.nodes
    if nodes > MOST_NODES:
        parser.error(f"{nodes} nodes are more than the {MOST_NODES} that one gantt-compute simulates")
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="stack.sh", description=DESCRIPTION)
    parser.add_argument(
        "--standard", action="store_true", help="RabbitMQ and Redis from Debian's packages, as private instances"
    )
    parser.add_argument("--computes", type=positive, default=10, help="service hosts (10)")
    parser.add_argument("--nodes", type=positive, default=10, help="nodes of each service host (10)")
    parser.add_argument("--report-interval", type=_seconds, default=10.0, help="seconds between a host's reports (10)")
    parser.add_argument("--churn", type=_share, default=0.0, help="share of nodes that change in a report interval (0)")
    parser.add_argument("--schedulers", type=positive, default=2, help="scheduler workers (2)")
    parser.add_argument("--pools", type=_count, default=0, help="storage pools of a simulated volume service (0)")
    parser.add_argument("--networks", type=_count, default=0, help="networks of a simulated network service (0)")
    parser.add_argument(
        "--placement",
        type=_port,
        nargs="?",
        const=0,
        metavar="PORT",
        help="also serve Placement's HTTP API, on this port of 127.0.0.1 (without: a free one)",
    )
    parser.add_argument(
        "--dashboard",
        type=_port,
        nargs="?",
        const=0,
        metavar="PORT",
        help="also serve the dashboard, on this port of 127.0.0.1 (without: a free one)",
    )
    parser.add_argument("--metrics", action="store_true", help="let every daemon serve its metrics to Prometheus")
    parser.add_argument("--servers", type=positive, default=50, help="servers to boot (50)")
    parser.add_argument("--trace", type=Path, help="boot the first --servers requests of this trace instead of the mix")
    parser.add_argument("--amqp-port", type=_port, default=0, help="RabbitMQ's port (--standard; default: a free one)")
    parser.add_argument(
        "--redis-port", type=_port, default=0, help="the store's port (--standard; default: a free one)"
    )
    return parser


def positive(text: str) -> int:
    return _whole(text, 1, 100_000, f"{text!r} is not a whole number between 1 and 100000")


def _count(text: str) -> int:
    return _whole(text, 0, 100, f"{text!r} is not a whole number between 0 and 100")


def _seconds(text: str) -> float:
    return _number(text, 1.0, 3600.0, "a number of seconds from 1 to 3600")


def _share(text: str) -> float:
    return _number(text, 0.0, 1.0, "a share from 0 to 1")


def _number(text: str, least: float, most: float, what: str) -> float:
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return number


def _port(text: str) -> int:
    return _whole(text, 1024, 65535, f"{text!r} is not a port from 1024 to 65535")


def _whole(text: str, least: int, most: int, message: str) -> int:
    # int() alone accepts 1_0 and non-ASCII digits, and argparse's message about its error would name this function.
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise argparse.ArgumentTypeError(message)
    return int(text)


if __name__ == "__main__":
    parse(sys.argv[1:])
