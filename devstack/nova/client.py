# SPDX-License-Identifier: Apache-2.0
"""Clients of a cloud's nova-api and Placement."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import requests
import tenacity

from devstack.nova.fakes.glance import IMAGES
from devstack.servers.errors import ServerNotReady

ADMIN_TOKEN = "admin:demo"  # noqa: S105 - of a cloud for tests
COMPUTE_VERSION = "2.96"
PLACEMENT_VERSION = "1.39"
SECONDS = 120
POLL = 0.5
NOT_FOUND = 404
DELETE_ATTEMPTS = 5
SERVER_SECONDS = 180.0

Result = TypeVar("Result")


class CallFailed(Exception):
    def __init__(self, what: str, status: int, text: str) -> None:
        super().__init__(f"{what} was answered {status}: {text[:1000]}")
        self.status = status


def wait_until(question: Callable[[], Result | None], what: str, seconds: float = SERVER_SECONDS) -> Result:
    """Return the first true answer; a failed call counts as no answer. Raises ServerNotReady."""
    deadline = time.monotonic() + seconds
    while True:
        problem: object = "no"
        try:
            if answer := question():
                return answer
        except (requests.RequestException, CallFailed) as why:
            problem = why
        if time.monotonic() > deadline:
            raise ServerNotReady(f"After {seconds:g} s still waiting for {what}: {problem}")
        time.sleep(POLL)


class RestClient:
    """REST client with a token and a microversion; ``call`` raises CallFailed for every status from 400 on."""

    def __init__(self, url: str, headers: Mapping[str, str], seconds: float = SECONDS) -> None:
        self._url = url
        self._seconds = seconds
        self._session = requests.Session()
        self._session.headers.update(headers)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        response = self._session.request(method, self._url + path, json=body, headers=headers, timeout=self._seconds)
        if not response.ok:
            raise CallFailed(f"{method} {path}", response.status_code, response.text)
        return response.json() if response.content else None

    def get(self, path: str) -> Any:
        return self.call("GET", path)


class CloudPlacementClient(RestClient):
    def __init__(self, url: str) -> None:
        super().__init__(url, {"X-Auth-Token": ADMIN_TOKEN, "OpenStack-API-Version": f"placement {PLACEMENT_VERSION}"})

    def count_computes(self) -> int:
        return len(self.get("/resource_providers?required=COMPUTE_NODE&resources=VCPU:1")["resource_providers"])

    def providers(self) -> list[dict[str, Any]]:
        providers: list[dict[str, Any]] = self.get("/resource_providers")["resource_providers"]
        return providers

    def allocations(self, consumer: str) -> dict[str, dict[str, int]]:
        allocations = self.get(f"/allocations/{consumer}")["allocations"]
        return {provider: allocation["resources"] for provider, allocation in allocations.items()}

    def usages(self, provider: str) -> dict[str, int]:
        usages: dict[str, int] = self.get(f"/resource_providers/{provider}/usages")["usages"]
        return usages

    def consumers(self, provider: str) -> dict[str, dict[str, int]]:
        allocations = self.get(f"/resource_providers/{provider}/allocations")["allocations"]
        return {consumer: allocation["resources"] for consumer, allocation in allocations.items()}


class NovaClient(RestClient):
    def __init__(self, url: str, token: str = ADMIN_TOKEN, seconds: float = SECONDS) -> None:
        headers = {"X-Auth-Token": token, "OpenStack-API-Version": f"compute {COMPUTE_VERSION}"}
        super().__init__(f"{url}/v2.1", headers, seconds)

    def hosts_up(self) -> list[str]:
        services = self.get("/os-services?binary=nova-compute")["services"]
        return [service["host"] for service in services if service["state"] == "up"]

    def create_flavor(self, name: str, vcpus: int, memory_mb: int, disk_gb: int, **extra_specs: str) -> str:
        flavor = {"id": name, "name": name, "vcpus": vcpus, "ram": memory_mb, "disk": disk_gb}
        self.call("POST", "/flavors", {"flavor": flavor})
        if extra_specs:
            self.call("POST", f"/flavors/{name}/os-extra_specs", {"extra_specs": extra_specs})
        return name

    def boot(self, name: str, flavor: str, hints: Mapping[str, Any] | None = None, **options: Any) -> str:
        server = {"name": name, "flavorRef": flavor, "imageRef": IMAGES["cirros"], "networks": "none", **options}
        request = {"server": server, **({"os:scheduler_hints": dict(hints)} if hints else {})}
        uuid: str = self.call("POST", "/servers", request)["server"]["id"]
        return uuid

    def server(self, uuid: str) -> dict[str, Any]:
        record: dict[str, Any] = self.get(f"/servers/{uuid}")["server"]
        return record

    def act(self, uuid: str, action: str, arguments: Mapping[str, Any] | None = None) -> None:
        self.call("POST", f"/servers/{uuid}/action", {action: arguments})

    def wait_for(self, uuids: Sequence[str], *statuses: str) -> list[dict[str, Any]]:
        what = f"{' or '.join(statuses)} of server"
        servers = [wait_until(partial(self._settled, uuid, statuses), f"{what} {uuid}") for uuid in uuids]
        for server in servers:
            if server["status"] not in statuses:
                raise ServerNotReady(
                    f"Server {server['name']} is {server['status']}, not {' or '.join(statuses)}: {server.get('fault')}"
                )
        return servers

    @tenacity.retry(
        retry=tenacity.retry_if_exception_type(requests.ConnectionError),
        wait=tenacity.wait_fixed(POLL),
        stop=tenacity.stop_after_attempt(DELETE_ATTEMPTS),
        reraise=True,
    )
    def delete(self, path: str) -> None:
        """Delete a resource. A call that is repeated after a broken connection may find it deleted."""
        try:
            self.call("DELETE", path)
        except CallFailed as why:
            if why.status != NOT_FOUND:
                raise

    def _settled(self, uuid: str, statuses: Sequence[str]) -> dict[str, Any] | None:
        """Return the server once it will no longer change by itself."""
        server = self.server(uuid)
        is_expected = server["status"] in (*statuses, "ERROR") and server["OS-EXT-STS:task_state"] is None
        return server if is_expected else None
