# SPDX-License-Identifier: Apache-2.0
"""Console scripts of the scheduler service."""
