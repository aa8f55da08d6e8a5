-- SPDX-License-Identifier: Apache-2.0
-- Deletes the document of a trait or resource class, unless a provider may have taken it into use.
-- ARGV: log length, namespace, name, position at which no provider had it
-- Returns: 0, or the later position of the last change of any provider's traits or inventories: nothing was deleted
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
