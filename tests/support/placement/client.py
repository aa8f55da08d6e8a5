# SPDX-License-Identifier: Apache-2.0
"""A client of the API on this machine."""

import http.client
import json
from typing import Any

SECONDS = 60


class PlacementClient:
    """An administrator's client with one connection; ``roles`` None: those of the token."""

    def __init__(self, port: int, roles: str | None = None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        self._headers = {"x-auth-token": "admin"} | ({} if roles is None else {"x-roles": roles})

    def call(self, method: str, path: str, body: Any = None, microversion: str = "latest") -> tuple[int, Any]:
        """Send a request; return its status and document, None without one."""
        headers = {**self._headers, "openstack-api-version": f"placement {microversion}"}
        if body is not None:
            headers["content-type"] = "application/json"
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = self._connection.getresponse()
        content = response.read()
        return response.status, json.loads(content) if content else None

    def change(self, method: str, path: str, body: Any = None, microversion: str = "latest") -> None:
        """Send a request that succeeds."""
        status, answer = self.call(method, path, body, microversion)
        assert 200 <= status < 300, (method, path, body, status, answer)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def empty(self) -> None:
        """Delete all allocations, providers, from the leaves of each tree on, and custom names."""
        while providers := self.call("GET", "/resource_providers")[1]["resource_providers"]:
            parents = {provider["parent_provider_uuid"] for provider in providers}
            for provider in providers:
                if provider["uuid"] not in parents:
                    self._remove(f"/resource_providers/{provider['uuid']}")
        for name in self.call("GET", "/traits?name=startswith:CUSTOM_")[1]["traits"]:
            self.change("DELETE", f"/traits/{name}")
        for resource_class in self.call("GET", "/resource_classes")[1]["resource_classes"]:
            if resource_class["name"].startswith("CUSTOM_"):
                self.change("DELETE", f"/resource_classes/{resource_class['name']}")

    def _remove(self, path: str) -> None:
        """Delete a provider and all allocations of its consumers."""
        for consumer in self.call("GET", f"{path}/allocations")[1]["allocations"]:
            self.change("DELETE", f"/allocations/{consumer}")
        self.change("DELETE", path)
