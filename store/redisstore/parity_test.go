package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/internal/redistest"
)

// The scripts must do what package algo does, digit for digit. These tests run both
// over the same random histories, on a real server whose clock is set by hand.

// clockKey holds the time that the scripts are told in these tests.
const clockKey = "{clock}"

// withClock returns scripts that read the time from a key, and keep what they store
// until the test is over.
func withClock(t *testing.T) *scripts {
	t.Helper()
	kept := [...]string{wordsLua, leanLua, bucketLua}
	defer func() { wordsLua, leanLua, bucketLua = kept[0], kept[1], kept[2] }()
	swap := func(text *string, old, with string) {
		if strings.Count(*text, old) != 1 {
			t.Fatalf("the scripts have %q not once", old)
		}
		*text = strings.Replace(*text, old, with, 1)
	}
	const clock = "call('LRANGE', '" + clockKey + "', 0, 1)"
	swap(&wordsLua, "call('TIME')", clock)
	swap(&leanLua, "call('TIME')", clock)
	swap(&wordsLua, "return ceil(min(us, EXACT) / 1000)", "return 3600000")
	swap(&bucketLua, "'PX', ceil(left)", "'PX', 3600000")
	return newScripts()
}

// steps is how long each history is. The race detector has nothing to find here, so
// it looks at less.
func steps() int {
	if raceEnabled {
		return 5_000
	}
	return 200_000
}

// specs are quotas of one algorithm that a key is charged under in turn.
var parity = []struct {
	name  string
	specs []algo.Spec
}{
	{"token-bucket", []algo.Spec{
		{Limit: 10, Period: time.Second}, {Limit: 10, Period: time.Second, Burst: 3}, {Limit: 7, Period: time.Hour, Burst: 100},
		{Limit: 700, Period: time.Minute}, {Limit: 1_000_003, Period: 999_983 * time.Microsecond}, {Limit: 3, Period: 24 * time.Hour, Burst: 90_000},
		{Limit: 0, Period: time.Second},
	}},
	{"leaky-bucket", []algo.Spec{
		{Algorithm: algo.LeakyBucket, Limit: 10, Period: time.Second, Queue: 5},
		{Algorithm: algo.LeakyBucket, Limit: 10, Period: time.Second, Queue: 5, Shaper: true},
		{Algorithm: algo.LeakyBucket, Limit: 7, Period: 10 * time.Second, Queue: 20, Shaper: true},
	}},
	{"fixed-window", []algo.Spec{
		{Algorithm: algo.FixedWindow, Limit: 20, Period: time.Second}, {Algorithm: algo.FixedWindow, Limit: 10, Period: 3 * time.Second},
		{Algorithm: algo.FixedWindow, Limit: 15, Period: 1500 * time.Millisecond, FirstRequest: true},
		{Algorithm: algo.FixedWindow, Limit: 50, Period: algo.Day, Zone: shanghai}, {Algorithm: algo.FixedWindow, Limit: 500, Period: algo.Month},
		{Algorithm: algo.FixedWindow, Limit: 100, Period: 2 * algo.Day, Zone: shanghai}, {Algorithm: algo.FixedWindow, Limit: 5, Period: algo.Day, FirstRequest: true},
	}},
	{"sliding-window", []algo.Spec{
		{Algorithm: algo.SlidingWindow, Limit: 20, Period: time.Second}, {Algorithm: algo.SlidingWindow, Limit: 7, Period: 999_983 * time.Microsecond},
		{Algorithm: algo.SlidingWindow, Limit: algo.MaxSliding, Period: time.Hour}, {Algorithm: algo.SlidingWindow, Limit: 3, Period: time.Hour},
	}},
	{"sliding-cells", []algo.Spec{
		{Algorithm: algo.SlidingWindow, Limit: 20, Period: time.Second, Cells: 4}, {Algorithm: algo.SlidingWindow, Limit: 30, Period: 2 * time.Second, Cells: 7},
		{Algorithm: algo.SlidingWindow, Limit: 9, Period: 999_983 * time.Microsecond, Cells: 60},
	}},
	{"sliding-log", []algo.Spec{
		{Algorithm: algo.SlidingLog, Limit: 20, Period: time.Second}, {Algorithm: algo.SlidingLog, Limit: 100, Period: 3 * time.Second},
		{Algorithm: algo.SlidingLog, Limit: 5, Period: 500 * time.Millisecond},
	}},
}

var shanghai = time.FixedZone("Asia/Shanghai", 8*3600)

func TestParity(t *testing.T) {
	server := redistest.Start(t)
	for _, p := range parity {
		t.Run(p.name, func(t *testing.T) {
			seed := rand.Uint64()
			if text := os.Getenv("PARITY_SEED"); text != "" {
				seed, _ = strconv.ParseUint(text, 10, 64)
			}
			server.Do("flushall")
			h := newHistory(t, server.Client(), p.specs, seed)
			for done := 0; done < steps() && !t.Failed(); done += batchSteps {
				h.run(batchSteps)
			}
			if t.Failed() {
				t.Logf("replay: PARITY_SEED=%d go test -run '^TestParity$/^%s$' ./store/redisstore", seed, p.name)
			}
		})
	}
}

