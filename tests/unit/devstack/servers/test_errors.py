# SPDX-License-Identifier: Apache-2.0
"""Errors of private servers and of folders."""

import inspect

import pytest

from devstack.deploy.users import errors as folder_errors
from devstack.servers import errors as server_errors

CLASSES = [
    item
    for module in (server_errors, folder_errors)
    for _, item in inspect.getmembers(module, inspect.isclass)
    if item.__module__ == module.__name__
]


@pytest.mark.parametrize("error", CLASSES)
def test_commands_that_catch_the_base_catch_all(error):
    assert issubclass(error, folder_errors.DevstackError)
    assert error.__doc__.startswith("Raised ")
