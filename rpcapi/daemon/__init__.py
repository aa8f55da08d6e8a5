# SPDX-License-Identifier: Apache-2.0
"""Daemon framework: configuration, worker processes, logs, metrics, systemd.

A console script calls ``run`` of ``rpcapi.daemon.main``, which reads the configuration, then forks. The master never
imports eventlet, opens no connection and starts no thread. Therefore ``make_service(conf, worker_index)`` is passed by
name and imported in the worker, after monkey-patching; it creates a ``rpcapi.daemon.worker.Service`` without I/O.
``register_opts`` functions run in the master and may import only oslo.config and ``rpcapi.errors``.

Services use the standard library's threading, which is green under the eventlet executor, and set no signal handlers.
They declare metrics with ``rpcapi.daemon.metrics``, which only workers may import.
"""
