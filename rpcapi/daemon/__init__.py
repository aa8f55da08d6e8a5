# SPDX-License-Identifier: Apache-2.0
"""Daemon framework: configuration, worker processes, logs, metrics, systemd.

Only a service's ``cmd`` package starts it, in its console script::

    def main() -> int:
        return run(
            "gantt-scheduler",
            "scheduler_svc.service:make_service",
            register_opts=[scheduler_conf.register_opts],
            workers=lambda conf: conf.scheduler.workers,
        )

``run`` (``rpcapi.daemon.main``) reads the configuration with only oslo.config imported, then forks.
The master never imports eventlet, opens no connection and starts no thread. The factory is therefore passed by name,
and its module is imported in the worker, after the fork and after the monkey-patching. ``register_opts`` functions run
in the master and must import no more than oslo.config and ``rpcapi.errors``.

The service protocol (``rpcapi.daemon.service.Service``), all of it called in the worker process::

    make_service(conf, worker_index) -> service
        Creates the object; quick, no I/O. ``worker_index`` is 0..N-1; a respawned worker reuses the index of
        the dead one.
    service.start()
        Connects and begins to serve; returns when the worker serves (READY is sent to systemd when
        every worker does). Waits for unreachable dependencies with ``rpcapi.daemon.waiting.wait_for(what, probe,
        stopping)``. Raises errors.BadConfiguration when the configuration cannot work: the daemon
        exits with that line.
    service.stop()
        Begins the drain: stops consuming and lets in-flight work finish. May be called from another thread
        while start() still runs: start() must then return soon (set the event passed to wait_for). Called
        once.
    service.wait()
        Returns when the drain is over. stop() and wait() together may take ``graceful_shutdown_timeout``
        seconds.
    service.reset()
        SIGHUP: the mutable options were reloaded; apply them. Raises a GanttError, BadConfiguration among them,
        when it refuses them and keeps the previous ones; the master then reports that the reload was refused.

On SIGUSR2 a worker writes ``rpcapi.daemon.state_report``, to which a service may add sections.

Services use the standard library's threading names; under the eventlet executor these are green. They set no
signal handlers. Metrics are declared with ``rpcapi.daemon.metrics``, which only a worker may import.
"""
