# SPDX-License-Identifier: Apache-2.0
"""Settles what a worker process runs on, before it imports anything of its service."""

import sys
import warnings

# What decides at its import how it works, and so must be imported after the fork: whether the standard
# library is green, where the figures are kept.
IN_WORKERS_ONLY = ("eventlet", "prometheus_client", "oslo_messaging")


def require_light() -> None:
    """Raise RuntimeError when the master holds a module that only a worker may import.

    It would not fail, it would go wrong in silence: native locks under eventlet, figures that nobody sees.
    """
    found = [name for name in IN_WORKERS_ONLY if name in sys.modules]
    if found:
        raise RuntimeError(
            f"{', '.join(found)} was imported before the workers were forked: "
            "import it in the service's module, not in its cmd or conf"
        )


def choose(executor: str) -> None:
    """Patch the process for ``executor`` ('eventlet' or 'threading'), and say so to the libraries.

    The imports are made here because looking whether eventlet is there imports it: the master, which reads
    this module, must stay free of it.
    """
    # True, and docs/adr knows it, but nothing that an operator could act on at each start of a worker.
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    from rpcapi import green  # noqa: PLC0415

    green.patch_for(executor)
    # oslo.messaging imports oslo.service, which takes eventlet for granted unless told otherwise before.
    from oslo_service import backend  # noqa: PLC0415

    backend.init_backend(backend.BackendType(executor))
