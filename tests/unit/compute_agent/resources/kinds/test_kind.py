# SPDX-License-Identifier: Apache-2.0
"""The defaults of a resource kind, as a plugin that needs only amounts gets them."""

import pytest

from compute_agent.resources.kinds.kind import AssignmentRequest, NodeProvider, ResourceKind
from compute_agent.resources.requirements import BuildRequirements


class Licences(ResourceKind):
    @classmethod
    def of_shape(cls, conf, group):
        return cls()

    def inventory(self):
        return [NodeProvider("licences")]


def request(amounts):
    return AssignmentRequest(BuildRequirements(), amounts, amounts, lambda cells=(): [])


def test_kind_concerns_guests_with_amounts_of_it():
    assert Licences().concerns(request({"licences": {"CUSTOM_LICENCE": 1}}))
    assert not Licences().concerns(request({}))


def test_kind_with_amounts_only_assigns_and_reports_nothing():
    kind = Licences()
    assert kind.assign(request({"licences": {"CUSTOM_LICENCE": 1}}), []) == {}
    assert (kind.report([{}]), kind.describe({})) == ({}, "")


@pytest.mark.parametrize("method", ["of_shape", "inventory"])
def test_kind_without_inventory_cannot_be_created(method):
    incomplete = type("Incomplete", (Licences,), {method: getattr(ResourceKind, method)})
    with pytest.raises(TypeError, match=method):
        incomplete()


def test_provider_is_below_the_node_by_default():
    provider = NodeProvider("numa0")
    assert (provider.parent, provider.inventories, provider.traits) == ("", {}, ())
