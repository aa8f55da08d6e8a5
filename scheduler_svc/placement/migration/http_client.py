# SPDX-License-Identifier: Apache-2.0
"""Client of another Placement's HTTP API."""

import threading
from collections.abc import Mapping
from typing import Any

from keystoneauth1 import session, token_endpoint
from keystoneauth1.exceptions import ClientException
from keystoneauth1.identity import v3
from keystoneauth1.plugin import BaseAuthPlugin
from microversion_parse import Version, parse_version_string
from requests import Response

from scheduler_svc.placement.migration.failures import PlacementUnavailable

SERVICE = "placement"
LEAST, MOST = Version(1, 28), Version(1, 39)  # range of microversions; consumers have generations since 1.28
SECONDS = 60  # timeout of each request
RETRIES = 3  # of a request that gets no connection
NOT_FOUND = 404

# {environment variable: argument of Keystone's password method}, as in the OpenStack client.
VARIABLES = {
    "OS_AUTH_URL": "auth_url",
    "OS_USERNAME": "username",
    "OS_PASSWORD": "password",
    "OS_USER_DOMAIN_NAME": "user_domain_name",
    "OS_USER_DOMAIN_ID": "user_domain_id",
    "OS_PROJECT_NAME": "project_name",
    "OS_PROJECT_ID": "project_id",
    "OS_PROJECT_DOMAIN_NAME": "project_domain_name",
    "OS_PROJECT_DOMAIN_ID": "project_domain_id",
    "OS_SYSTEM_SCOPE": "system_scope",
}


def credentials(url: str, environment: Mapping[str, str]) -> BaseAuthPlugin:
    """Return the authentication at ``url``: OS_TOKEN, or a user's password at Keystone. Raises PlacementUnavailable."""
    if "OS_TOKEN" in environment:
        return token_endpoint.Token(url, environment["OS_TOKEN"])
    options: dict[str, Any] = {option: environment[name] for name, option in VARIABLES.items() if environment.get(name)}
    if not {"auth_url", "password"} <= options.keys():
        raise PlacementUnavailable("set OS_TOKEN, or OS_AUTH_URL, OS_USERNAME, OS_PASSWORD and so on")
    return v3.Password(**options)


class PlacementClient:
    """Thread-safe client with a connection per thread."""

    def __init__(self, url: str, authentication: BaseAuthPlugin) -> None:
        self._url = url.rstrip("/")
        self._authentication = authentication
        self._local = threading.local()
        self._version: Version | None = None

    @property
    def version(self) -> Version:
        """Highest common microversion. Raises PlacementUnavailable if consumers have no generations in it."""
        if self._version is None:
            versions = self._request("/", {}).json().get("versions", [])
            highest = max((_parsed(entry.get("max_version", "")) for entry in versions), default=Version(0, 0))
            if highest < LEAST:
                raise PlacementUnavailable(f"it serves microversions to {highest}; {LEAST} is needed")
            self._version = min(highest, MOST)
        return self._version

    def get(self, path: str) -> Response | None:
        """Return the response, None for 404. Raises PlacementUnavailable for any other failure."""
        response = self._request(path, {"OpenStack-API-Version": f"{SERVICE} {self.version}"})
        return None if response.status_code == NOT_FOUND else response

    def document(self, path: str) -> Any:
        """Return the document at a path that always exists. Raises PlacementUnavailable."""
        response = self.get(path)
        if response is None:
            raise PlacementUnavailable(f"GET {path} returned 404")
        return response.json()

    def _request(self, path: str, headers: Mapping[str, str]) -> Response:
        if not hasattr(self._local, "session"):
            self._local.session = session.Session(self._authentication, timeout=SECONDS)
        try:
            response: Response = self._local.session.get(
                self._url + path,
                headers={**headers, "Accept": "application/json"},
                raise_exc=False,
                connect_retries=RETRIES,
            )
        except ClientException as error:
            raise PlacementUnavailable(f"GET {path} failed: {error}") from error
        if not response.ok and response.status_code != NOT_FOUND:
            raise PlacementUnavailable(f"GET {path} returned {response.status_code}: {response.text[:200]}")
        return response


def _parsed(text: str) -> Version:
    try:
        return parse_version_string(text)
    except TypeError:
        return Version(0, 0)
