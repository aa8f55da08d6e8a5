# SPDX-License-Identifier: Apache-2.0
"""Selects eventlet or native threads for a worker process, before it imports its service."""

import sys
import warnings

# Modules whose import fixes how they work (patched standard library, folder of the metrics), so that they must
# be imported after the fork.
WORKER_ONLY_MODULES = ("eventlet", "prometheus_client", "oslo_messaging")


def require_no_worker_modules() -> None:
    """Raise RuntimeError when the master has imported a module that only a worker may import.

    The consequences would be silent: native locks under eventlet, and metrics that are not exported.
    """
    imported = [name for name in WORKER_ONLY_MODULES if name in sys.modules]
    if imported:
        raise RuntimeError(
            f"{', '.join(imported)} was imported before the workers were forked: "
            "import it in the service's module, not in its cmd or conf"
        )


def configure_executor(executor: str) -> None:
    """Patch the process for ``executor`` ('eventlet' or 'threading'), and configure the libraries for it.

    The imports are local because checking for eventlet imports it: the master, which imports this module, must
    not.
    """
    # The deprecation is recorded in docs/adr; an operator cannot act on it at each start of a worker.
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    from rpcapi.messaging import green  # noqa: PLC0415

    green.patch_for(executor)
    # oslo.messaging imports oslo.service, which assumes eventlet unless it is initialized before.
    from oslo_service import backend  # noqa: PLC0415

    backend.init_backend(backend.BackendType(executor))
