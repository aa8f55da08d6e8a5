-- SPDX-License-Identifier: Apache-2.0
-- Skips positions where `generation` is larger than the position, as no stored one may be. The caller logs an entry;
-- replicas that find the gap read a snapshot. Included after _partition.
local function reach(generation)
  if generation > position then
    position = generation + POSITION_LEAP
    redis.call('HSET', K.meta, 'position', int(position))
  end
end
