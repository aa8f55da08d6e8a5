# SPDX-License-Identifier: Apache-2.0
"""Fake of Neutron: networks and ports without agents. Ports keep the fields that clients write."""

import threading
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from devstack.nova.fakes.messages import NOT_FOUND, Reply, ServiceCall, versions

EXTENSIONS = ("port-resource-request", "binding", "binding-extended")
NETWORK = "7a1c3f6e-0000-4000-8000-000000000010"
SUBNET = "7a1c3f6e-0000-4000-8000-000000000011"
CIDR, GATEWAY = "192.0.2.0/24", "192.0.2.1"

Record = dict[str, Any]


class FakeNeutron:
    """Records by collection and id: ``networks``, ``subnets``, ``ports`` and any other collection."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._addresses = 1
        network = {"id": NETWORK, "name": "private", "status": "ACTIVE", "admin_state_up": True, "shared": True}
        network |= {
            "subnets": [SUBNET],
            "mtu": 1500,
            "router:external": False,
            "tenant_id": "demo",
            "project_id": "demo",
        }
        network |= {
            "provider:physical_network": "physnet0",
            "provider:network_type": "vlan",
            "port_security_enabled": True,
        }
        subnet = {"id": SUBNET, "name": "private", "network_id": NETWORK, "cidr": CIDR, "ip_version": 4}
        subnet |= {"gateway_ip": GATEWAY, "enable_dhcp": False, "dns_nameservers": [], "host_routes": []}
        self._records: dict[str, dict[str, Record]] = {"networks": {NETWORK: network}, "subnets": {SUBNET: subnet}}

    def answer(self, call: ServiceCall) -> Reply:
        with self._lock:
            match (call.method, call.parts):
                case ("GET", []):
                    return Reply(200, {"versions": [versions("v2.0", f"{call.base}/v2.0")]})
                case ("GET", ["v2.0", "extensions"]):
                    return Reply(200, {"extensions": [{"alias": name, "name": name} for name in EXTENSIONS]})
                case ("GET", ["v2.0", "quotas", _]):
                    return Reply(200, {"quota": {"port": -1}})
                case (method, ["v2.0", collection]):
                    return self._collection(method, collection.replace("-", "_"), call)
                case (method, ["v2.0", collection, identity]):
                    return self._record(method, collection.replace("-", "_"), identity, call)
        return NOT_FOUND

    def _collection(self, method: str, collection: str, call: ServiceCall) -> Reply:
        records = self._records.setdefault(collection, {})
        if method == "GET":
            return Reply(200, {collection: [record for record in records.values() if _matches(record, call.query)]})
        if method == "POST":
            record = self._complete(collection, {"id": str(uuid.uuid4()), **call.body[_singular(collection)]})
            records[record["id"]] = record
            return Reply(201, {_singular(collection): record})
        return NOT_FOUND

    def _record(self, method: str, collection: str, identity: str, call: ServiceCall) -> Reply:
        records = self._records.setdefault(collection, {})
        if identity not in records:
            return NOT_FOUND
        if method == "DELETE":
            del records[identity]
            return Reply(204)
        if method == "PUT":
            records[identity] |= call.body[_singular(collection)]
        return Reply(200, {_singular(collection): records[identity]})

    def _complete(self, collection: str, record: Record) -> Record:
        if collection != "ports":
            return record
        self._addresses += 1
        number = self._addresses
        defaults: Record = {
            "name": "",
            "status": "ACTIVE",
            "admin_state_up": True,
            "tenant_id": "demo",
            "project_id": "demo",
            "device_id": "",
            "device_owner": "",
            "mac_address": f"fa:16:3e:00:{number // 256:02x}:{number % 256:02x}",
            "fixed_ips": [{"subnet_id": SUBNET, "ip_address": f"192.0.2.{number % 250 + 2}"}],
            "security_groups": [],
            "binding:vnic_type": "normal",
            "binding:vif_type": "ovs",
            "binding:vif_details": {},
            "binding:profile": {},
            "binding:host_id": "",
            "resource_request": None,
            "port_security_enabled": True,
        }
        return {**defaults, **record}


def _singular(collection: str) -> str:
    return collection[:-1]


def _matches(record: Mapping[str, Any], query: Mapping[str, Sequence[str]]) -> bool:
    return all(str(record[name]) in values for name, values in query.items() if name in record and name != "fields")
