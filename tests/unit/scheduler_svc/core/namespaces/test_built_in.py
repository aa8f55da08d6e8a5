# SPDX-License-Identifier: Apache-2.0
"""The namespaces that every deployment has: their writers and schemas."""

import pytest

from rpcapi import errors
from scheduler_svc.core.namespaces import built_in

NAMESPACES = {namespace.name: namespace for namespace in built_in.build()}


@pytest.mark.parametrize(
    ("namespace", "document", "fits"),
    [
        ("aggregate", {"hosts": ["h1", "h2"], "metadata": {"ssd": "true"}}, True),
        ("aggregate", {"hosts": ["h1"], "metadata": {"ssd": True}}, False),
        ("aggregate", {"metadata": {}}, False),
        ("aggregate", {"hosts": [], "colour": "red"}, False),
        ("volume", {"service_host": "v1", "total_gb": 10, "free_gb": 2.5, "vendor": "x"}, True),
        ("volume", {"service_host": "v1", "total_gb": 10, "free_gb": -1}, False),
        ("volume", {"service_host": "v1", "total_gb": 10, "free_gb": 1, "location": ["rack1"]}, False),
        ("network", {"physnets": ["a", "b"], "segments": []}, True),
        ("network", {"physnets": ["a", "a"]}, False),
        ("trait", {}, True),
        ("resource_class", {"changed_ms": 1_700_000_000_000}, True),
        ("trait", {"changed_ms": "now"}, False),
        ("resource_class", {"description": "x"}, False),
        ("placement", {"acknowledged_epoch": 0}, True),
        ("placement", {"acknowledged_epoch": -1}, False),
        ("placement", {}, False),
        ("flavor", {"name": "f", "vcpus": 1, "memory_mb": 2, "disk_gb": 0, "extra_specs": {"a": "b"}}, True),
        ("flavor", {"name": "f", "vcpus": -1, "memory_mb": 2, "disk_gb": 0}, False),
        ("flavor", {"name": "f", "vcpus": 1, "memory_mb": 2, "disk_gb": 0, "extra_specs": {"a": 1}}, False),
        ("flavor", {"name": "f", "vcpus": 1, "memory_mb": 2, "disk_gb": 0, "price": 1}, False),
        ("image", {"name": "i", "id": "7", "properties": {"hw_architecture": "x86_64"}, "min_ram_mb": 1}, True),
        ("image", {"name": "i"}, False),
        ("image", {"name": "i", "id": "7", "disk_format": None}, False),
    ],
)
def test_the_built_in_schemas(namespace, document, fits):
    declared = NAMESPACES[namespace]
    if fits:
        declared.check_document("x", document)
    else:
        with pytest.raises(errors.InvalidHostState):
            declared.check_document("x", document)


@pytest.mark.parametrize(
    ("name", "writer"),
    [
        ("compute", "gantt-compute"),
        ("service", "gantt"),
        ("aggregate", "gantt"),
        ("volume", "gantt-volume"),
        ("network", "gantt-network"),
        ("trait", "gantt-placement"),
        ("resource_class", "gantt-placement"),
        ("placement", "gantt"),
        ("flavor", "gantt"),
        ("image", "gantt"),
    ],
)
def test_namespace_has_one_writer(name, writer):
    NAMESPACES[name].check_writer(writer)
    with pytest.raises(errors.WriterRefused):
        NAMESPACES[name].check_writer("rackd")


@pytest.mark.parametrize(
    ("document", "fits"),
    [
        ({"hosts": [], "version": 3}, True),
        ({"hosts": [], "version": "1.5-b"}, True),
        ({"hosts": [], "version": -1}, False),
        ({"hosts": [], "version": ""}, False),
        ({"hosts": [], "deleted": True}, True),
        ({"hosts": [], "deleted": False}, False),
        ({"hosts": ["h1", "h1"]}, False),
        ({"hosts": [""]}, False),
    ],
)
def test_aggregate_has_a_version_and_distinct_members(document, fits):
    if fits:
        NAMESPACES["aggregate"].check_document("gold", document)
    else:
        with pytest.raises(errors.InvalidHostState, match="'gold' in namespace 'aggregate'"):
            NAMESPACES["aggregate"].check_document("gold", document)


def test_documents_that_the_store_composes_are_validated_elsewhere():
    for name in ("compute", "service"):
        NAMESPACES[name].check_document("h1", {"anything": [1]})
