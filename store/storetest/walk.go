package storetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

func walkCases() []Case {
	const rule = "Over any history, a store answers what the arithmetic of package algo answers for its keys alone."
	return []Case{
		one("Walk", rule, Numbers, func(r *run) { r.walks(20, walk{keys: 12, steps: 300}) }),
		one("WalkOfManyKeys", rule, Numbers, func(r *run) { r.walks(2, walk{keys: 600, steps: 2500}) }),
	}
}

// seedVariable names the environment variable that repeats one walk.
const seedVariable = "STORETEST_SEED"

// A walk takes random steps with a store and with the model beside it, and
// compares every answer. What it does next depends on its seed alone.
type walk struct {
	keys  int
	steps int

	r       *run
	seed    uint64
	rng     *rand.Rand
	model   *model
	places  []*place
	grants  []grant
	history []string
	told    time.Duration // the wait of the last denial
}

// A place is an account whose quota may change.
type place struct {
	account
	kind   kind
	period time.Duration
	shadow bool // its charges are shadow charges
}

// A grant is something to give back.
type grant struct {
	at       *place
	units    int64
	got, own algo.Receipt // the store's receipt, and the model's
}

// walks runs so many walks of fixed seeds and one of a new one, or the one that
// the environment asks for.
func (r *run) walks(n uint64, w walk) {
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			r.fail("%s: %w", seedVariable, err)
		}
		r.walk(w, seed)
		return
	}
	if !r.exact() {
		n, w.keys, w.steps = 2, min(w.keys, 100), 200
	}
	for seed := range n {
		r.walk(w, seed+1)
	}
	r.walk(w, rand.Uint64())
}

func (r *run) walk(w walk, seed uint64) {
	if !r.ok() {
		return
	}
	w.r, w.seed = r, seed
	w.rng = rand.New(rand.NewPCG(seed, 0))
	w.model = newModel()
	for range w.keys {
		w.places = append(w.places, w.place())
	}
	for step := 0; step < w.steps && r.ok(); step++ {
		w.step()
	}
	if !r.ok() {
		r.err = fmt.Errorf("walk %d: %w\n\tlast steps:\n\t\t%s\n\treplay: %s=%d go test -run '^%s$'",
			seed, r.err, strings.Join(w.history, "\n\t\t"), seedVariable, seed, strings.ReplaceAll(w.r.s.name, "/", "$/^"))
	}
}

func (w *walk) note(format string, args ...any) {
	const kept = 15
	at := w.r.s.now().UTC().Format("15:04:05.000000")
	w.history = append(w.history, at+" "+fmt.Sprintf(format, args...))
	w.history = w.history[max(0, len(w.history)-kept):]
}

// place opens an account of a random kind. In real time its period is so long that
// nothing comes back during the walk.
func (w *walk) place() *place {
	kinds := w.r.kindsAtHand()
	p := &place{kind: kinds[w.rng.IntN(len(kinds))], period: w.r.long(), shadow: w.rng.IntN(6) == 0}
	if w.r.exact() {
		p.period = []time.Duration{
			100 * time.Millisecond, 300 * time.Millisecond, time.Second, 7777 * time.Microsecond,
		}[w.rng.IntN(4)]
	}
	p.account = w.r.open(w.spec(p))
	if w.rng.IntN(2) == 0 && len(w.places) > 0 {
		p.key.Tag = w.places[0].key.Tag
	}
	if w.rng.IntN(4) == 0 && !w.r.lacks(Penalties) {
		p.account = p.with(algo.Penalty{After: 1 + w.rng.Int64N(4), Within: p.period, Block: 2 * p.period})
	}
	return p
}

func (w *walk) spec(p *place) algo.Spec {
	n := 1 + w.rng.Int64N(20)
	if p.kind.name == tokenBucket.name && w.rng.IntN(2) == 0 {
		return algo.Spec{Limit: n, Period: p.period, Burst: 1 + w.rng.Int64N(30)}
	}
	if p.kind.name == leakyMeter.name && w.rng.IntN(2) == 0 {
		s := shaper(n, p.period, w.rng.Int64N(10))
		s.Shaper = !w.r.lacks(Queues)
		return s
	}
	return p.kind.spec(n, p.period)
}

