-- SPDX-License-Identifier: Apache-2.0
-- The member of `awaited` that stands for hosts which the store may have forgotten and nobody has named yet. No name of
-- a host has spaces.
local UNNAMED_HOSTS = '(hosts not named yet)'
