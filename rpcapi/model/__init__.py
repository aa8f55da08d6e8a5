# SPDX-License-Identifier: Apache-2.0
"""Resource arithmetic and vocabulary shared by the scheduler workers, the claim store and the agents."""