func (w *walk) step() {
	switch n := w.rng.IntN(100); {
	case n < 52:
		w.ask("Take", w.r.s.Take, w.model.take)
	case n < 62:
		w.ask("Peek", w.r.s.Peek, w.model.peek)
	case n < 74:
		w.give()
	case n < 76:
		w.reset()
	case n < 78:
		w.block()
	case n < 82:
		w.change()
	default:
		w.sleep()
	}
}

// bill returns the charges of one call: of 1 to 8 keys, now and then of one key
// twice. Shadow charges name their keys once.
func (w *walk) bill() (list []core.Charge, at []*place) {
	budget := map[*place]int64{}
	for range 1 + w.rng.IntN(8)*w.rng.IntN(2) {
		p := w.places[w.rng.IntN(len(w.places))]
		used, twice := budget[p]
		if twice && p.shadow {
			continue
		}
		c := p.charge(w.cost(p.quota))
		if twice { // so that the charges of one key could fit together
			c.Cost = min(c.Cost, max(0, p.quota.Capacity()-used))
		}
		budget[p] = used + c.Cost
		c.Shadow = p.shadow
		if w.rng.IntN(8) == 0 {
			c.Extra = w.rng.Int64N(5)
		}
		if w.rng.IntN(4) == 0 && !w.r.lacks(Queues) {
			c.MaxDelay = time.Duration(w.rng.Int64N(int64(2 * p.period)))
		}
		list, at = append(list, c), append(at, p)
	}
	return list, at
}

func (w *walk) cost(q *algo.Quota) int64 {
	switch w.rng.IntN(10) {
	case 0:
		return 0
	case 1:
		return 1 + w.rng.Int64N(q.Capacity()+2)
	}
	return 1 + w.rng.Int64N(max(1, q.Capacity()/4))
}

type modelCall = func(now int64, charges []core.Charge, results []core.Result)

func (w *walk) ask(name string, call storeCall, own modelCall) {
	list, at := w.bill()
	w.compare(name, call, own, list, at)
}

func (w *walk) compare(name string, call storeCall, own modelCall, list []core.Charge, at []*place) {
	got, want := make([]core.Result, len(list)), make([]core.Result, len(list))
	for i := range got {
		got[i] = nonsense
	}
	own(w.r.s.now().UnixMicro(), list, want)
	w.r.into(name, call, list, got)
	denied := slices.ContainsFunc(want, func(r core.Result) bool { return !r.Granted })
	for i, c := range list {
		w.note("%s %d/%d: %s key %x → granted %v, blocked %v, %s", name, i+1, len(list), describe(c), c.Key.Hi>>48, got[i].Granted, got[i].Blocked, numbers(got[i]))
		if w.r.ok() {
			w.differs(name, i, list, got[i], want[i], denied)
		}
		if !got[i].Granted {
			w.told = got[i].RetryAfter
		} else if want[i].Receipt != (algo.Receipt{}) {
			w.grants = append(w.grants, grant{at[i], c.Cost + got[i].Extra, got[i].Receipt, want[i].Receipt})
		}
	}
}

