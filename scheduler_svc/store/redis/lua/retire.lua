-- SPDX-License-Identifier: Apache-2.0
-- Deletes a custom trait or resource class, unless a provider may have begun to use it.
-- ARGV: log length, namespace, name, position at which no provider used it
-- Returns: 0, or if nothing was deleted, the later position of the last change of any provider's traits or inventories
--@ args log_length namespace name as_of
--@ keys state
--@ include _partition
local vocabulary = tonumber(redis.call('HGET', K.meta, 'vocabulary') or 0)
if vocabulary > tonumber(A.as_of) then
  return vocabulary
elseif redis.call('HDEL', K.state, A.name) == 1 then
  append('state', '{' .. quote(A.namespace) .. ':{' .. quote(A.name) .. ':null}}')
end
return 0
