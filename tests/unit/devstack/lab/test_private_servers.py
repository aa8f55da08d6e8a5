# SPDX-License-Identifier: Apache-2.0
"""The private Redis of a measurement."""

import pytest

from devstack.lab import private_servers


def test_server_and_folder_are_removed_after_an_error():
    with pytest.raises(KeyError), private_servers.running_redis("no") as server:
        assert server.client().ping()
        raise KeyError
    assert server.pid is None
    assert not server.folder.exists()
