# SPDX-License-Identifier: Apache-2.0
"""ACL users of Redis."""

import hashlib
import re
from types import SimpleNamespace

import pytest

from devstack.deploy.users.redis_users import (
    ADMIN,
    BRIDGE_NAMESPACES,
    CONDUCTOR,
    KEYS_WITHOUT_PLACEMENT,
    NOVA_BRIDGE,
    PLACEMENT,
    SCHEDULER,
    AclSelector,
    RedisUser,
    acl_file,
)
from scheduler_svc.store.redis.scripts import load, script_keys

# The verbs of the API, of imports, of a replica, and of one that repeats what a failover forgot.
PLACEMENT_SCRIPTS = (*("allocate", "begin", "commit", "expire", "hosts", "identity", "retire", "state"),)


def test_line_resets_everything_and_has_only_a_digest_of_the_password():
    digest = hashlib.sha256(b"word").hexdigest()
    user = RedisUser("u", ("a:*", "b"), ("+get",), ("c",))
    assert user.line("word") == f"user u on #{digest} resetkeys ~a:* ~b resetchannels &c -@all +get"


def test_selector_limits_commands_to_its_keys():
    user = RedisUser("u", (), ("+ping",), selectors=(AclSelector(("a:*", "b"), ("+lpush",)),))
    assert user.line("word").endswith(" resetkeys resetchannels -@all +ping (-@all +lpush ~a:* ~b)")


def test_default_user_cannot_log_in():
    text = acl_file([SCHEDULER], SimpleNamespace(of=lambda name: "word"))
    first, second, last = text.split("\n")
    assert first.startswith("user default off resetpass")
    assert (second.split()[1], last) == ("scheduler", "")
    assert "word" not in text


@pytest.mark.parametrize("user", [SCHEDULER, PLACEMENT, NOVA_BRIDGE, CONDUCTOR])
def test_services_get_no_dangerous_command(user):
    assert "-@dangerous" in user.commands or not [rule for rule in user.commands if rule.startswith("+@")]
    assert not {"+@all", "+@admin", "+flushall", "+config", "+keys"} & set(user.commands)
    assert "+@all" in ADMIN.commands


def test_services_share_no_keys():
    assert SCHEDULER.keys == ("gantt:{p:*",)
    assert CONDUCTOR.keys == ("gantt:{conductor}:*",)


@pytest.mark.parametrize("name", PLACEMENT_SCRIPTS)
def test_placement_may_run_the_scripts_of_its_verbs(name):
    script = load(name)
    commands = {f"+{command.lower()}" for command in re.findall(r"redis\.p?call\('(\w+)'", script.text)}
    keys = [key.replace("{p:p}", "{p:*}") for key in script_keys(script, "p", "*")]

    assert commands, "the script's commands are not found"
    assert commands <= set(PLACEMENT.commands)
    assert set(keys) <= set(PLACEMENT.keys)


def test_placement_has_no_key_that_its_verbs_do_not_need():
    words = {word for name in PLACEMENT_SCRIPTS for word in load(name).words}

    assert not words & KEYS_WITHOUT_PLACEMENT
    assert {key.removeprefix("gantt:{p:*}:").partition(":")[0] for key in PLACEMENT.keys} == words


@pytest.mark.parametrize("name", ["identity", "state", "clock"])
def test_bridge_to_nova_may_run_the_scripts_of_its_verbs(name):
    (scripts,) = [selector for selector in NOVA_BRIDGE.selectors if "+evalsha" in selector.commands]
    keys = {
        key.replace("{p:p}", "{p:*}")
        for namespace in BRIDGE_NAMESPACES
        for key in script_keys(load(name), "p", namespace)
    }
    assert keys <= set(scripts.keys)


def test_bridge_to_nova_changes_no_claim():
    changing = [NOVA_BRIDGE, *(selector for selector in NOVA_BRIDGE.selectors if "+evalsha" not in selector.commands)]
    words = {key.removeprefix("gantt:{p:*}:") for part in changing for key in part.keys}
    assert not words & {"claims", "used", "providers", "ended", "groups", "holders"}
