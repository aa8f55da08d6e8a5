# SPDX-License-Identifier: Apache-2.0
"""Writer and schema of namespaces, and invalid declarations."""

import json

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import namespaces
from scheduler_svc.core.namespaces.namespace import Namespace
from scheduler_svc.core.namespaces.registry import NamespaceRegistry

RACK = {"type": "object", "properties": {"watts": {"$ref": "#/$defs/amount"}}, "$defs": {"amount": {"minimum": 0}}}


def test_valid_document_passes():
    Namespace("rack", "rackd", RACK).check_document("h1", {"watts": 5})


def test_schema_error_names_document_path_and_reason_only():
    declared = Namespace("rack", "rackd", {"properties": {"a": {"properties": {"b": {"type": "integer"}}}}})
    with pytest.raises(errors.InvalidHostState) as caught:
        declared.check_document("h1", {"a": {"b": "x" * 5000}})
    raised = caught.value.sentence
    assert raised.startswith("Host state of 'h1' in namespace 'rack' is refused: a.b: 'xxx")
    assert raised.endswith("is not of type 'integer'")
    assert len(raised) < 300


def test_endlessly_recursive_schema_is_refused():
    with pytest.raises(errors.InvalidHostState, match="nested too deeply"):
        Namespace("rack", "rackd", {"$ref": "#"}).check_document("h1", {})


def test_only_the_declared_writer_may_write():
    Namespace("rack", "rackd", RACK).check_writer("rackd")
    with pytest.raises(errors.WriterRefused, match="its writer is 'rackd'"):
        Namespace("rack", "rackd", RACK).check_writer("gantt")


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "thing"}, "not a JSON Schema"),
        ({"$ref": "https://example.org/schema.json"}, "only references within the same file"),
        ({"properties": {"a": {"$ref": "#/$defs/nowhere"}}}, "cannot be resolved"),
    ],
)
def test_invalid_schema_is_rejected_at_declaration(schema, why):
    with pytest.raises(ValueError, match=why):
        Namespace("rack", "rackd", schema)


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
    ],
)
def test_the_built_in_schemas(namespace, document, fits):
    declared = NamespaceRegistry().find(namespace)
    if fits:
        declared.check_document("x", document)
    else:
        with pytest.raises(errors.InvalidHostState):
            declared.check_document("x", document)


def test_unknown_namespace_error_lists_known_namespaces():
    with pytest.raises(errors.UnknownNamespace, match="declared: compute, service, aggregate, volume, network"):
        NamespaceRegistry().find("weather")


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
    assert registry.stored_names == ("aggregate", "volume", "network", "rack")
    assert registry.find("rack").writer == "rackd"
    with pytest.raises(errors.InvalidHostState, match="watts"):
        registry.find("rack").check_document("h1", {"watts": -1})


def test_any_object_is_valid_without_schema(conf):
    namespaces.load(declare(conf, ["rack"], writer="rackd")).find("rack").check_document("h1", {"any": [1]})


@pytest.mark.parametrize(
    ("names", "content", "why"),
    [
        (["rack", "rack"], "{}", "name is repeated"),
        (["compute"], "{}", "namespace 'compute' is built in"),
        (["Rack!"], "{}", "is not a valid namespace"),
        (["rack"], "{", r"\[namespace:rack\] schema '.*' is invalid: Expecting"),
        (["rack"], "[]", "does not hold a JSON object"),
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
