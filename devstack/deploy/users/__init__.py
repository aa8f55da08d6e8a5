# SPDX-License-Identifier: Apache-2.0
"""Users of RabbitMQ, Redis and Sentinel, and their private password folders; deployments use them too."""