// batchSteps is how many steps travel together. What a step gives back can only be of
// a step of an earlier batch, whose receipt is known.
const batchSteps = 100

// A history is random steps through Lua and through Go.
type history struct {
	t       *testing.T
	client  *redis.Client
	store   *Store
	rng     *rand.Rand
	now     int64
	quotas  []*algo.Quota
	keys    []*twin
	grants  []refundable
	penalty *algo.Penalty
}

// A twin is what Go holds of one key.
type twin struct {
	key    core.Key
	state  algo.State
	log    algo.Log
	record algo.Record
}

type refundable struct {
	twin   *twin
	refund core.Refund
}

// A step is one command, and what Go says that its answer must be.
type step struct {
	sheet *sheet
	req   *request
	cmd   *redis.Cmd
	text  string
	want  core.Result
	twin  *twin
}

func newHistory(t *testing.T, client *redis.Client, specs []algo.Spec, seed uint64) *history {
	sc := withClock(t)
	h := &history{
		t: t, client: client, rng: rand.New(rand.NewPCG(seed, 1)), now: 1_764_573_791_123_456,
		store:   &Store{prefix: "p", scripts: sc},
		penalty: &algo.Penalty{After: 4, Within: 300 * time.Millisecond, Block: time.Second},
	}
	for _, s := range specs {
		q, err := algo.Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		h.quotas = append(h.quotas, q)
	}
	for i := range 6 {
		h.keys = append(h.keys, &twin{key: core.Key{Hi: uint64(i), Lo: seed, Tag: 7}})
	}
	ctx := context.Background()
	for _, s := range []*script{sc.one, sc.many, sc.plain, sc.take, sc.peek, sc.give, sc.block} {
		if err := client.ScriptLoad(ctx, s.text).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h *history) run(n int) {
	ctx := context.Background()
	p := h.client.Pipeline()
	var list []*step
	for range n {
		h.tick()
		p.Del(ctx, clockKey)
		p.RPush(ctx, clockKey, h.now/1_000_000, h.now%1_000_000)
		if h.rng.IntN(4) == 0 && len(h.grants) > 0 {
			h.give(ctx, p)
			continue
		}
		list = append(list, h.take(ctx, p))
	}
	if _, err := p.Exec(ctx); err != nil {
		h.t.Fatal(err)
	}
	for _, s := range list {
		h.check(s)
		if h.t.Failed() {
			return
		}
	}
}

// tick moves the clock: mostly on, now and then far, and back.
func (h *history) tick() {
	switch n := h.rng.IntN(100); {
	case n < 50:
		h.now += h.rng.Int64N(50_000)
	case n < 80:
		h.now += h.rng.Int64N(1_000)
	case n < 85:
		h.now += h.rng.Int64N(3_000_000)
	case n < 87:
		h.now += h.rng.Int64N(100_000_000_000)
	case n < 90:
		h.now -= h.rng.Int64N(2_000_000)
	}
}

func (h *history) take(ctx context.Context, p redis.Pipeliner) *step {
	tw, q := h.keys[h.rng.IntN(len(h.keys))], h.quotas[h.rng.IntN(len(h.quotas))]
	if h.rng.IntN(3) > 0 {
		q = h.quotas[0]
	}
	c := core.Charge{Key: tw.key, Limit: "parity", Quota: q, Cost: h.cost(q)}
	if h.rng.IntN(5) == 0 {
		c.Extra = h.rng.Int64N(10)
	}
	if h.rng.IntN(4) == 0 {
		c.MaxDelay = time.Duration(h.rng.Int64N(int64(3 * time.Second)))
	}
	if h.rng.IntN(6) == 0 {
		c.Penalty = h.penalty
	}
	r := h.store.newRequest([]core.Charge{c}, nil, true)
	sh := &sheet{around: h.now - h.rng.Int64N(int64(time.Hour/time.Microsecond))}
	sh.add(r, func(k *core.Key) string { return h.store.name(k, letterRecord) })
	switch sh.script = h.store.scripts.choose(sh); {
	case h.rng.IntN(3) == 0 || sh.script.lean && tw.distant(q):
		sh.script = h.store.scripts.take // which any of the others stands for
	case sh.script.lean && h.rng.IntN(2) == 0:
		sh.script = h.store.scripts.many
	}
	if q.Calendar() {
		sh.around = tw.window(q, h.now) // these go without the second trip that other edges would cost
	}
	s := &step{sheet: sh, req: r, twin: tw, want: tw.take(c, h.now)}
	s.text = fmt.Sprintf("at %d: %d+%d units, delay %v, of %+v", h.now, c.Cost, c.Extra, c.MaxDelay, q.Spec())
	s.cmd = redis.NewCmd(ctx, sh.args()...)
	_ = p.Process(ctx, s.cmd)
	if s.want.Granted && c.Cost+s.want.Extra > 0 && h.rng.IntN(2) == 0 {
		h.grants = append(h.grants, refundable{tw, core.Refund{
			Key: tw.key, Quota: q, Units: 1 + h.rng.Int64N(c.Cost+s.want.Extra), Receipt: s.want.Receipt, Turn: h.rng.IntN(4) == 0,
		}})
	}
	return s
}

func (h *history) cost(q *algo.Quota) int64 {
	switch h.rng.IntN(8) {
	case 0:
		return 0
	case 1:
		return 1 + h.rng.Int64N(q.Capacity()+2)
	}
	return 1 + h.rng.Int64N(max(1, q.Capacity()/4))
}

// distant reports whether the state is one that lean scripts leave alone.
func (tw *twin) distant(q *algo.Quota) bool {
	u := tw.state.Under
	return u != nil && (formOf(u).kind != kindBucket || bucketMark(u.Numbers()) != bucketMark(q.Numbers()))
}

// window returns the instant in whose window a charge is counted.
func (tw *twin) window(q *algo.Quota, now int64) int64 {
	s := tw.state
	switch {
	case s.Under == nil || s.B <= now:
		return now
	case s.Under.Calendar():
		return max(now, s.Under.Edges(s.B - 1)[1])
	}
	return max(now, s.B-s.Under.Numbers().Period)
}

// forget drops a state that no longer differs from a fresh one: a server would have
// forgotten it too, and with it the time, which a clock that goes back may show.
func (tw *twin) forget(now int64) {
	if tw.state.Under != nil && tw.state.Under.Owes(tw.state, now) == 0 {
		tw.state = algo.State{}
	}
	if tw.log.LogOwes(now) == 0 {
		tw.log = algo.Log{}
	}
}

// meet has the state converted to the quota of a charge that a penalty denies.
func (tw *twin) meet(c core.Charge, now int64) {
	if c.Quota.Wide() {
		c.Quota.PeekLog(&tw.log, now, algo.Ask{})
		return
	}
	if tw.state, _ = c.Quota.Peek(tw.state, now, algo.Ask{}); tw.state.A == 0 {
		tw.state = algo.State{}
	}
}

// take is what package algo makes of a charge.
func (tw *twin) take(c core.Charge, now int64) core.Result {
	var o algo.Outcome
	var r core.Result
	if c.Penalty != nil {
		if left := tw.record.Blocked(now); left > 0 {
			tw.meet(c, now)
			return core.Result{Blocked: true}
		}
	}
	if c.Quota.Wide() {
		o = c.Quota.TakeLog(&tw.log, now, c.Ask())
	} else {
		tw.state, o = c.Quota.Take(tw.state, now, c.Ask())
		if tw.state.A == 0 {
			tw.state = algo.State{}
		}
	}
	r.Fill(&o)
	if c.Penalty != nil && !o.Granted {
		r.Blocked = tw.record.Denied(*c.Penalty, now) > 0
	}
	return r
}

func (h *history) give(ctx context.Context, p redis.Pipeliner) {
	i := h.rng.IntN(len(h.grants))
	g := h.grants[i]
	h.grants[i] = h.grants[len(h.grants)-1]
	h.grants = h.grants[:len(h.grants)-1]
	f := g.refund
	sh := sheet{script: h.store.scripts.give, around: g.twin.window(f.Quota, h.now)}
	sh.addCell(cell{name: h.store.name(&f.Key, formOf(f.Quota).letter), quota: f.Quota})
	args := append(sh.args(), 1, f.Units, f.Receipt.At, f.Receipt.Level, flag(f.Turn), flag(f.Quota.Spec().Shaper), "0")
	p.Do(ctx, args...)
	var changed bool
	if f.Quota.Wide() {
		changed = f.Quota.GiveLog(&g.twin.log, h.now, f.Units, f.Receipt)
	} else {
		g.twin.state, changed = f.Quota.Give(g.twin.state, h.now, f.Units, f.Receipt, f.Turn)
	}
	if changed {
		g.twin.forget(h.now)
	}
}

// check compares the answer of a step. A window that has other edges than were sent
// is asked for in a second trip, which these histories do not make.
func (h *history) check(s *step) {
	h.t.Helper()
	value, err := s.cmd.Result()
	if err != nil {
		h.t.Errorf("%s: %v", s.text, err)
		return
	}
	if s.sheet.script.lean {
		now, err := s.sheet.readLean(value)
		if err != nil || !s.sheet.settleLean(now) {
			h.t.Errorf("%s: now %d: %v", s.text, now, err)
			return
		}
	} else {
		now, around, err := s.sheet.read(value)
		if err != nil || now == lost {
			h.t.Errorf("%s: now %d, around %d: %v", s.text, now, around, err)
			return
		}
		s.sheet.replay(now)
	}
	got := s.req.results[0]
	if s.want.Blocked {
		if !got.Blocked || got.Granted {
			h.t.Errorf("%s:\n\tLua says %+v,\n\tGo says blocked", s.text, got)
		}
		return
	}
	if got != s.want {
		h.t.Errorf("%s:\n\tLua says %+v,\n\tGo says  %+v", s.text, got, s.want)
	}
}
