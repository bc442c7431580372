
-- Counts the instances that are alive, this one among them.
-- KEYS: the list of them. ARGV: this one, and for how long it counts, µs.

call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
call('ZADD', KEYS[1], now + num(ARGV[2]), ARGV[1])
call('PEXPIRE', KEYS[1], expiry(num(ARGV[2])))
return {call('ZCARD', KEYS[1])}