// differs compares two answers, where the contract leaves no choice.
func (w *walk) differs(name string, i int, list []core.Charge, got, want core.Result, denied bool) {
	c := list[i]
	again := slices.ContainsFunc(list[:i], func(other core.Charge) bool { return other.Key == c.Key })
	say := func(bad bool, field string, got, want any) {
		if bad {
			w.r.fail("%s of %d charges, number %d (%s): %s is %v, want %v", name, len(list), i+1, describe(c), field, got, want)
		}
	}
	if got.Partial {
		say(!got.Granted || !denied, "Partial, of a call that", true, "denied by another charge")
		return
	}
	say(got.Granted != want.Granted, "Granted", got.Granted, want.Granted)
	say(got.Blocked != want.Blocked, "Blocked", got.Blocked, want.Blocked)
	say(got.Unknown, "Unknown", got.Unknown, false)
	if name == "Take" {
		say(got.Extra != want.Extra, "Extra", got.Extra, want.Extra)
	}
	if !again { // what a second charge of a key would wait for depends on the first
		w.span(say, "RetryAfter", got.RetryAfter, want.RetryAfter)
	}
	if !denied {
		w.span(say, "Delay", got.Delay, want.Delay)
	}
	if got.Blocked {
		return
	}
	say(got.Remaining != want.Remaining, "Remaining", got.Remaining, want.Remaining)
	w.span(say, "NextAfter", got.NextAfter, want.NextAfter)
	w.span(say, "ResetAfter", got.ResetAfter, want.ResetAfter)
}

func (w *walk) span(say func(bool, string, any, any), field string, got, want time.Duration) {
	say((got-want).Abs() > w.r.slack(), field, got, want)
}

func (w *walk) give() {
	var mine, theirs []core.Refund
	for range 1 + w.rng.IntN(3) {
		if len(w.grants) == 0 {
			break
		}
		i := w.rng.IntN(len(w.grants))
		g := w.grants[i]
		w.grants = slices.Delete(w.grants, i, i+1)
		if !w.r.exact() && g.at.quota.Algorithm() <= algo.LeakyBucket {
			continue // how much has drained by now is not known to the microsecond
		}
		f := g.at.refund(w.rng.Int64N(g.units+1), g.got)
		f.Turn = w.rng.IntN(4) == 0
		w.note("Give %d of %d, turn %v, key %x", f.Units, g.units, f.Turn, f.Key.Hi>>48)
		theirs = append(theirs, f)
		f.Receipt = g.own
		mine = append(mine, f)
	}
	w.model.give(w.r.s.now().UnixMicro(), mine)
	w.r.give(theirs...)
}

func (w *walk) reset() {
	p := w.places[w.rng.IntN(len(w.places))]
	w.note("Reset key %x", p.key.Hi>>48)
	w.model.reset([]core.Charge{p.charge(0)})
	w.r.reset(p.account)
	// A receipt from before a reset may name a window that goes on.
	w.grants = slices.DeleteFunc(w.grants, func(g grant) bool { return g.at == p })
}

func (w *walk) block() {
	p := w.places[w.rng.IntN(len(w.places))]
	if p.penalty == nil {
		return
	}
	d := time.Duration(w.rng.Int64N(3)) * p.period
	w.note("Block key %x for %v", p.key.Hi>>48, d)
	w.model.block(w.r.s.now().UnixMicro(), p.charge(0), d)
	w.r.block(p.account, d)
}

// change gives a key another quota of its kind and period, and asks at once, so
// that store and model have both met the new quota at the same instant.
func (w *walk) change() {
	p := w.places[w.rng.IntN(len(w.places))]
	p.quota = w.r.quota(w.spec(p))
	w.note("key %x is now under %s", p.key.Hi>>48, quotaText(p.quota))
	w.grants = slices.DeleteFunc(w.grants, func(g grant) bool { return g.at == p && w.rng.IntN(2) == 0 })
	w.compare("Take", w.r.s.Take, w.model.take, []core.Charge{p.charge(1)}, []*place{p})
}

func (w *walk) sleep() {
	if !w.r.exact() {
		return
	}
	d := []time.Duration{
		time.Microsecond,
		time.Duration(w.rng.Int64N(int64(5 * time.Millisecond))).Truncate(time.Microsecond),
		time.Duration(w.rng.Int64N(int64(50 * time.Millisecond))).Truncate(time.Microsecond),
		w.told, w.told - time.Microsecond,
		1500 * time.Millisecond,
	}[w.rng.IntN(6)]
	if d >= 0 && d < time.Hour {
		w.r.sleep(d)
	}
}
