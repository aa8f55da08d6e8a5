# SPDX-License-Identifier: Apache-2.0
"""Path prefix of the API."""

from collections.abc import Iterable
from typing import Any

from scheduler_svc.placement.http.authentication import Application, StartResponse


def below(prefix: str, application: Application) -> Application:
    """Wrap the application so that links begin with a prefix like '/placement', and request paths may."""

    def mount(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == prefix or path.startswith(prefix + "/"):
            environ["PATH_INFO"] = path[len(prefix) :]
        environ["SCRIPT_NAME"] = environ.get("SCRIPT_NAME", "") + prefix
        return application(environ, start_response)

    return mount
