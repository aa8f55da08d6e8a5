# SPDX-License-Identifier: Apache-2.0
"""Daemon framework: configuration, worker processes, logs, metrics, systemd.

Started by the console script of a service's ``cmd`` package::

    def main() -> int:
        return run(
            "gantt-scheduler",
            "scheduler_svc.service:make_service",
            register_opts=[scheduler_conf.register_opts],
            workers=lambda conf: conf.scheduler.workers,
        )

``run`` (``rpcapi.daemon.main``) reads the configuration with only oslo.config imported, then forks. The master never
imports eventlet, opens no connection and starts no thread. So the factory is passed by name, and its module is imported
in the worker, after fork and monkey-patching. ``register_opts`` functions run in the master and may import only
oslo.config and ``rpcapi.errors``.

Service protocol (``rpcapi.daemon.service.Service``), called in the worker process::

    make_service(conf, worker_index) -> service
        Creates the object without I/O. ``worker_index`` is 0..N-1; a respawned worker reuses the index of the dead one.
    service.start()
        Connects and returns when the worker serves (systemd gets READY when every worker does). Waits for unreachable
        dependencies with ``rpcapi.daemon.waiting.wait_for(what, probe, stopping)``. Raises errors.BadConfiguration if
        the configuration cannot work: the daemon exits with that line.
    service.stop()
        Begins the drain: stops consuming, finishes work in flight. Called once, possibly from another thread during
        start(), which must then return soon (set the event passed to wait_for).
    service.wait()
        Returns when the drain is over. stop() and wait() together may take ``graceful_shutdown_timeout`` seconds.
    service.reset()
        SIGHUP: applies the reloaded mutable options, or raises a GanttError (such as BadConfiguration) and keeps
        the previous ones; the master then reports a refused reload.

On SIGUSR2 a worker writes ``rpcapi.daemon.state_report``, to which a service may add sections.

Services use the standard library's threading, which is green under the eventlet executor, and set no signal handlers.
They declare metrics with ``rpcapi.daemon.metrics``, which only workers may import.
"""
