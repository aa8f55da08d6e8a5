# SPDX-License-Identifier: Apache-2.0
"""Declared namespaces, and invalid declarations."""

import json

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import namespaces

RACK = {"type": "object", "properties": {"watts": {"$ref": "#/$defs/amount"}}, "$defs": {"amount": {"minimum": 0}}}


def declare(conf, names, **options):
    scheduler_conf.register_opts(conf)
    conf.set_override("namespaces", names, group="scheduler")
    for group in {f"namespace:{name}" for name in names}:
        conf.register_opts(namespaces.OPTS, group=group)
        for name, value in options.items():
            conf.set_override(name, value, group=group)
    return conf


def test_declared_namespaces_are_added_to_built_in_ones(conf, tmp_path):
    path = tmp_path / "rack.json"
    path.write_text(json.dumps(RACK))
    registry = namespaces.load(declare(conf, ["rack"], writer="rackd", schema=str(path)))
    built_in = (
        *("aggregate", "volume", "network", "trait", "resource_class", "placement", "flavor", "image", "server_group"),
        *("compute_node", "nova_bridge"),
    )
    assert registry.stored_names == (*built_in, "rack")
    assert registry.find("rack").writer == "rackd"
    with pytest.raises(errors.InvalidHostState, match="watts"):
        registry.find("rack").check_document("h1", {"watts": -1})


def test_any_object_is_valid_without_schema(conf):
    namespaces.load(declare(conf, ["rack"], writer="rackd")).find("rack").check_document("h1", {"any": [1]})


@pytest.mark.parametrize(
    ("names", "content", "why"),
    [
        (["rack", "rack"], "{}", "duplicate name"),
        (["compute"], "{}", "namespace 'compute' is built in"),
        (["Rack!"], "{}", "is not a valid namespace"),
        (["rack"], "{", r"\[namespace:rack\] schema '.*' is invalid: Expecting"),
        (["rack"], "[]", "is not a JSON object"),
        (["rack"], '{"type": 7}', "not a JSON Schema"),
        (["rack"], '"' + "x" * namespaces.MAX_SCHEMA + '"', "more than"),
        (["rack"], None, "No such file"),
    ],
)
def test_invalid_declaration_is_a_bad_configuration(conf, tmp_path, names, content, why):
    path = tmp_path / "rack.json"
    if content is not None:
        path.write_text(content)
    declare(conf, names, writer="rackd", schema=str(path))
    with pytest.raises(errors.BadConfiguration, match=why):
        namespaces.check(conf)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("rack", r"\[namespace:rack\] writer is missing"),
        ("compute", "namespace 'compute' is built in"),  # a writer would not help
    ],
)
def test_namespace_without_writer_is_a_bad_configuration(conf, name, why):
    with pytest.raises(errors.BadConfiguration, match=why):
        namespaces.check(declare(conf, [name]))
