# SPDX-License-Identifier: Apache-2.0
"""Start a cluster, boot servers on it, show where they landed, and leave it running."""

import argparse
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


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 only if every server is ACTIVE under a confirmed claim and all sums are right."""
    options = _parser().parse_args(argv)
    folder = default_folder()
    try:
        present = Cluster.find(folder)
        if present is not None and present.running:
            print(f"The cluster in {folder} is already up: {', '.join(present.running)}.")
            print(_hint(present))
            return 0
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


def _exercise(cluster: Cluster, requests: list[workload.Request]) -> int:
    session = Session([str(cluster.client_conf)])
    try:
        with _bar(cluster.shape.nodes, "nodes") as bar:
            exercise.wait_for_nodes(session, cluster.shape.nodes, READY_SECONDS, lambda done: _show(bar, done))
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
        schedulers=options.schedulers,
        amqp_port=options.amqp_port,
        store_port=options.redis_port,
    )


def _words(shape: Shape) -> str:
    parts = f"{shape.schedulers} scheduler workers, 1 conductor, {shape.nodes} nodes on {shape.computes} service hosts"
    return f"the {shape.mode} cluster ({parts})"


def _hint(cluster: Cluster) -> str:
    command = Path(sys.executable).with_name("gantt")
    return (
        f"Look around with:  export GANTT_CONFIG_FILE={cluster.client_conf}; {command} server list\n"
        f"Stop it with:      {Path(__file__).with_name('unstack.sh')}"
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
    number = int(text)
    if not 1 <= number <= 100_000:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and 100000")
    return number


def _port(text: str) -> int:
    number = int(text)
    if not 1024 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port from 1024 to 65535")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="stack.sh", description=__doc__)
    parser.add_argument(
        "--standard", action="store_true", help="RabbitMQ and Redis from Debian's packages, as private nodes"
    )
    parser.add_argument("--computes", type=_positive, default=10, help="service hosts, of ten nodes each (10)")
    parser.add_argument("--schedulers", type=_positive, default=2, help="scheduler workers (2)")
    parser.add_argument("--servers", type=_positive, default=50, help="servers to boot (50)")
    parser.add_argument("--trace", type=Path, help="boot the first --servers requests of this trace instead of the mix")
    parser.add_argument("--amqp-port", type=_port, default=0, help="RabbitMQ's port (--standard; default: a free one)")
    parser.add_argument(
        "--redis-port", type=_port, default=0, help="the store's port (--standard; default: a free one)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
