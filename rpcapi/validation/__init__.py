# SPDX-License-Identifier: Apache-2.0
"""Checks of the parts of a request; rpcapi.objects.request_validation applies them."""
