# SPDX-License-Identifier: Apache-2.0
"""What is asked of each part of a request spec: one module a part, put together by rpcapi.model.request."""
