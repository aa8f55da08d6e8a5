# SPDX-License-Identifier: Apache-2.0
"""Usages: the sums of what consumers hold."""

from scheduler_svc.endpoints.placement.messages import Request, Response, json_response
from scheduler_svc.endpoints.placement.routes import Route
from scheduler_svc.placement.directory import ProviderDirectory


class UsageHandlers:
    """Shows the usage of a provider."""

    def __init__(self, directory: ProviderDirectory) -> None:
        self._directory = directory

    def routes(self) -> list[Route]:
        """Return the routes of usages."""
        path = "/resource_providers/{uuid}/usages"
        return [Route("GET", path, self.show, "resource_providers:usages", gives_json=True)]

    def show(self, _request: Request, uuid: str) -> Response:
        """Return the sums of live claims at a provider, by each resource class of its inventory."""
        provider = self._directory.get(uuid)
        usages = {name: provider.used.get(name, 0) for name in provider.inventories}
        return json_response({"resource_provider_generation": provider.generation, "usages": usages}, provider.modified)
