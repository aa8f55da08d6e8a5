# SPDX-License-Identifier: Apache-2.0
"""Rules for the values of a request; rpcapi.objects.request_schema is made of them."""
