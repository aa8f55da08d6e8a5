# SPDX-License-Identifier: Apache-2.0
"""The errors by which a service or a store that does not answer shows."""

import oslo_messaging as messaging

from rpcapi import errors

AWAY = (errors.Unavailable, messaging.MessagingTimeout)
