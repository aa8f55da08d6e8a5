# SPDX-License-Identifier: Apache-2.0
"""Start a cluster, boot servers on it, show where they landed, and leave it running."""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from devstack import exercise, report, workload
from devstack.cluster import Cluster, Mode, Shape
from devstack.layout import default_folder
from devstack.servers.errors import ServerError
from devstack.servers.install import install_missing
from rpcapi.model import flavors
from rpcapi.shell.session import Session

READY_SECONDS = 120.0
BOOT_SECONDS = 300.0
MOST_NODES = 100_000
UNSTACK = Path(__file__).with_name("unstack.sh")


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 only if every server is ACTIVE under a confirmed claim and all sums are right."""
    options = _options(argv)
    folder = default_folder()
    try:
        present = Cluster.find(folder)
        if present is not None and present.running:
            return _look_at(present, _shape(options))
        if present is not None:
            # What a reboot or a kill left behind: no process of it runs any more.
            present.destroy()
        requests = _requests(options)
        if options.standard:
            install_missing()
        cluster = Cluster(folder, _shape(options))
        print(f"Starting {_words(cluster.shape)} in {folder}")
        cluster.start()
    except (ServerError, workload.TraceError) as why:
        print(f"stack.sh: {why}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stack.sh: interrupted; nothing is left running.", file=sys.stderr)
        return 130
    return _exercise(cluster, requests)


def _look_at(cluster: Cluster, wanted: Shape) -> int:
    """Tell what already runs; return 0 only when all parts of it do."""
    folder, running, missing = cluster.layout.folder, cluster.running, cluster.missing
    if missing:
        print(
            f"stack.sh: The cluster in {folder} is not whole: {', '.join(missing)} ended, {', '.join(running)} still "
            f"up. The logs are in {cluster.layout.log}. Run {UNSTACK}, then stack.sh again.",
            file=sys.stderr,
        )
        return 1
    print(f"The cluster in {folder} is already up: {', '.join(running)}.")
    if _words(cluster.shape) != _words(wanted):
        print(
            f"It is {_words(cluster.shape)}, not {_words(wanted)} as asked for now. "
            f"To have that one, run {UNSTACK}, then stack.sh again."
        )
    print(_hint(cluster))
    return 0


def _exercise(cluster: Cluster, requests: list[workload.Request]) -> int:
    session = Session([str(cluster.client_conf)])
    try:
        with _bar(cluster.shape.nodes, "nodes") as bar:
            exercise.wait_for_nodes(session, cluster.shape.nodes, READY_SECONDS, lambda done: _show(bar, done))
        exercise.wait_for_surroundings(session, cluster.shape.pools, cluster.shape.networks, READY_SECONDS)
        uuids = exercise.boot(session, requests)
        with _bar(len(uuids), "servers") as bar:
            instances = exercise.wait_for_servers(session, uuids, BOOT_SECONDS, bar)
        outcome = exercise.look(session, instances)
    except (Exception, KeyboardInterrupt) as why:  # whatever it was, nothing half-started stays
        logs = "".join(_tail(cluster, name) for name in cluster.daemons)
        cluster.destroy()
        print(f"{logs}stack.sh: {why or type(why).__name__}. The cluster was stopped again.", file=sys.stderr)
        return 1
    finally:
        session.close()
    print(report.text(outcome))
    print(_hint(cluster))
    return 0 if outcome.good else 1


def _requests(options: argparse.Namespace) -> list[workload.Request]:
    if options.trace:
        return workload.from_trace(options.trace, options.servers)
    shapes = {name: flavors.find(flavors.BUILT_IN, name).resources() for name, _ in workload.MIX}
    return workload.builtin(options.servers, shapes)


def _shape(options: argparse.Namespace) -> Shape:
    return Shape(
        mode=Mode.STANDARD if options.standard else Mode.EMBEDDED,
        computes=options.computes,
        nodes_per_host=options.nodes,
        schedulers=options.schedulers,
        amqp_port=options.amqp_port,
        store_port=options.redis_port,
        report_interval=options.report_interval,
        churn=options.churn,
        pools=options.pools,
        networks=options.networks,
    )


def _words(shape: Shape) -> str:
    parts = f"{shape.schedulers} scheduler workers, 1 conductor, {shape.nodes} nodes on {shape.computes} service hosts"
    return f"the {shape.mode} cluster ({parts})"


def _hint(cluster: Cluster) -> str:
    command = Path(sys.executable).with_name("gantt")
    return (
        f"Look around with:  export GANTT_CONFIG_FILE={cluster.client_conf}; {command} server list\n"
        f"Stop it with:      {UNSTACK}"
    )


def _tail(cluster: Cluster, daemon: str) -> str:
    log = cluster.layout.log_file(daemon)
    lines = log.read_text(errors="replace").splitlines()[-5:] if log.exists() else []
    return "".join(f"{daemon}: {line}\n" for line in lines)


def _bar(total: int, what: str) -> tqdm:
    return tqdm(total=total, desc=what, unit="", disable=None, leave=False)


def _show(bar: tqdm, done: int) -> None:
    bar.update(done - bar.n)


def _positive(text: str) -> int:
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


def _whole(text: str, least: int, most: int, complaint: str) -> int:
    # Not int() alone: it takes 1_0 and digits of other scripts, and its complaint would name our function.
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise argparse.ArgumentTypeError(complaint)
    return int(text)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    options = parser.parse_args(argv)
    nodes = options.computes * options.nodes
    if nodes > MOST_NODES:
        parser.error(f"{nodes} nodes are more than the {MOST_NODES} that one gantt-compute simulates")
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="stack.sh", description=__doc__)
    parser.add_argument(
        "--standard", action="store_true", help="RabbitMQ and Redis from Debian's packages, as private nodes"
    )
    parser.add_argument("--computes", type=_positive, default=10, help="service hosts (10)")
    parser.add_argument("--nodes", type=_positive, default=10, help="nodes of each service host (10)")
    parser.add_argument("--report-interval", type=_seconds, default=10.0, help="seconds between a host's reports (10)")
    parser.add_argument("--churn", type=_share, default=0.0, help="share of nodes that change in that time (0)")
    parser.add_argument("--schedulers", type=_positive, default=2, help="scheduler workers (2)")
    parser.add_argument("--pools", type=_count, default=0, help="storage pools of a simulated volume service (0)")
    parser.add_argument("--networks", type=_count, default=0, help="networks of a simulated network service (0)")
    parser.add_argument("--servers", type=_positive, default=50, help="servers to boot (50)")
    parser.add_argument("--trace", type=Path, help="boot the first --servers requests of this trace instead of the mix")
    parser.add_argument("--amqp-port", type=_port, default=0, help="RabbitMQ's port (--standard; default: a free one)")
    parser.add_argument(
        "--redis-port", type=_port, default=0, help="the store's port (--standard; default: a free one)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
