# SPDX-License-Identifier: Apache-2.0
"""Daemon framework: configuration, worker processes, logs, metrics, systemd.

A console script calls ``run`` of ``rpcapi.daemon.main``, which reads the configuration, then forks. The master never
imports eventlet, opens no connection and starts no thread. Therefore the service's factory is passed by name and
imported in the worker, after monkey-patching. ``register_opts`` functions run in the master and may import only
oslo.config and ``rpcapi.errors``.

The factory ``make_service(conf, worker_index)`` creates a ``rpcapi.daemon.service.Service`` without I/O. A respawned
worker reuses the index (0..N-1) of the dead one.

Services use the standard library's threading, which is green under the eventlet executor, and set no signal handlers.
They declare metrics with ``rpcapi.daemon.metrics``, which only workers may import.
"""
