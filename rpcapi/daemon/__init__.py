# SPDX-License-Identifier: Apache-2.0
"""The frame that the daemons share: configuration, worker processes, logs, metrics, systemd.

Only a service's ``cmd`` package starts it, in its console script::

    def main() -> int:
        return run(
            "gantt-scheduler",
            "scheduler_svc.service:make_service",
            register_opts=[scheduler_conf.register_opts],
            workers=lambda conf: conf.scheduler.workers,
        )

``run`` (``rpcapi.daemon.main``) reads the configuration with nothing but oslo.config imported, then forks.
The master never imports eventlet, opens no connection and starts no thread; so the factory is given by name,
and its module is imported in the worker, after the fork and after the patch. ``register_opts`` functions run
in the master and must import no more than oslo.config and ``rpcapi.errors``.

The service protocol (``rpcapi.daemon.service.Service``), all of it called in the worker process::

    make_service(conf, worker_index) -> service
        Makes the object; quick, no I/O. ``worker_index`` is 0..N-1; a respawned worker takes the index that
        fell free.
    service.start()
        Connects and begins to serve; returns when the worker really serves (READY is told to systemd when
        every worker is there). Waits for what is away with ``rpcapi.daemon.waiting.wait_for(what, probe,
        stopping)``. Raises errors.BadConfiguration when what it was configured with cannot work: the daemon
        exits with that line.
    service.stop()
        Begins the drain: stops consuming, lets what is in flight finish. May come while start() still runs,
        from another thread: then start() has to give up soon (set the event that wait_for was given). Called
        once.
    service.wait()
        Returns when the drain is over. stop() and wait() together are given ``graceful_shutdown_timeout``
        seconds.
    service.reset()
        SIGHUP: the mutable options have been read anew, use them.

Services use the standard library's threading names; under the eventlet executor these are green. They set no
signal handlers. Metrics are declared with ``rpcapi.daemon.metrics``, which only a worker may import.
"""
