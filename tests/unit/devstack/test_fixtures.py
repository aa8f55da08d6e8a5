# SPDX-License-Identifier: Apache-2.0
"""A missing server skips tests with a message on a developer's machine and fails them in CI."""

import pytest

from devstack.servers.errors import BinaryMissing
from tests.support.servers import missing

WHY = BinaryMissing("No redis-server was found: install it.")


def test_missing_server_skips_with_a_message(monkeypatch):
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match=r"A SERVER IS MISSING: No redis-server was found"):
        missing(WHY)


def test_missing_server_fails_in_ci(monkeypatch):
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="A SERVER IS MISSING"):
        missing(WHY)


def test_new_configuration_has_no_other_options(conf, request):
    assert conf.project == "gantt"
    assert conf.config_file == []
    assert not [name for name in conf if name not in ("config_file", "config_dir", "config_source", "shell_completion")]
