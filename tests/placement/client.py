# SPDX-License-Identifier: Apache-2.0
"""A client of the API on this machine."""

import http.client
import json
from typing import Any

SECONDS = 30


class PlacementClient:
    """An administrator's client."""

    def __init__(self, port: int) -> None:
        self._port = port

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request; return its status and document, None without one."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=SECONDS)
        headers = {"x-auth-token": "admin", "openstack-api-version": "placement latest"}
        if body is not None:
            headers["content-type"] = "application/json"
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        return response.status, json.loads(content) if content else None

    def delete(self, path: str) -> None:
        """Delete what is at a path."""
        status, answer = self.call("DELETE", path)
        assert status == 204, (path, answer)

    def empty(self) -> None:
        """Delete all allocations, providers, from the leaves of each tree on, and custom names."""
        while providers := self.call("GET", "/resource_providers")[1]["resource_providers"]:
            parents = {provider["parent_provider_uuid"] for provider in providers}
            for provider in providers:
                if provider["uuid"] not in parents:
                    consumers = self.call("GET", f"/resource_providers/{provider['uuid']}/allocations")[1][
                        "allocations"
                    ]
                    for consumer in consumers:
                        self.delete(f"/allocations/{consumer}")
                    self.delete(f"/resource_providers/{provider['uuid']}")
        for name in self.call("GET", "/traits?name=startswith:CUSTOM_")[1]["traits"]:
            self.delete(f"/traits/{name}")
        for resource_class in self.call("GET", "/resource_classes")[1]["resource_classes"]:
            if resource_class["name"].startswith("CUSTOM_"):
                self.delete(f"/resource_classes/{resource_class['name']}")
