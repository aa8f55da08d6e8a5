# SPDX-License-Identifier: Apache-2.0
"""Entry point of the daemons' console scripts."""

import contextlib
import pkgutil
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from oslo_config import cfg

from rpcapi import errors, version
from rpcapi.conf import transport
from rpcapi.daemon import concurrency, configuration, exporter, logs, master, metrics_folder, process, worker
from rpcapi.daemon.notify import Notifier


def run(
    prog: str,
    make_service: str,
    *,
    register_opts: Iterable[configuration.RegisterOpts] = (),
    workers: Callable[[cfg.ConfigOpts], int] = lambda _conf: 1,
    check: Callable[[cfg.ConfigOpts], None] | None = None,
    argv: Sequence[str] | None = None,
    uses_bus: bool = True,
) -> int:
    """Run the daemon ``prog`` until it is stopped; return the exit status.

    ``make_service`` is the factory as ``package.module:function``. ``check`` raises BadConfiguration for values that
    option types do not exclude. Without ``uses_bus``, threads are always native. The status is 0 after a clean drain,
    78 after a bad configuration (one line on standard error), 70 if a worker failed.
    """
    notifier = Notifier.from_environment()
    try:
        conf = configuration.load(prog, register_opts, argv)
        configuration.check_present(conf)
        configuration.check_executor(conf)
        if uses_bus:
            transport.check(conf)
        else:
            conf.set_override("executor", "threading")
        if check is not None:
            check(conf)
        logs.setup(conf, prog, version.installed_version())
        concurrency.require_no_worker_modules()
        return _run(prog, make_service, workers(conf), conf, notifier)
    except errors.BadConfiguration as exc:
        print(f"{prog}: {exc}", file=sys.stderr)
        return process.EX_CONFIG


def _run(prog: str, make_service: str, workers: int, conf: cfg.ConfigOpts, notifier: Notifier) -> int:
    with contextlib.ExitStack() as stack:
        folder: Path | None = None
        listener: socket.socket | None = None
        roles = []
        if conf.metrics.listen:
            listener = stack.enter_context(exporter.bind(conf.metrics.listen))
            folder = stack.enter_context(metrics_folder.create(conf.metrics.folder))
            roles.append(_exporter_role(prog, listener, folder, workers))
        roles += [_worker_role(prog, make_service, index, folder, listener) for index in range(workers)]

        def on_worker_exit(role: worker.WorkerRole) -> None:
            if folder is not None:
                metrics_folder.remove_gauges(folder, role.index)

        return master.Master(conf, roles, notifier, on_worker_exit).run()


def _worker_role(
    prog: str, make_service: str, index: int, folder: Path | None, listener: socket.socket | None
) -> worker.WorkerRole:
    def prepare(conf: cfg.ConfigOpts) -> None:
        if listener is not None:
            # A worker that outlives its master must not block the address for the next one.
            listener.close()
        concurrency.configure_executor(conf.executor)
        if folder is not None:
            metrics_folder.use(folder, index)
        logs.setup(conf, prog, version.installed_version())

    def record_serving() -> None:
        from rpcapi.daemon import metrics  # noqa: PLC0415 - only a worker may import it

        metrics.record_serving()

    return worker.WorkerRole(
        f"worker {index}", index, prepare, lambda conf: pkgutil.resolve_name(make_service)(conf, index), record_serving
    )


def _exporter_role(prog: str, listener: socket.socket, folder: Path, workers: int) -> worker.WorkerRole:
    return worker.WorkerRole(
        "metrics exporter",
        -1,
        lambda conf: logs.setup(conf, prog, version.installed_version()),
        lambda conf: exporter.make_exporter(listener, folder, workers),
    )
