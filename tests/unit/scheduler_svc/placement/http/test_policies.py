# SPDX-License-Identifier: Apache-2.0
"""Rules of the policy, their defaults and the operator's file."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.placement.http.messages import ApiUser
from scheduler_svc.placement.http.policies import Policies
from scheduler_svc.placement.model.problems import Problem

RULE = "resource_providers:list"


@pytest.fixture
def conf(tmp_path):
    conf = cfg.ConfigOpts()
    conf([])
    Policies(conf)  # registers the options
    conf.set_override("policy_file", str(tmp_path / "policy.yaml"), group="oslo_policy")
    return conf


def allows(policies, *roles, rule=RULE, system_scope=None, of_project=None):
    project = None if system_scope else "p"
    try:
        policies.check(rule, ApiUser("u", project, roles, system_scope), of_project)
    except Problem as problem:
        assert problem.status == 403
        return False
    return True


def test_default_allows_administrators(conf):
    policies = Policies(conf)
    assert allows(policies, "admin")
    assert not allows(policies, "member", "reader")
    assert not allows(policies)


@pytest.mark.parametrize("new_defaults", [True, False])
def test_services_are_allowed_by_old_and_new_defaults(conf, new_defaults):
    conf.set_override("enforce_new_defaults", new_defaults, group="oslo_policy")
    policies = Policies(conf)
    assert allows(policies, "admin")
    assert allows(policies, "service")
    assert not allows(policies, "member")


@pytest.mark.parametrize("new_defaults", [True, False])
def test_administrators_of_the_system_are_refused(conf, new_defaults):
    conf.set_override("enforce_new_defaults", new_defaults, group="oslo_policy")
    policies = Policies(conf)
    assert allows(policies, "admin")
    assert not allows(policies, "admin", system_scope="all")


@pytest.mark.parametrize("new_defaults", [True, False])
def test_new_defaults_reserve_reshaping_for_services(conf, new_defaults):
    conf.set_override("enforce_new_defaults", new_defaults, group="oslo_policy")
    policies = Policies(conf)
    assert allows(policies, "service", rule="reshaper:reshape")
    assert allows(policies, "admin", rule="reshaper:reshape") is not new_defaults


@pytest.mark.parametrize("new_defaults", [True, False])
def test_readers_see_the_usages_of_their_own_project(conf, new_defaults):
    conf.set_override("enforce_new_defaults", new_defaults, group="oslo_policy")
    policies = Policies(conf)
    assert allows(policies, "reader", rule="usages", of_project="p")
    assert not allows(policies, "reader", rule="usages", of_project="q")
    assert not allows(policies, "member", rule="usages", of_project="p")


def test_former_rule_in_a_file_holds_beside_the_new_defaults(conf, tmp_path):
    (tmp_path / "policy.yaml").write_text('"admin_api": "role:operator"\n')
    with pytest.warns(UserWarning, match='"admin_api":"role:admin" was deprecated'):
        policies = Policies(conf)
    assert allows(policies, "operator")
    assert not allows(policies, "member")


def test_file_changes_a_rule_at_reload(conf, tmp_path):
    policies = Policies(conf)
    (tmp_path / "policy.yaml").write_text('"placement:resource_providers:list": "role:reader"\n')
    assert not allows(policies, "reader")
    policies.reload()
    assert allows(policies, "reader")
    assert not allows(policies, "member")


def test_malformed_file_keeps_the_former_rules(conf, tmp_path):
    policies = Policies(conf)
    (tmp_path / "policy.yaml").write_text('"placement:resource_providers:list": "role:reader\n')
    with pytest.raises(errors.BadConfiguration, match="policy_file"):
        policies.reload()
    assert allows(policies, "admin")
