
-- Logs and records of denials are lists: instant and units of every entry, oldest
-- first, and then the sum of all units, the grain and the life that they were written
-- under. A record has the end of the block in the place of the life.
--
-- Logs are read from both ends, a little at a time: most of a long one is not needed.
local CHUNK = 32 -- entries

-- head calls f(instant, units) for each entry of a list, oldest first, until f
-- returns true. The list ends with so many other elements.
local function head(key, f)
  local from, length = 0, call('LLEN', key) - 3
  while from < length do
    local part = call('LRANGE', key, from, min(from + 2 * CHUNK, length) - 1)
    for i = 1, #part, 2 do
      if f(num(part[i]), num(part[i + 1])) then return end
    end
    from = from + 2 * CHUNK
  end
end

-- expired returns how many of the oldest entries count no longer, and their units.
local function expired(key, instant, life)
  local n, units = 0, 0
  head(key, function(at, u)
    if at + life > instant then return true end
    n, units = n + 1, units + u
  end)
  return n, units
end

-- push adds units at an instant to entries in hand.
local function push(list, at, units)
  local n = #list
  if n > 0 and (list[n - 1] == at or list[n] == 0) then
    list[n - 1], list[n] = at, list[n] + units
  else
    list[n + 1], list[n + 2] = at, units
  end
end

-- adopt_log moves a log that another quota wrote to this one's grain. What the other
-- one had forgotten stays forgotten.
local function adopt_log(k, grain, life)
  local moved, sum = {}, 0
  head(k.key, function(at, u)
    if at + life <= k.judged then return end
    if grain ~= k.grain then
      at = max(at, min(at + grain - 1, k.judged))
      at = at - at % k.grain
    end
    push(moved, at, u)
    sum = sum + u
  end)
  k.entries, k.sum, k.stale = moved, sum, true
end

local function read_log(k, p)
  k.limit, k.grain, k.life, k.reach = num(ARGV[p]), num(ARGV[p + 1]), num(ARGV[p + 2]), num(ARGV[p + 3])
  local tail = call('LRANGE', k.key, -7, -1)
  local n = #tail
  k.judged, k.dropped, k.sum = now, 0, 0
  k.missing = n == 0
  if n > 0 then
    k.sum = num(tail[n - 2])
    k.newest, k.newest_units = num(tail[n - 4]), num(tail[n - 3])
    k.judged = max(now, k.newest)
    local grain, life = num(tail[n - 1]), num(tail[n])
    if grain ~= k.grain or life ~= k.life then adopt_log(k, grain, life) end
  end
  local gone = 0
  if k.entries then
    while 2 * k.dropped < #k.entries and k.entries[2 * k.dropped + 1] + k.life <= k.judged do
      gone = gone + k.entries[2 * k.dropped + 2]
      k.dropped = k.dropped + 1
    end
  elseif n > 0 then
    k.dropped, gone = expired(k.key, k.judged, k.life)
  end
  k.spent = k.sum - gone
  k.free = k.limit - k.spent
  return p + 4
end

local function rewrite(key, list)
  call('DEL', key)
  for i = 1, #list, 100 do call('RPUSH', key, unpack(list, i, min(i + 99, #list))) end
end

-- append drops the oldest entries of a list, which count no longer, and adds units to
-- it: to its newest entry when that is of the same instant, or is empty and only
-- keeps the time.
local function append(k, at, units, empty, sum, x, y)
  local left = call('LLEN', k.key) - 2 * k.dropped
  if left <= 3 then
    call('DEL', k.key)
    call('RPUSH', k.key, at, units, sum, x, y)
    return
  end
  if k.dropped > 0 then call('LTRIM', k.key, 2 * k.dropped, -1) end
  if k.newest == at or empty then
    call('LSET', k.key, -5, at)
    call('LSET', k.key, -4, call('LINDEX', k.key, -4) + units)
    call('LSET', k.key, -3, sum)
    call('LSET', k.key, -1, y)
  else
    call('LTRIM', k.key, 0, -4)
    call('RPUSH', k.key, at, units, sum, x, y)
  end
end

local function keep_log(k, newest) call('PEXPIRE', k.key, max(1, expiry(newest + k.life - now))) end

