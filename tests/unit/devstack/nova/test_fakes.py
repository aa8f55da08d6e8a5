# SPDX-License-Identifier: Apache-2.0
"""The fakes of Keystone, Glance and Neutron answer what Nova asks."""

import threading
from collections.abc import Iterator

import pytest
import requests
from keystoneauth1 import session as keystone_session
from keystoneauth1.identity import v3

from devstack.nova.fakes.__main__ import FakeServer, services
from devstack.nova.fakes.glance import IMAGES
from devstack.nova.fakes.neutron import NETWORK
from devstack.servers.ports import free_port


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a running server of fakes."""
    port = free_port()
    server = FakeServer(port, services(port, compute="http://nova", placement="http://placement"))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _session(url: str) -> keystone_session.Session:
    names = {"username": "ada", "password": "any", "project_name": "lab"}
    return keystone_session.Session(
        v3.Password(f"{url}/identity/v3", user_domain_id="default", project_domain_id="default", **names)
    )


def test_keystone_issues_a_token_that_names_user_and_project(url: str) -> None:
    session = _session(url)
    assert session.get_token() == "ada:lab"
    assert session.get_endpoint(service_type="placement", interface="internal") == "http://placement"


def test_keystone_validates_any_token(url: str) -> None:
    headers = {"X-Auth-Token": "nova:service", "X-Subject-Token": "ada:lab"}
    answer = requests.get(f"{url}/identity/v3/auth/tokens", headers=headers, timeout=30).json()["token"]
    assert (answer["user"]["id"], answer["project"]["id"]) == ("ada", "lab")
    assert "admin" in {role["name"] for role in answer["roles"]}


def test_glance_lists_images_whose_fields_its_schema_names(url: str) -> None:
    images = requests.get(f"{url}/image/v2/images", timeout=30).json()["images"]
    assert {image["id"] for image in images} == set(IMAGES.values())
    schema = requests.get(f"{url}/image/v2/schemas/image", timeout=30).json()
    assert set(images[0]) <= set(schema["properties"])


def test_glance_stores_a_snapshot(url: str) -> None:
    image = requests.post(f"{url}/image/v2/images", json={"name": "snapshot"}, timeout=30).json()
    path = f"{url}/image/v2/images/{image['id']}"
    assert requests.get(path, timeout=30).json()["name"] == "snapshot"
    assert requests.delete(path, timeout=30).status_code == 204
    assert requests.get(path, timeout=30).status_code == 404


def test_neutron_finds_ports_by_their_fields(url: str) -> None:
    ports = f"{url}/network/v2.0/ports"
    for device in ("one", "other"):
        requests.post(ports, json={"port": {"network_id": NETWORK, "device_id": device}}, timeout=30)
    (port,) = requests.get(ports, params={"device_id": "one", "fields": "id"}, timeout=30).json()["ports"]
    assert port["device_id"] == "one"
    path = f"{ports}/{port['id']}"
    requests.put(path, json={"port": {"device_id": ""}}, timeout=30)
    assert requests.get(path, timeout=30).json()["port"]["device_id"] == ""
    assert requests.get(ports, params={"device_id": "one"}, timeout=30).json()["ports"] == []


@pytest.mark.parametrize(
    "path", ["/", "/volume/v3", "/identity/v3/regions", "/image/v2/tasks", "/network/v2.0/ports/x"]
)
def test_unknown_path_is_answered_404(url: str, path: str) -> None:
    assert requests.get(url + path, timeout=30).status_code == 404
