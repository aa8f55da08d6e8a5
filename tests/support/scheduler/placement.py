# SPDX-License-Identifier: Apache-2.0
"""The Placement API over a store, called without a server."""

import io
import json
from typing import Any, NamedTuple

from oslo_config import cfg

from scheduler_svc.composition.placement_service import build_model
from scheduler_svc.placement.http.application import PlacementApplication
from scheduler_svc.placement.http.authentication import trust_tokens
from scheduler_svc.placement.http.policies import Policies
from scheduler_svc.placement.model.candidates.finder import DEFAULT_LIMITS, SearchLimits
from scheduler_svc.replication.partitions import OpenPartition
from scheduler_svc.store.interface import Store
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler.deployments import SteppedReplica

LATEST = "1.39"
NAMESPACES = ("trait", "resource_class", "aggregate")


class Answer(NamedTuple):
    """A response; the names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The only error in the body."""
        errors: list[dict[str, Any]] = self.json["errors"]
        (error,) = errors
        return error


class PlacementApi:
    """The WSGI application of one process. ``store`` may be changed directly: reads see it at once."""

    def __init__(self, store: Store | None = None, limits: SearchLimits = DEFAULT_LIMITS) -> None:
        """By default the store is one in memory."""
        self.store: Any = store or MemoryStore("default", namespaces=NAMESPACES)
        replica = SteppedReplica(self.store)
        replica.load()
        conf = cfg.ConfigOpts()
        conf([])
        model = build_model(OpenPartition(self.store, replica), ("unknown", "unknown"), limits)
        self.application = PlacementApplication(model, Policies(conf))

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        version: str | None = LATEST,
        user: str | None = "admin",
        raw: bytes | None = None,
        **environ: Any,
    ) -> Answer:
        """Send a request; ``body`` is sent as JSON, ``raw`` as it is; ``environ`` has further WSGI variables."""
        path, _, query = path.partition("?")
        request: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path.encode().decode("latin-1"),
            "QUERY_STRING": query,
            "HTTP_HOST": "placement.example",
            "wsgi.url_scheme": "http",
        }
        if version is not None:
            request["HTTP_OPENSTACK_API_VERSION"] = f"placement {version}"
        if user is not None:
            request["HTTP_X_AUTH_TOKEN"] = user
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        if content:
            request |= {"CONTENT_LENGTH": str(len(content)), "CONTENT_TYPE": "application/json"}
        request["wsgi.input"] = io.BytesIO(content)
        received: dict[str, Any] = {}

        def start_response(status: str, headers: list[tuple[str, str]], *_: Any) -> None:
            received["status"] = int(status.partition(" ")[0])
            received["headers"] = {name.lower(): value for name, value in headers}

        chunks = trust_tokens(self.application)(request | environ, start_response)
        return Answer(received["status"], received["headers"], b"".join(chunks))

    def create(self, name: str, parent: str | None = None) -> str:
        """Create a provider; return its UUID."""
        answer = self.call("POST", "/resource_providers", {"name": name, "parent_provider_uuid": parent})
        assert answer.status == 200, answer
        return str(answer.json["uuid"])

    def set_inventories(self, uuid: str, **totals: int) -> None:
        """Replace the inventories of a provider."""
        generation = self.call("GET", f"/resource_providers/{uuid}").json["generation"]
        inventories = {name: {"total": total} for name, total in totals.items()}
        body = {"resource_provider_generation": generation, "inventories": inventories}
        answer = self.call("PUT", f"/resource_providers/{uuid}/inventories", body)
        assert answer.status == 200, answer