local function write_log(k)
  local at = k.judged - k.judged % k.grain
  local sum = k.spent + k.used
  if k.entries then
    local list = {}
    local from = 2 * k.dropped + 1
    if k.used == 0 then from, sum = 1, k.sum end -- only a grant moves time on
    for i = from, #k.entries do list[#list + 1] = k.entries[i] end
    if k.used > 0 then push(list, at, k.used) end
    if #list == 0 then call('DEL', k.key) return end
    local newest = list[#list - 1]
    list[#list + 1], list[#list + 2], list[#list + 3] = sum, k.grain, k.life
    rewrite(k.key, list)
    keep_log(k, newest)
    return
  end
  if k.used == 0 then return end
  append(k, at, k.used, k.newest_units == 0, sum, k.grain, k.life)
  keep_log(k, at)
end

-- A record counts denials, and ends a block at an instant.
local function read_record(k, p)
  k.after, k.within, k.block = num(ARGV[p]), num(ARGV[p + 1]), num(ARGV[p + 2])
  local tail = call('LRANGE', k.key, -5, -1)
  local n = #tail
  k.ends, k.sum, k.newest, k.dropped, k.fresh, k.missing = 0, 0, 0, 0, 0, n == 0
  if n > 0 then k.ends = num(tail[n]) end
  if n > 3 then
    k.newest = num(tail[1])
    local gone
    k.dropped, gone = expired(k.key, max(now, k.newest), k.within)
    k.sum = num(tail[n - 2]) - gone
  end
  return p + 3
end

local function count_denial(k)
  if k.ends > now then return end
  k.fresh, k.sum = k.fresh + 1, k.sum + 1
  if k.sum >= k.after then
    k.ends, k.sum, k.fresh, k.newest, k.blocks = now + k.block, 0, 0, 0, true
  end
end

local function write_record(k)
  if k.blocks then
    call('DEL', k.key)
    call('RPUSH', k.key, 0, 1, k.ends)
    call('PEXPIRE', k.key, max(1, expiry(k.ends - now)))
    return
  end
  if k.fresh == 0 then return end
  local at = max(now, k.newest)
  append(k, at, k.fresh, false, k.sum, 1, k.ends)
  call('PEXPIRE', k.key, max(1, expiry(at + k.within - now)))
end

-- Slots are a sorted set: who holds one, and when it ends unless it is renewed. A
-- holder of several units has several members.
local function read_slots(k, p)
  k.limit = num(ARGV[p])
  k.spent = call('ZCOUNT', k.key, '(' .. string.format('%.0f', now), '+inf')
  k.free, k.takes = k.limit - k.spent, {}
  return p + 1
end

local function write_slots(k)
  call('ZREMRANGEBYSCORE', k.key, '-inf', now)
  local longest = call('PTTL', k.key)
  for i = 1, #k.takes do
    local c = k.takes[i]
    for n = 1, c.units do call('ZADD', k.key, now + c.hold, c.slot .. ':' .. n) end
    longest = max(longest, expiry(c.hold))
  end
  call('PEXPIRE', k.key, longest)
end

read.q, write.q = read_slots, write_slots
function tell.q(k, r, n) r[n + 1] = k.spent end

read.l, write.l = read_log, write_log
read.p, write.p = read_record, write_record

function tell.p(k, r, n) r[n + 1], r[n + 2], r[n + 3] = k.ends, k.sum, k.newest end

-- Of a log the oldest entries are told, as many as a denied request may have to wait
-- for, and what the others come to.
function tell.l(k, r, n)
  r[n + 1], r[n + 2] = k.spent, 0
  local units, skip, want = 0, k.dropped, max(0, k.spent - k.limit) + k.reach
  local function add(at, u)
    if skip > 0 then skip = skip - 1 return end
    r[#r + 1], r[#r + 2] = at, u
    r[n + 2] = r[n + 2] + 1
    units = units + u
    return units >= want
  end
  if k.entries then
    for j = 1, #k.entries, 2 do if add(k.entries[j], k.entries[j + 1]) then break end end
  elseif not k.missing then
    head(k.key, add)
  end
  local at, newest = 0, 0
  local tail = k.entries or call('LRANGE', k.key, -7, -4)
  for j = 1, #tail, 2 do
    newest = num(tail[j])
    if num(tail[j + 1]) > 0 then at = newest end
  end
  r[#r + 1], r[#r + 2] = at, newest
end
