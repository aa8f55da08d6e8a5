# SPDX-License-Identifier: Apache-2.0
"""ACL users of Redis."""

import hashlib
from types import SimpleNamespace

import pytest

from devstack.servers.redis_users import ADMIN, CONDUCTOR, SCHEDULER, RedisUser, Selector, acl_file


def test_line_resets_everything_and_has_only_a_digest_of_the_password():
    digest = hashlib.sha256(b"word").hexdigest()
    user = RedisUser("u", ("a:*", "b"), ("+get",), ("c",))
    assert user.line("word") == f"user u on #{digest} resetkeys ~a:* ~b resetchannels &c -@all +get"


def test_selector_limits_commands_to_its_keys():
    user = RedisUser("u", (), ("+ping",), selectors=(Selector(("a:*", "b"), ("+lpush",)),))
    assert user.line("word").endswith(" resetkeys resetchannels -@all +ping (-@all +lpush ~a:* ~b)")


def test_default_user_cannot_log_in():
    text = acl_file([SCHEDULER], SimpleNamespace(of=lambda name: "word"))
    first, second, last = text.split("\n")
    assert first.startswith("user default off resetpass")
    assert (second.split()[1], last) == ("scheduler", "")
    assert "word" not in text


@pytest.mark.parametrize("user", [SCHEDULER, CONDUCTOR])
def test_services_get_no_dangerous_command(user):
    assert "-@dangerous" in user.commands
    assert not {"+@all", "+@admin", "+flushall", "+config", "+keys"} & set(user.commands)
    assert "+@all" in ADMIN.commands


def test_services_share_no_keys():
    assert SCHEDULER.keys == ("gantt:{p:*",)
    assert CONDUCTOR.keys == ("gantt:{conductor}:*",)
