# SPDX-License-Identifier: Apache-2.0
"""The commands for Keystone's catalogue."""

import shlex
import sys

import pytest

from scheduler_svc.cmd import catalogue, placement


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["gantt-placement", "catalogue", *arguments])
    assert placement.main() == 0
    return [shlex.split(line) for line in capsys.readouterr().out.splitlines()]


def endpoint(region, interface, url):
    return ["openstack", "endpoint", "create", "--region", region, "placement", interface, url]


def test_one_url_serves_all_interfaces(capsys, monkeypatch):
    service, *endpoints = run(capsys, monkeypatch, "https://cloud.example.org/placement/")

    assert service[:5] == ["openstack", "service", "create", "--name", "placement"]
    assert service[-1] == "placement"
    assert endpoints == [
        endpoint("RegionOne", interface, "https://cloud.example.org/placement")
        for interface in ("public", "internal", "admin")
    ]


def test_each_interface_may_have_its_own_url_and_the_region_a_name_with_blanks(capsys, monkeypatch):
    options = ["--internal-url", "http://10.0.0.1:8778", "--admin-url", "http://10.0.0.2", "--region", "my region"]

    _service, *endpoints = run(capsys, monkeypatch, "https://cloud.example.org", *options)

    assert endpoints == [
        endpoint("my region", "public", "https://cloud.example.org"),
        endpoint("my region", "internal", "http://10.0.0.1:8778"),
        endpoint("my region", "admin", "http://10.0.0.2"),
    ]


def test_admin_interface_is_internal_by_default(capsys, monkeypatch):
    *_others, admin = run(capsys, monkeypatch, "https://cloud.example.org", "--internal-url", "http://10.0.0.1")

    assert admin == endpoint("RegionOne", "admin", "http://10.0.0.1")


@pytest.mark.parametrize(
    "url", ["", "cloud.example.org", "ftp://cloud.example.org", "http://", "http://a:b", "http://a:0"]
)
def test_what_is_no_url_is_refused(capsys, url):
    with pytest.raises(SystemExit) as refused:
        catalogue.main([url])

    assert refused.value.code == 2
    assert "is not an http or https URL with a host" in capsys.readouterr().err
