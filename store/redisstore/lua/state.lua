-- What is stored, and how it is read and written. Every other script begins with
-- this one, which mirrors package algo: see there for what the numbers mean.
--
-- A bucket or window is one string: what it was written under (a length, then
-- integers, each a length and big-endian bytes), then its words, seven big-endian
-- bytes each. A log is one list: instant and units of every entry, oldest first, and
-- then the sum of all units, the grain and the life it was written under. A record of
-- denials is such a list, with the end of the block in the place of the life.
--
-- Lua has doubles only. They are exact up to 2^53, which no number here passes, and
-- neither does a product, but where products says otherwise.

local call, num = redis.call, tonumber
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local byte, char, sub = string.byte, string.char, string.sub

local EXACT = 9007199254740992
local SLIDING = 2147483647 -- the most that one counter of a sliding window holds

local t = call('TIME') -- once: a second look could differ
local now = t[1] * 1000000 + t[2]

local function word(s, i)
  local a, b, c, d, e, f, g = byte(s, i, i + 6)
  return (((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) * 256 + g
end

local function pack(x)
  local g = x % 256 x = (x - g) / 256
  local f = x % 256 x = (x - f) / 256
  local e = x % 256 x = (x - e) / 256
  local d = x % 256 x = (x - d) / 256
  local c = x % 256 x = (x - c) / 256
  local b = x % 256
  return char((x - b) / 256, b, c, d, e, f, g)
end

-- split returns what a state was written under, and where its words begin.
local function split(s)
  local list, i, words = {}, 2, 2 + byte(s, 1)
  while i < words do
    local n, x = byte(s, i), 0
    for j = i + 1, i + n do x = x * 256 + byte(s, j) end
    list[#list + 1] = x
    i = i + n + 1
  end
  return list, words
end

-- muldiv returns a * b / c rounded up and no more than limit, although the product
-- may pass 2^53: digit by digit, like long division. a, b and c are at most 2^53.
local function muldiv(a, b, c, limit)
  if a == 0 or b == 0 then return 0 end
  if a < EXACT / b then return min(limit, ceil(a * b / c)) end
  local whole, rest = floor(b / c), b % c
  local q, r = 0, 0 -- a's leading digits times b are q * c + r
  local bit = 4503599627370496
  if a >= EXACT then bit = EXACT end
  while bit >= 1 do
    q = q + q
    if r >= c - r then r = r - (c - r) q = q + 1 else r = r + r end
    if a >= bit then
      a = a - bit
      q = q + whole
      if r >= c - rest then r = r - (c - rest) q = q + 1 else r = r + rest end
    end
    if q > EXACT / 2 then
      if bit > 1 or q >= limit then return limit end
    end
    bit = bit / 2
  end
  if r > 0 then q = q + 1 end
  return min(limit, q)
end

-- expiry returns for how many ms a key is kept that lasts so many µs: no shorter.
local function expiry(us) return ceil(min(us, EXACT) / 1000) end

-- A key in hand is a table:
--   key, kind   its name, and a letter for its algorithm
--   mark        what it is to be written under
--   free        how many units fit now
--   used        how many this script has granted
--   stale       it was written under something else, and is to be written anew
-- and what its kind needs beside that.

-- until_drained is when a bucket will have lost an amount.
local function until_drained(k, amount)
  if amount <= 0 then return 0 end
  return min(EXACT, k.at - now + ceil(amount / k.limit) * k.tick)
end

local function drain(spent, at, limit, tick)
  local here = now - now % tick
  if here <= at then return spent, at end
  local gone = (here - at) / tick * limit -- rounded when it is large, and never below spent then
  if gone >= spent then return 0, here end
  return spent - gone, here
end

local function read_bucket(k, p)
  k.limit, k.unit, k.tick, k.capacity = num(ARGV[p]), num(ARGV[p + 1]), num(ARGV[p + 2]), num(ARGV[p + 3])
  local s, mark = call('GET', k.key), k.mark
  if not s then
    k.spent, k.at, k.missing = 0, now - now % k.tick, true
  elseif sub(s, 1, #mark) == mark then
    k.spent0, k.at0 = word(s, #mark + 1), word(s, #mark + 8)
    k.spent, k.at = drain(k.spent0, k.at0, k.limit, k.tick)
  else
    local old, i = split(s)
    k.stale, k.old_unit = true, old[2]
    k.spent, k.at = drain(word(s, i), word(s, i + 7), old[1], old[3])
    if old[2] ~= k.unit then k.spent = muldiv(k.spent, k.unit, old[2], EXACT) end
    k.at = ceil(max(k.at, now) / k.tick) * k.tick
  end
  k.free = floor((k.capacity - k.spent) / k.unit)
  return p + 4
end

local function write_bucket(k)
  local spent = k.spent + k.used * k.unit
  if spent == 0 then
    if not k.missing then call('DEL', k.key) end
    return
  end
  call('SET', k.key, k.mark .. pack(spent) .. pack(k.at), 'PX', expiry(until_drained(k, spent)))
end

-- The edge of a fixed window may be that of a calendar, which is not known here: the
-- caller sends edges, and when none of its windows is the right one, is asked for
-- others.
local lost

local function window_end(k, instant)
  if k.mode == 1 then return instant + k.period end
  if k.mode == 0 then return instant - instant % k.period + k.period end
  for i = 1, 3 do
    if instant >= k.edges[i] and instant < k.edges[i + 1] then return k.edges[i + 1], k.edges[i] end
  end
  lost = instant
  return instant + 1, instant
end

local function read_fixed(k, p)
  k.limit, k.period, k.mode = num(ARGV[p]), num(ARGV[p + 1]), num(ARGV[p + 2])
  p = p + 3
  if k.mode == 2 then
    k.edges = {num(ARGV[p]), num(ARGV[p + 1]), num(ARGV[p + 2]), num(ARGV[p + 3])}
    p = p + 4
  end
  local s, mark = call('GET', k.key), k.mark
  k.spent = 0
  k.missing = not s
  if s then
    local same, i, old = sub(s, 1, #mark) == mark, #mark + 1, nil
    if not same then old, i = split(s) end
    local used, stop = word(s, i), word(s, i + 7)
    if now < stop and used > 0 then
      k.spent = used
      if same then
        k.stop, k.start = stop, word(s, i + 14)
      else
        k.stale = true
        k.stop, k.start = window_end(k, max(now, word(s, i + 14)))
      end
    end
  end
  if not k.stop then k.stop, k.start = window_end(k, now) end
  k.free = k.limit - k.spent
  return p
end

local function write_fixed(k)
  local spent = k.spent + k.used
  if spent == 0 then
    if not k.missing then call('DEL', k.key) end
    return
  end
  call('SET', k.key, k.mark .. pack(spent) .. pack(k.stop) .. pack(k.start or k.stop - k.period), 'PX', expiry(k.stop - now))
end

-- roll brings counters to the window that holds now.
local function roll(prev, cur, at, period)
  local start = now - now % period
  if start <= at then return prev, cur, at end
  if start == at + period then return cur, 0, start end
  return 0, 0, start
end

local function read_sliding(k, p)
  k.limit, k.period, k.unit, k.tick = num(ARGV[p]), num(ARGV[p + 1]), num(ARGV[p + 2]), num(ARGV[p + 3])
  local s, mark = call('GET', k.key), k.mark
  if not s then
    k.prev, k.cur, k.start, k.missing = 0, 0, now - now % k.period, true
  elseif sub(s, 1, #mark) == mark then
    local i = #mark + 1
    k.prev0, k.cur0, k.start0 = word(s, i), word(s, i + 7), word(s, i + 14)
    k.prev, k.cur, k.start = roll(k.prev0, k.cur0, k.start0, k.period)
  else
    local old, i = split(s)
    local period, at = old[1], word(s, i + 14)
    local prev, cur, start = roll(word(s, i), word(s, i + 7), at, period)
    k.stale = true
    k.prev, k.cur = 0, min(SLIDING, cur + muldiv(prev, period - max(0, now - start), period, SLIDING))
    start = max(now, at)
    k.start = start - start % k.period
  end
  local weight = 0
  if k.prev > 0 then
    weight = muldiv(k.prev, k.unit - floor(max(0, now - k.start) / k.tick), k.unit, SLIDING)
  end
  k.free = k.limit - k.cur - weight
  return p + 4
end

local function write_sliding(k)
  local cur, left = k.cur + k.used, k.start + k.period - now
  if cur > 0 then
    left = left + k.period
  elseif k.prev == 0 then
    if not k.missing then call('DEL', k.key) end
    return
  end
  call('SET', k.key, k.mark .. pack(k.prev) .. pack(cur) .. pack(k.start), 'PX', expiry(left))
end

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

-- A quota of 0 has no state. It only denies.
local function read_nothing(_, p) return p end

local read = {b = read_bucket, f = read_fixed, s = read_sliding, l = read_log, p = read_record, z = read_nothing}
local write = {b = write_bucket, f = write_fixed, s = write_sliding, l = write_log, p = write_record}

-- take_in reads the keys that ARGV describes from p on, and returns them, and where
-- the rest of ARGV begins.
local function take_in(p)
  local keys = {}
  for i = 1, #KEYS do
    local k = {key = KEYS[i], kind = ARGV[p], mark = ARGV[p + 1], used = 0}
    p = read[k.kind](k, p + 2)
    keys[i] = k
  end
  return keys, p
end

-- found is the reply: the time, and of every key what it was found to be. Nothing
-- that has been decided is in it. The caller works that out again.
local function found(keys)
  if lost then return {-1, lost} end
  local r = {now}
  for i = 1, #keys do
    local k, n = keys[i], #r
    if k.kind == 'b' then
      r[n + 1], r[n + 2] = k.spent, k.at
    elseif k.kind == 'f' then
      r[n + 1], r[n + 2] = k.spent, k.stop
    elseif k.kind == 's' then
      r[n + 1], r[n + 2], r[n + 3] = k.prev, k.cur, k.start
    elseif k.kind == 'p' then
      r[n + 1], r[n + 2], r[n + 3] = k.ends, k.sum, k.newest
    elseif k.kind == 'l' then
      r[n + 1] = k.spent
      local count, units, last = n + 2, 0, nil
      local skip, want = k.dropped, max(0, k.spent - k.limit) + k.reach
      r[count] = 0
      local function add(at, u)
        if skip > 0 then skip = skip - 1 return end
        r[#r + 1], r[#r + 2] = at, u
        r[count] = r[count] + 1
        units = units + u
        return units >= want
      end
      if k.entries then
        for j = 1, #k.entries, 2 do if add(k.entries[j], k.entries[j + 1]) then break end end
      elseif not k.missing then
        head(k.key, add)
      end
      -- What is left of the log is only summed up: its newest instants.
      local at, newest = 0, 0
      local tail = k.entries or call('LRANGE', k.key, -7, -4)
      for j = 1, #tail, 2 do
        newest = num(tail[j])
        if num(tail[j + 1]) > 0 then at = newest end
      end
      r[#r + 1], r[#r + 2] = at, newest
    end
  end
  return r
end
