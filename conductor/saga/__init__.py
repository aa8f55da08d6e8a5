# SPDX-License-Identifier: Apache-2.0
"""The build saga: the steps that the lease holder executes for a request."""
