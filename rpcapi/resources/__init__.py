# SPDX-License-Identifier: Apache-2.0
"""Resource arithmetic that scheduler and agent share."""
