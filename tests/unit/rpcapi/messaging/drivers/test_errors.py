# SPDX-License-Identifier: Apache-2.0
"""Errors of the embedded bus."""

import inspect
import sys

import pytest
from oslo_messaging._drivers import base, common

from rpcapi.messaging.drivers import errors

CLASSES = [item for _, item in inspect.getmembers(errors, inspect.isclass) if item.__module__ == errors.__name__]


@pytest.mark.parametrize("error", CLASSES)
def test_error_is_a_driver_error_and_documented(error: type[Exception]) -> None:
    assert issubclass(error, base.TransportDriverError)
    assert (error.__doc__ or "").startswith("Raised when ")


def test_unsupported_notification_is_not_implemented() -> None:
    assert issubclass(errors.NotificationsUnsupported, NotImplementedError)


def test_error_of_a_server_has_its_type_at_the_caller() -> None:
    try:
        raise errors.MessageTooLarge("20 MB")
    except errors.MessageTooLarge:
        text = common.serialize_remote_exception(sys.exc_info())
    with pytest.raises(errors.MessageTooLarge, match="20 MB"):
        raise common.deserialize_remote_exception(text, errors.REMOTE_EXMODS)
