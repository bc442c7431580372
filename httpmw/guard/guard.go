package guard

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/headers"
)

// A Guard decides requests by one limiter. It is safe for concurrent use.
type Guard[C any] struct {
	limiter *core.Limiter
	opts    Options[C]
	mount   *core.Mount // kept: as long as it is, tables that the guard cannot serve are refused
	exposed []string
}

// New returns a guard. An error joins every mistake in the options. From then on
// the limiter refuses tables that need what the options lack.
func New[C any](l *core.Limiter, o Options[C]) (*Guard[C], error) {
	if err := o.check(l); err != nil {
		return nil, err
	}
	g := &Guard[C]{limiter: l, opts: o, exposed: headers.ExposedHeaders(o.styles(nil, l))}
	var err error
	if g.mount, err = l.Mount(o.meets); err != nil {
		return nil, err
	}
	return g, nil
}

// A Verdict says what an adapter does with a request.
type Verdict uint8

// The verdicts.
const (
	Pass     Verdict = iota // go on, untouched: there is no Visit
	Go                      // go on with Visit.Request, and commit the status if Visit.Counts
	Refuse                  // answer with Visit.Refuse
	Fallback                // hand to the fallback handler
)

// A Route is where a request goes, as the framework resolved it.
type Route struct {
	Path   string // empty: no route serves the request
	Syntax core.RouteSyntax
}

// Enter decides a request and sets the headers of its response. c is kept until
// the request is over and no longer.
func (g *Guard[C]) Enter(c C, w http.ResponseWriter, r *http.Request, route Route) (*Visit[C], Verdict) {
	if isPreflight(r) || g.opts.Skip != nil && g.opts.Skip(c) {
		return nil, Pass
	}
	before := visitFrom(r.Context())
	stages, done := g.stages(before)
	if done {
		return nil, Pass
	}
	v := &Visit[C]{guard: g, c: c, request: r}
	v.Context = r.Context()
	v.node = node{
		guard: g.limiter, only: g.opts.Only, stages: stages, styles: g.opts.styles(before, g.limiter),
		decision: &v.Decision, source: v, before: before,
	}
	g.decide(v, core.Request{
		Method:   r.Method,
		Route:    route.Path,
		Syntax:   route.Syntax,
		Addr:     g.addr(r, before),
		Identity: g.identify(c, r.Context()),
		Source:   v,
		Stages:   stages,
		Outer:    before.outer(),
	})
	if !v.Decision.Allowed() {
		v.giveBackEarlier()
	}
	return v, v.enter(w)
}

func (g *Guard[C]) decide(v *Visit[C], req core.Request) {
	if g.opts.Only == "" {
		g.limiter.Decide(v.Context, &req, &v.Decision)
		return
	}
	// The limit existed when the guard was made. When a reload has taken it away
	// there is nothing to decide.
	_ = g.limiter.DecideOne(v.Context, g.opts.Only, &req, &v.Decision)
}

// identify returns who is calling: whom the guard's own function finds, else whoever
// is in the context, put there by a guard outside or by the program.
func (g *Guard[C]) identify(c C, ctx context.Context) core.Identity {
	if g.opts.Identify != nil {
		return g.opts.Identify(c)
	}
	id, _ := core.IdentityFrom(ctx)
	return id
}

// addr returns the client's address: by the guard's own resolver, else what a guard
// outside found, else the peer's.
func (g *Guard[C]) addr(r *http.Request, before *node) netip.Addr {
	if g.opts.ClientIP == nil && before != nil {
		return before.decision.Addr()
	}
	addr, _ := g.opts.ClientIP.Addr(r)
	return addr
}

// giveBackEarlier gives back what guards outside have charged to a request that this
// one turns away: all its limits are charged or none. Only those of a mount for the
// early stage stay charged, which is decided by itself.
func (v *Visit[C]) giveBackEarlier() {
	for n := v.node.before; n != nil; n = n.before {
		if n.guard == v.node.guard && n.stages != core.EarlyStage {
			// A store that cannot take the units back has been reported to the observer.
			_ = n.decision.Cancel(v.Context)
			n.returned = true
		}
	}
}

// stages returns what is left to decide for a request that has been here before.
func (g *Guard[C]) stages(before *node) (stages core.StageSet, done bool) {
	var decided core.StageSet
	for n := before; n != nil; n = n.before {
		if n.guard != g.limiter {
			continue
		}
		if g.opts.Only != "" && n.decidedLimit(g.opts.Only) {
			return 0, true
		}
		decided |= n.stages
	}
	if g.opts.Only != "" {
		return 0, false
	}
	want := core.BothStages
	if g.opts.Stage == core.Early {
		want = core.EarlyStage
	}
	left := want &^ decided
	return left, left == 0
}

// isPreflight reports whether r is a CORS preflight (Fetch standard): browsers send
// it without credentials and take any other answer than success for a network
// error, so it is never counted.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header["Origin"] != nil &&
		r.Header["Access-Control-Request-Method"] != nil
}
