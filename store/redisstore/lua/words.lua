-- What is stored for buckets and windows, and how it is read and written. It mirrors
-- package algo: see there for what the numbers mean.
--
-- Each is one string. It begins with the mark of what it was written under: for a
-- bucket a byte that gives widths and tick, then limit and unit; for a window a
-- length, then integers with a length each. Its words follow, big-endian: for a
-- bucket the instant (7 bytes) and what is spent (4, 6 or 7 bytes); for a fixed window
-- where it ends, what is used, and for one of a calendar where it began; for a sliding
-- window where it began and two counters (4 bytes each).
--
-- Lua has doubles only. They are exact up to 2^53, which no number here passes, and
-- neither does a product, but where it is said.

local call, num = redis.call, tonumber
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local byte, char, sub = string.byte, string.char, string.sub

local EXACT = 9007199254740992
local SLIDING = 2147483647 -- the most that one counter of a sliding window holds

local t = call('TIME') -- once: a second look could differ
local now = t[1] * 1000000 + t[2]

-- word returns the integer from byte i to byte j: 4 bytes or more.
local function word(s, i, j)
  local a, b, c, d, e, f, g = byte(s, i, j)
  local x = ((a * 256 + b) * 256 + c) * 256 + d
  if e then x = x * 256 + e end
  if f then x = x * 256 + f end
  if g then x = x * 256 + g end
  return x
end

-- pack returns an integer in 4, 6 or 7 bytes.
local function pack(x)
  local g = x % 256 x = (x - g) / 256
  local f = x % 256 x = (x - f) / 256
  local e = x % 256 x = (x - e) / 256
  if x < 256 then return char(x, e, f, g) end
  local d = x % 256 x = (x - d) / 256
  local c = x % 256 x = (x - c) / 256
  if x < 256 then return char(x, c, d, e, f, g) end
  local b = x % 256
  return char((x - b) / 256, b, c, d, e, f, g)
end

-- instant returns an integer in 7 bytes.
local function instant(x)
  local s = pack(x)
  if #s < 7 then return string.rep('\0', 7 - #s) .. s end
  return s
end

-- digits returns the integer from byte i to byte j, of any width.
local function digits(s, i, j)
  local x = 0
  for k = i, j do x = x * 256 + byte(s, k) end
  return x
end

local WIDTH = {[0] = 1, 2, 4, 7}
local UNIT_WIDTH = {[0] = 3, 4, 5, 7}

-- bucket_mark returns what a bucket was written under, and where its words begin.
local function bucket_mark(s)
  local h = byte(s, 1)
  local l, u = WIDTH[h % 4], UNIT_WIDTH[floor(h / 4) % 4]
  return digits(s, 2, 1 + l), digits(s, 2 + l, 1 + l + u), 10 ^ floor(h / 16), 2 + l + u
end

-- window_mark returns what a window was written under: period, mode and zone, and
-- where its words begin.
local function window_mark(s)
  local list, i, words = {0, 0, 0}, 2, 2 + byte(s, 1)
  local k = 1
  while i < words do
    local n = byte(s, i)
    list[k], k, i = digits(s, i + 1, i + n), k + 1, i + n + 1
  end
  return list[1], list[2], words
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
    local i = #mark + 1
    k.at0, k.spent0 = word(s, i, i + 6), word(s, i + 7, -1)
    k.spent, k.at = drain(k.spent0, k.at0, k.limit, k.tick)
  else
    local limit, unit, tick, i = bucket_mark(s)
    k.stale, k.old_unit = true, unit
    k.spent, k.at = drain(word(s, i + 7, -1), word(s, i, i + 6), limit, tick)
    if unit ~= k.unit then k.spent = muldiv(k.spent, k.unit, unit, EXACT) end
    k.at = ceil(max(k.at, now) / k.tick) * k.tick
  end
  k.free = floor((k.capacity - k.spent) / k.unit)
  return p + 4
end

local function put_bucket(k, spent, at)
  local left = 0
  if spent > 0 then left = min(EXACT, at - now + ceil(spent / k.limit) * k.tick) end
  if left > 0 then
    call('SET', k.key, k.mark .. instant(at) .. pack(spent), 'PX', expiry(left))
  elseif not k.missing then
    call('DEL', k.key)
  end
end

local function write_bucket(k) put_bucket(k, k.spent + k.used * k.unit, k.at) end

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
    local same, i, period, mode = sub(s, 1, #mark) == mark, #mark + 1, k.period, k.mode
    if not same then period, mode, i = window_mark(s) end
    local stop, start, last = word(s, i, i + 6), nil, -1
    if mode == 2 then start, last = word(s, -7, -1), -8 else start = stop - period end
    local used = word(s, i + 7, last)
    if now < stop and used > 0 then
      k.spent, k.stop, k.start = used, stop, start
      if not same then
        k.stale = true
        k.stop, k.start = window_end(k, max(now, start))
      end
    end
  end
  if not k.stop then k.stop, k.start = window_end(k, now) end
  k.free = k.limit - k.spent
  return p
end

local function write_fixed(k)
  local spent, start = k.spent + k.used, ''
  if spent == 0 then
    if not k.missing then call('DEL', k.key) end
    return
  end
  if k.mode == 2 then start = instant(k.start) end
  call('SET', k.key, k.mark .. instant(k.stop) .. pack(spent) .. start, 'PX', expiry(k.stop - now))
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
    k.start0, k.prev0, k.cur0 = word(s, i, i + 6), word(s, i + 7, i + 10), word(s, i + 11, i + 14)
    k.prev, k.cur, k.start = roll(k.prev0, k.cur0, k.start0, k.period)
  else
    local period, _, i = window_mark(s)
    local at = word(s, i, i + 6)
    local prev, cur, start = roll(word(s, i + 7, i + 10), word(s, i + 11, i + 14), at, period)
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

local function put_sliding(k, prev, cur, start)
  local left = 0
  if cur > 0 then left = start + 2 * k.period - now elseif prev > 0 then left = start + k.period - now end
  if left > 0 then
    call('SET', k.key, k.mark .. instant(start) .. pack(prev) .. pack(cur), 'PX', expiry(left))
  elseif not k.missing then
    call('DEL', k.key)
  end
end

local function write_sliding(k) put_sliding(k, k.prev, k.cur + k.used, k.start) end

-- A quota of 0 has no state. It only denies.
local function read_nothing(_, p) return p end

-- What there is for each kind of key: how to read it, how to write it, and how to add
-- what it was found to be to the reply, of which n elements are there.
local read = {b = read_bucket, f = read_fixed, s = read_sliding, z = read_nothing}
local write = {b = write_bucket, f = write_fixed, s = write_sliding}
local tell = {
  b = function(k, r, n) r[n + 1], r[n + 2] = k.spent, k.at end,
  f = function(k, r, n) r[n + 1], r[n + 2] = k.spent, k.stop end,
  s = function(k, r, n) r[n + 1], r[n + 2], r[n + 3] = k.prev, k.cur, k.start end,
  z = function() end,
}

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
  for i = 1, #keys do tell[keys[i].kind](keys[i], r, #r) end
  return r
end
