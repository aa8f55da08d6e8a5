# SPDX-License-Identifier: Apache-2.0
"""Settles what a worker process runs on, before it imports anything of its service."""

import warnings


def choose(executor: str) -> None:
    """Patch the process for ``executor`` ('eventlet' or 'threading'), and say so to the libraries.

    The imports are made here because looking whether eventlet is there imports it: the master, which reads
    this module, must stay free of it.
    """
    # True, and docs/adr knows it, but nothing that an operator could act on at each start of a worker.
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    from rpcapi import green  # noqa: PLC0415

    green.patch_for(executor)
    # oslo.messaging imports oslo.service, which takes eventlet for granted unless it was told otherwise
    # before.
    from oslo_service import backend  # noqa: PLC0415

    backend.init_backend(backend.BackendType(executor))
