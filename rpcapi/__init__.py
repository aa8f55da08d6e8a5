# SPDX-License-Identifier: Apache-2.0
"""RPC contract and client library. Names load on first use: services import only the modules that they need."""

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["GanttError", "RequestSpec", "Session", "build_spec"]

if TYPE_CHECKING:
    from rpcapi.admin.session import Session
    from rpcapi.errors import GanttError
    from rpcapi.objects import RequestSpec
    from rpcapi.spec_builder.builder import build_spec
else:
    _MODULES = {
        "GanttError": "rpcapi.errors",
        "RequestSpec": "rpcapi.objects",
        "Session": "rpcapi.admin.session",
        "build_spec": "rpcapi.spec_builder.builder",
    }

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_MODULES[name]), name)

    def __dir__() -> list[str]:
        return __all__
