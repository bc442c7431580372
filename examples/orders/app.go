package main

import (
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/config"
	"github.com/tidegate/tidegate/headers"
	"github.com/tidegate/tidegate/httpmw/clientip"
	"github.com/tidegate/tidegate/store/open"
	"github.com/tidegate/tidegate/store/redisstore"
)

//go:embed limits.yaml
var builtin []byte

// An app is the service with its limits. Its handler is replaced when the limits
// are loaded again; what callers have spent stays in the limiter's store.
type app struct {
	flags   flags
	service *service
	limiter *core.Limiter
	store   core.Store
	handler atomic.Pointer[http.Handler]
}

// A gate is what every router needs of the limits in force.
type gate struct {
	limiter  *core.Limiter
	identify func(*http.Request) core.Identity
	clientIP *clientip.Resolver
	headers  headers.Styles
}

// routers builds the service in each framework.
var routers = map[string]func(*service, gate) http.Handler{
	"gin":  newGin,
	"echo": newEcho,
	"http": newHTTP,
}

func newApp(f flags) (*app, error) {
	file, err := load(f.config)
	if err != nil {
		return nil, err
	}
	a := &app{flags: f}
	if a.store, err = openStore(f, file.Store); err != nil {
		return nil, err
	}
	table := file.Core
	table.Store = a.store
	if a.limiter, err = core.New(table); err != nil {
		return nil, err
	}
	a.service = newService(a.limiter)
	return a, a.mount(file)
}

// openStore makes the store of the flags, or else of the limits file.
func openStore(f flags, c config.Store) (core.Store, error) {
	switch {
	case f.store == "memory":
		c.Redis = nil
	case f.store != "":
		redis := config.Redis{URL: f.store}
		if c.Redis != nil {
			redis.Prefix, redis.Timeout = c.Redis.Prefix, c.Redis.Timeout
		}
		c.Redis = &redis
	}
	timeout := redisstore.DefaultTimeout
	if c.Redis != nil && c.Redis.Timeout > 0 {
		timeout = c.Redis.Timeout
	}
	return open.Store(c, open.Options{
		Wrap: func(s core.Store) core.Store { return f.drill.Around(s, timeout) },
	})
}

func load(path string) (*config.File, error) {
	if path == "" {
		return config.Parse("limits.yaml", builtin)
	}
	return config.Load(path)
}

// mount puts a handler for the limits of file in place.
func (a *app) mount(file *config.File) error {
	styles, err := headers.ParseStyles(file.Headers)
	if err != nil {
		return err
	}
	resolver, err := clientip.New(clientip.Config{
		TrustedProxies: file.Client.TrustedProxies,
		Header:         file.Client.IPHeader,
	})
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	h := routers[a.flags.framework](a.service, gate{
		limiter:  a.limiter,
		identify: func(r *http.Request) core.Identity { return identify(&file.Principals, r) },
		clientIP: resolver,
		headers:  styles,
	})
	a.handler.Store(&h)
	return nil
}

// identify looks the caller up. An unknown key is no principal: otherwise every
// invented one would come with a fresh quota.
func identify(p *config.Principals, r *http.Request) core.Identity {
	if p.Header == "" {
		return core.Identity{}
	}
	id, _ := p.Lookup(r.Header.Get(p.Header))
	return id
}

// ServeHTTP serves by the limits in force.
func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*a.handler.Load()).ServeHTTP(w, r) }

// reload loads the limits file again. When it is wrong the old limits stay.
func (a *app) reload(stderr io.Writer) {
	file, err := load(a.flags.config)
	if err == nil {
		err = a.limiter.Update(file.Core)
	}
	if err == nil {
		err = a.mount(file)
	}
	if err != nil {
		fmt.Fprintf(stderr, "limits not reloaded, the old ones stay in force:\n%v\n", err)
		return
	}
	fmt.Fprintln(stderr, "limits reloaded")
}

func (a *app) close() {
	_ = a.limiter.Close()
	_ = a.store.Close()
}

// content returns the limits file's text, and false when it cannot be read: a file
// that is being replaced is not there for a moment.
func (a *app) content() (string, bool) {
	b, err := os.ReadFile(a.flags.config)
	return string(b), err == nil
}
