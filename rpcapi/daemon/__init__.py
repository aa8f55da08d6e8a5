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

The factory ``make_service(conf, worker_index)`` creates a ``rpcapi.daemon.service.Service`` without I/O.
``worker_index`` is 0..N-1; a respawned worker reuses the index of the dead one.

On SIGUSR2 a worker writes ``rpcapi.daemon.state_report``, to which a service may add sections.

Services use the standard library's threading, which is green under the eventlet executor, and set no signal handlers.
They declare metrics with ``rpcapi.daemon.metrics``, which only workers may import.
"""
