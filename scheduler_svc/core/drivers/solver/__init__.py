# SPDX-License-Identifier: Apache-2.0
"""Driver that places a batch of requests together, as a mixed integer program."""
