# SPDX-License-Identifier: Apache-2.0
"""Fake of Keystone that accepts any user as administrator; tokens are ``user:project``, so it has no state."""

from collections.abc import Mapping
from typing import Any

from devstack.nova.fakes.messages import NOT_FOUND, Reply, ServiceCall, versions

DOMAIN = {"id": "default", "name": "Default"}
ROLES = [{"id": name, "name": name} for name in ("admin", "manager", "member", "reader", "service")]
EXPIRES, ISSUED = "2100-01-01T00:00:00.000000Z", "2020-01-01T00:00:00.000000Z"
DEFAULT_USER = "admin"
DEFAULT_PROJECT = "demo"


class FakeKeystone:
    """Issuer and validator of tokens; ``catalogue`` maps service types to URLs."""

    def __init__(self, catalogue: Mapping[str, str]) -> None:
        self._catalogue = catalogue

    def answer(self, call: ServiceCall) -> Reply:
        version = {**versions("v3.14", f"{call.base}/v3/"), "status": "stable"}
        match (call.method, call.parts):
            case ("GET", []):
                return Reply(300, {"versions": {"values": [version]}})
            case ("GET", ["v3"]):
                return Reply(200, {"version": version})
            case ("POST", ["v3", "auth", "tokens"]):
                token = _requested_token(call.body["auth"])
                return Reply(201, self._document(token), {"X-Subject-Token": token})
            case ("GET", ["v3", "auth", "tokens"]):
                token = call.headers.get("X-Subject-Token", "")
                return Reply(200, self._document(token), {"X-Subject-Token": token})
            case ("GET", ["v3", "projects", project]):
                return Reply(200, {"project": {"id": project, "name": project, "domain_id": DOMAIN["id"]}})
        return NOT_FOUND

    def _document(self, token: str) -> dict[str, Any]:
        user, _, project = token.partition(":")
        project = project or DEFAULT_PROJECT
        return {
            "token": {
                "methods": ["password"],
                "user": {"id": user, "name": user, "domain": DOMAIN, "password_expires_at": None},
                "project": {"id": project, "name": project, "domain": DOMAIN},
                "is_domain": False,
                "roles": ROLES,
                "catalog": [_service(kind, url) for kind, url in self._catalogue.items()],
                "expires_at": EXPIRES,
                "issued_at": ISSUED,
                "audit_ids": ["1"],
            }
        }


def _requested_token(auth: Mapping[str, Any]) -> str:
    user = auth["identity"].get("password", {}).get("user", {})
    project = auth.get("scope", {}).get("project", {}) if isinstance(auth.get("scope"), dict) else {}
    return f"{_name(user) or DEFAULT_USER}:{_name(project) or DEFAULT_PROJECT}"


def _name(entity: Mapping[str, Any]) -> str | None:
    return entity.get("name") or entity.get("id")


def _service(kind: str, url: str) -> dict[str, Any]:
    endpoints = [
        {
            "id": f"{kind}-{interface}",
            "interface": interface,
            "region": "RegionOne",
            "region_id": "RegionOne",
            "url": url,
        }
        for interface in ("public", "internal", "admin")
    ]
    return {"id": kind, "type": kind, "name": kind, "endpoints": endpoints}
