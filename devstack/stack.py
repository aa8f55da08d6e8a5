# SPDX-License-Identifier: Apache-2.0
"""Program of stack.sh: starts a cluster, boots servers on it, shows where they run, and leaves it running."""

import argparse
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from devstack import exercise, report, workload
from devstack.cluster import DevstackCluster
from devstack.cluster_size import ClusterSize, Mode
from devstack.command_line import parse
from devstack.deploy.users.errors import DevstackError
from devstack.layout import default_folder
from devstack.servers import lifetime
from devstack.servers.install import install_missing
from rpcapi.admin.session import Session
from rpcapi.spec_builder import flavors
from rpcapi.spec_builder.builder import build_spec

READY_SECONDS = 120.0
BOOT_SECONDS = 300.0
INTERRUPTED = 128 + signal.SIGINT
OSC_OPTIONS = "--os-auth-type admin_token --os-token admin"
UNSTACK = shlex.quote(str(Path(__file__).with_name("unstack.sh")))


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 only if every server is ACTIVE under a confirmed claim and all sums are consistent."""
    options = parse(argv)
    folder = default_folder()
    try:
        present = DevstackCluster.find(folder)
        if present is not None and present.running:
            return _report_existing(present, _shape(options))
        if present is not None:
            # A reboot or a kill left this cluster: none of its processes runs.
            present.destroy()
        requests = _requests(options)
        if options.standard:
            install_missing()
        cluster = DevstackCluster(folder, _shape(options))
        print(f"Starting {_describe(cluster.size)} in {folder}")
        cluster.start()
        lifetime.release()
        cluster.layout.starter.record_own_process()
    except (DevstackError, workload.TraceError) as why:
        print(f"stack.sh: {why}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stack.sh: interrupted. No process is left running.", file=sys.stderr)
        return INTERRUPTED
    return _exercise(cluster, requests)


def _report_existing(cluster: DevstackCluster, requested: ClusterSize) -> int:
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


def _exercise(cluster: DevstackCluster, requests: list[workload.WorkloadRequest]) -> int:
    session = Session([str(cluster.client_conf)])
    try:
        with _bar(cluster.size.nodes, "nodes") as bar:
            exercise.wait_for_nodes(session, cluster.size.nodes, READY_SECONDS, lambda done: _show(bar, done))
        exercise.wait_for_pools_and_networks(session, cluster.size.pools, cluster.size.networks, READY_SECONDS)
        if cluster.placement_url is not None:
            exercise.wait_for_placement(cluster.placement_url, READY_SECONDS)
        uuids = exercise.boot(session, requests)
        with _bar(len(uuids), "servers") as bar:
            instances = exercise.wait_for_servers(session, uuids, BOOT_SECONDS, bar)
        result = exercise.inspect_servers(session, instances)
    except KeyboardInterrupt:
        cluster.destroy()
        print("stack.sh: interrupted. The cluster was stopped.", file=sys.stderr)
        return INTERRUPTED
    except Exception as why:  # any failure stops the whole cluster
        logs = "".join(_tail(cluster, name) for name in cluster.daemons)
        cluster.destroy()
        print(f"{logs}stack.sh: {str(why) or type(why).__name__}. The cluster was stopped.", file=sys.stderr)
        return 1
    finally:
        session.close()
        cluster.layout.starter.forget()
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
        placement_port=options.placement,
        dashboard_port=options.dashboard,
        metrics=options.metrics,
    )


def _describe(size: ClusterSize) -> str:
    parts = f"{size.schedulers} scheduler workers, 1 conductor, {size.nodes} nodes on {size.computes} service hosts"
    api = "" if size.placement_port is None else ", Placement's HTTP API"
    dashboard = "" if size.dashboard_port is None else ", the dashboard"
    metrics = ", with metrics" if size.metrics else ""
    return f"the {size.mode} cluster ({parts}{api}{dashboard}{metrics})"


def _hint(cluster: DevstackCluster) -> str:
    command = shlex.quote(str(Path(sys.executable).with_name("gantt")))
    lines = [
        f"Inspect it with:   export GANTT_CONFIG_FILE={shlex.quote(str(cluster.client_conf))}; {command} server list"
    ]
    if cluster.placement_url is not None:
        lines += [
            f"Placement's API:   {cluster.placement_url}, which believes any token; with osc-placement:",
            f"                   openstack {OSC_OPTIONS} --os-endpoint {cluster.placement_url} resource provider list",
        ]
    if cluster.dashboard_url is not None:
        lines += [f"Look at it with:   {cluster.dashboard_url}, whose token is {cluster.dashboard_token}"]
    if cluster.size.metrics:
        lines += [f"Watch it with:     prometheus --config.file={shlex.quote(str(cluster.layout.prometheus_conf))}"]
    return "\n".join([*lines, f"Stop it with:      {UNSTACK}"])


def _tail(cluster: DevstackCluster, daemon: str) -> str:
    log = cluster.layout.log_file(daemon)
    lines = log.read_text(errors="replace").splitlines()[-5:] if log.exists() else []
    return "".join(f"{daemon}: {line}\n" for line in lines)


def _bar(total: int, what: str) -> tqdm:
    return tqdm(total=total, desc=what, unit="", disable=None, leave=False)


def _show(bar: tqdm, done: int) -> None:
    bar.update(done - bar.n)


if __name__ == "__main__":
    # unstack.sh sends SIGTERM to a stack.sh that still waits for its cluster; like Ctrl-C, this stops the cluster.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
