# SPDX-License-Identifier: Apache-2.0
"""Fake of Glance: images without data."""

import uuid
from typing import Any

from devstack.nova.fakes.messages import NOT_FOUND, Reply, ServiceCall, versions

# Two images, so that tests can rebuild a server with a different one.
IMAGES = {"cirros": "7a1c3f6e-0000-4000-8000-000000000001", "debian": "7a1c3f6e-0000-4000-8000-000000000002"}
CREATED = "2020-01-01T00:00:00Z"


class FakeGlance:
    def __init__(self) -> None:
        self._images = {identity: _image(identity, {"name": name}) for name, identity in IMAGES.items()}

    def answer(self, call: ServiceCall) -> Reply:
        match (call.method, call.parts):
            case ("GET", [] | ["versions"]):
                return Reply(300, {"versions": [versions("v2.9", f"{call.base}/v2/")]})
            case ("GET", ["v2", "schemas", "image"]):
                return Reply(200, _schema())
            case ("GET", ["v2", "images"]):
                return Reply(200, {"images": list(self._images.values()), "schema": "", "first": "/v2/images"})
            case ("POST", ["v2", "images"]):
                image = _image(call.body.get("id") or str(uuid.uuid4()), call.body)
                self._images[image["id"]] = image
                return Reply(201, image)
            case (method, ["v2", "images", identity, *tail]) if identity in self._images:
                return self._of_image(method, identity, tail)
        return NOT_FOUND

    def _of_image(self, method: str, identity: str, tail: list[str]) -> Reply:
        match (method, tail):
            case ("GET", []):
                return Reply(200, self._images[identity])
            case ("DELETE", []):
                del self._images[identity]
                return Reply(204)
            case ("PUT", ["file"]):
                return Reply(204)
            case ("GET", ["members"]):
                return Reply(200, {"members": []})
        return NOT_FOUND


def _schema() -> dict[str, Any]:
    properties: dict[str, Any] = {name: {} for name in _image("", {"name": ""})}
    return {"name": "image", "properties": properties, "additionalProperties": {"type": "string"}}


def _image(identity: str, properties: dict[str, Any]) -> dict[str, Any]:
    image = {
        "id": identity,
        "status": "active",
        "visibility": "public",
        "protected": False,
        "size": 1024,
        "checksum": "0" * 32,
        "container_format": "bare",
        "disk_format": "raw",
        "min_ram": 0,
        "min_disk": 0,
        "created_at": CREATED,
        "updated_at": CREATED,
        "owner": "demo",
        "tags": [],
        "self": f"/v2/images/{identity}",
        "file": f"/v2/images/{identity}/file",
        "schema": "/v2/schemas/image",
    }
    return {**image, **properties}
