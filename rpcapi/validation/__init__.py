# SPDX-License-Identifier: Apache-2.0
"""Rules for the values of a request, from which rpcapi.objects.request_schema is built."""
