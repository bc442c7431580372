package core

import "context"

// Decide decides a request and writes the answer to d, which may be reused from
// an earlier request that is over. Every limit of the request's stages that
// matches its route is charged, or none is. Those that r.Outer says have counted the
// request are left out.
//
// Decide never fails: when the store cannot answer, the limits' policies do.
func (l *Limiter) Decide(ctx context.Context, r *Request, d *Decision) {
	t := l.table.Load()
	p := t.plan(routeKey{r.Syntax, r.Method, r.Route})
	d.reset(l, r)
	if len(p.exempt) > 0 && t.isExempt(p, r.Addr, r.Identity.Principal) {
		d.outcome = Exempt
		l.tell(ctx, d)
		return
	}
	stages := orDefault(r.Stages, BothStages)
	d.bill = p.bills[t.tier(r.Identity)][stages&BothStages].without(l, r.Outer)
	l.decide(ctx, t, p, r, d)
}

// decide puts the lines of d's bill to the store.
func (l *Limiter) decide(ctx context.Context, t *table, p *plan, r *Request, d *Decision) {
	if len(d.bill.lines) == 0 {
		return // nothing counts this request
	}
	b := l.borrow(len(d.bill.lines))
	k := keyer{table: t, request: r, route: p.hash}
	for i := range d.bill.lines {
		k.charge(&b.charges[i], &d.bill.lines[i])
	}
	l.settle(ctx, d, b)
	l.giveBack(b)
	l.tell(ctx, d)
}

// DecideOne decides one limit for a request, whatever its match, stage and charge
// say: for a limit that is mounted on a route of its own. It returns an error when
// no limit has this name, and d is then a request that no limit counts.
func (l *Limiter) DecideOne(ctx context.Context, limit string, r *Request, d *Decision) error {
	d.reset(l, r)
	t := l.table.Load()
	rule, err := t.rule(limit)
	if err != nil {
		return err
	}
	p := t.plan(routeKey{r.Syntax, r.Method, r.Route})
	if len(p.exempt) > 0 && t.isExempt(p, r.Addr, r.Identity.Principal) {
		d.outcome = Exempt
		l.tell(ctx, d)
		return nil
	}
	d.bill = rule.solo[t.tier(r.Identity)]
	l.decide(ctx, t, p, r, d)
	return nil
}

// settle has the store decide the charges and writes what came of them to d.
func (l *Limiter) settle(ctx context.Context, d *Decision, b *batch) {
	if err := l.store.Take(ctx, b.charges, b.results); err != nil {
		l.failed(ctx, err)
		d.fail(ctx, b, err)
		return
	}
	d.record(b)
}

func (l *Limiter) tell(ctx context.Context, d *Decision) {
	if l.observer != nil {
		l.observer.Decided(ctx, d)
	}
}

// A batch is the two slices of one call to the store. They are lent to the store
// for the call only, so they are reused.
type batch struct {
	charges []Charge
	results []Result
}

func (l *Limiter) borrow(n int) *batch {
	b, _ := l.scratch.Get().(*batch)
	if b == nil || cap(b.charges) < n {
		size := max(n, 8)
		b = &batch{make([]Charge, size), make([]Result, size)}
	}
	b.charges, b.results = b.charges[:n], b.results[:n]
	return b
}

func (l *Limiter) giveBack(b *batch) { l.scratch.Put(b) }
