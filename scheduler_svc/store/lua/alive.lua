-- SPDX-License-Identifier: Apache-2.0
-- Log that of all known services exactly these live.
-- ARGV: log length, names as a JSON list
-- Returns: for how many that was news
--@ keys services alive
--@ include _partition
local living = {}
for _, name in ipairs(cjson.decode(ARGV[2])) do
  living[name] = true
end
local held, news = redis.call('HGETALL', K.alive), {}
local known = {}
for i = 1, #held, 2 do
  known[held[i]] = held[i + 1]
end
for _, name in ipairs(redis.call('HKEYS', K.services)) do
  local lives = living[name] == true
  if lives ~= (known[name] == '1') then
    redis.call('HSET', K.alive, name, lives and '1' or '0')
    news[#news + 1] = quote(name) .. ':' .. tostring(lives)
  end
end
if #news > 0 then
  append('alive', '{' .. table.concat(news, ',') .. '}')
end
return #news
