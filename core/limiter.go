package core

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"weak"
)

// A Limiter decides requests by a table of limits. Make one with [New]. Its
// methods may be called concurrently.
type Limiter struct {
	store    Store
	observer Observer
	secret   []byte
	table    atomic.Pointer[table]
	updating sync.Mutex
	scratch  sync.Pool
	mounts   []weak.Pointer[Mount] // guarded by updating
}

// New makes a limiter. An error joins every mistake in the table, each as a
// [*FieldError].
func New(c Config) (*Limiter, error) {
	if c.Store == nil {
		return nil, errors.New("core: Config.Store is nil, want a store such as memstore.New")
	}
	l := &Limiter{store: c.Store, observer: c.Observer}
	if err := l.load(&c); err != nil {
		return nil, err
	}
	return l, nil
}

// Update replaces the table. What keys have spent is kept, also when their quotas
// change. Config.Store, Observer and Secret are ignored: those stay. When the
// new table is wrong, or an adapter that is mounted cannot serve it, the old one
// stays in force and the error says why.
func (l *Limiter) Update(c Config) error {
	err := l.load(&c)
	if l.observer != nil {
		l.observer.Reloaded(err)
	}
	return err
}

func (l *Limiter) load(c *Config) error {
	l.updating.Lock()
	defer l.updating.Unlock()
	if l.secret == nil {
		secret, err := secretFor(c, l.store.Traits())
		if err != nil {
			return err
		}
		l.secret = secret
	}
	c.Secret = l.secret
	t, err := compile(*c)
	if err != nil {
		return err
	}
	if err := checkSupport(t, l.store.Traits()); err != nil {
		return err
	}
	if err := l.checkMounts(t); err != nil {
		return err
	}
	l.table.Store(t)
	return nil
}

// sharedSecret keys the hashes in a shared store when the program gives no secret
// of its own. It keeps keys unreadable to the eye, and no more.
const sharedSecret = "tidegate"

// secretFor returns the secret of keys: the configured one, or one that every
// process arrives at when they share a store, or a random one.
func secretFor(c *Config, traits Traits) ([]byte, error) {
	switch {
	case len(c.Secret) > 0:
		return slices.Clone(c.Secret), nil
	case traits.Shared:
		return []byte(sharedSecret), nil
	}
	secret := make([]byte, 16)
	_, err := rand.Read(secret)
	return secret, err
}

// checkSupport refuses what this store cannot do.
func checkSupport(t *table, traits Traits) error {
	var p problems
	for _, r := range t.limits {
		if r.policy == FailLocal && traits.Shared && !traits.FailsOver {
			p.add(limitPath(r.index)+".store_failure", "is local, and this store does not go on without its server; put store.NewFailsafe around it, or choose open or closed")
		}
	}
	return p.err()
}

// Close releases what the limiter holds. The store stays open: it may be shared.
// Decisions after Close go on as before.
func (l *Limiter) Close() error { return nil }

// Store returns the limiter's store.
func (l *Limiter) Store() Store { return l.store }

// A Route is a route that a framework knows, as the framework writes it.
type Route struct {
	Method string // empty: any
	Path   string
	Syntax RouteSyntax
}

// ServeMuxRoute returns the route of a pattern of net/http's ServeMux, such as
// "GET /orders/{id}".
func ServeMuxRoute(pattern string) Route {
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		method, path = "", pattern
	}
	return Route{Method: method, Path: strings.TrimLeft(path, " \t"), Syntax: Braces}
}

// CheckRoutes compares the table with the routes that a framework knows, and
// returns an error that names every match and except that fits none of them.
func (l *Limiter) CheckRoutes(routes []Route) error {
	var p problems
	t := l.table.Load()
	check := func(path string, patterns []Pattern) {
		for i, pattern := range patterns {
			if !fitsAny(pattern, routes) {
				p.add(indexed(path, i), "%q fits no route of this program", pattern)
			}
		}
	}
	for i, e := range t.exempt {
		check(indexed("exempt", i)+".match", e.match)
	}
	for _, r := range t.limits {
		check(limitPath(r.index)+".match", r.match)
		check(limitPath(r.index)+".except", r.except)
	}
	return p.err()
}

func fitsAny(p Pattern, routes []Route) bool {
	for _, r := range routes {
		method := r.Method
		if method == "" {
			method = orDefault(p.method, "GET")
		}
		if p.matches(canonicalRoute(r.Syntax, method, r.Path)) {
			return true
		}
	}
	return false
}

// HasLimit reports whether the table has a limit of this name.
func (l *Limiter) HasLimit(name string) bool {
	return l.table.Load().byName[name] != nil
}

// Names returns the names of the table's limits, in its order.
func (l *Limiter) Names() []string {
	var names []string
	for _, r := range l.table.Load().limits {
		names = append(names, r.Name)
	}
	return names
}

// failed tells the observer of a store's failure. A caller who left is none.
func (l *Limiter) failed(ctx context.Context, err error) {
	if l.observer != nil && ctx.Err() == nil {
		l.observer.Failed(ctx, err)
	}
}
