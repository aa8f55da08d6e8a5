# SPDX-License-Identifier: Apache-2.0
"""Errors of a service or store that does not answer."""

import oslo_messaging as messaging

from rpcapi import errors

AWAY = (errors.Unavailable, messaging.MessagingTimeout)
