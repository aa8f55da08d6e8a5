# SPDX-License-Identifier: Apache-2.0
"""Start a cluster, boot servers on it, show where they run, and leave it running."""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from devstack import exercise, report, workload
from devstack.cluster import Cluster, ClusterSize, Mode
from devstack.layout import default_folder
from devstack.servers.errors import ServerError
from devstack.servers.install import install_missing
from rpcapi.cli.session import Session
from rpcapi.spec_builder import flavors
from rpcapi.spec_builder.builder import build_spec

READY_SECONDS = 120.0
BOOT_SECONDS = 300.0
MOST_NODES = 100_000
UNSTACK = Path(__file__).with_name("unstack.sh")


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 only if every server is ACTIVE under a confirmed claim and all sums are consistent."""
    options = _options(argv)
    folder = default_folder()
    try:
        present = Cluster.find(folder)
        if present is not None and present.running:
            return _report_existing(present, _shape(options))
        if present is not None:
            # Left over from a reboot or a kill: none of its processes runs.
            present.destroy()
        requests = _requests(options)
        if options.standard:
            install_missing()
        cluster = Cluster(folder, _shape(options))
        print(f"Starting {_describe(cluster.size)} in {folder}")
        cluster.start()
    except (ServerError, workload.TraceError) as why:
        print(f"stack.sh: {why}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stack.sh: interrupted; no process is left running.", file=sys.stderr)
        return 130
    return _exercise(cluster, requests)


def _report_existing(cluster: Cluster, requested: ClusterSize) -> int:
    """Report the existing cluster; return 0 only if all its processes run."""
    folder, running, missing = cluster.layout.folder, cluster.running, cluster.missing
    if missing:
        print(
            f"stack.sh: The cluster in {folder} is incomplete: {', '.join(missing)} ended, {', '.join(running)} still "
            f"running. The logs are in {cluster.layout.log}. Run {UNSTACK}, then stack.sh again.",
            file=sys.stderr,
        )
        return 1
    print(f"The cluster in {folder} is already up: {', '.join(running)}.")
    if _describe(cluster.size) != _describe(requested):
        print(
            f"It is {_describe(cluster.size)}, not {_describe(requested)} as requested. "
            f"To start that one, run {UNSTACK}, then stack.sh again."
        )
    print(_hint(cluster))
    return 0


def _exercise(cluster: Cluster, requests: list[workload.WorkloadRequest]) -> int:
    session = Session([str(cluster.client_conf)])
    try:
        with _bar(cluster.size.nodes, "nodes") as bar:
            exercise.wait_for_nodes(session, cluster.size.nodes, READY_SECONDS, lambda done: _show(bar, done))
        exercise.wait_for_pools_and_networks(session, cluster.size.pools, cluster.size.networks, READY_SECONDS)
        uuids = exercise.boot(session, requests)
        with _bar(len(uuids), "servers") as bar:
            instances = exercise.wait_for_servers(session, uuids, BOOT_SECONDS, bar)
        result = exercise.inspect_servers(session, instances)
    except (Exception, KeyboardInterrupt) as why:  # any failure stops the whole cluster
        logs = "".join(_tail(cluster, name) for name in cluster.daemons)
        cluster.destroy()
        print(f"{logs}stack.sh: {why or type(why).__name__}. The cluster was stopped.", file=sys.stderr)
        return 1
    finally:
        session.close()
    print(report.text(result))
    print(_hint(cluster))
    return 0 if result.ok else 1


def _requests(options: argparse.Namespace) -> list[workload.WorkloadRequest]:
    if options.trace:
        return workload.from_trace(options.trace, options.servers)
    shapes = {name: build_spec(flavors.find(flavors.BUILT_IN, name)).resources for name, _ in workload.MIX}
    return workload.builtin_requests(options.servers, shapes)


def _shape(options: argparse.Namespace) -> ClusterSize:
    return ClusterSize(
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


def _describe(size: ClusterSize) -> str:
    parts = f"{size.schedulers} scheduler workers, 1 conductor, {size.nodes} nodes on {size.computes} service hosts"
    return f"the {size.mode} cluster ({parts})"


def _hint(cluster: Cluster) -> str:
    command = Path(sys.executable).with_name("gantt")
    return (
        f"Inspect it with:   export GANTT_CONFIG_FILE={cluster.client_conf}; {command} server list\n"
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


def _whole(text: str, least: int, most: int, message: str) -> int:
    # Not int() alone: it accepts 1_0 and non-ASCII digits, and argparse's message would name this function.
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise argparse.ArgumentTypeError(message)
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
