package httpmwtest

import (
	"io"
	"log"
	"net/http"
	"testing"
	"time"

	"github.com/tidegate/tidegate/core"
)

var quiet = log.New(io.Discard, "", 0)

// Cases returns the suite.
func Cases() []Case {
	var all []Case
	for _, area := range [][]Case{answers(), callers(), routes(), mounts(), plumbing(), outcomes(), inFlight(), failures()} {
		all = append(all, area...)
	}
	return all
}

func bucket(name string, n int64, per time.Duration) core.Limit {
	return core.Limit{Name: name, Quota: core.TokenBucket(n, per)}
}

// around puts middleware of net/http outside of what the probe mounts.
func (p *Probe) around(middleware func(http.Handler) http.Handler) {
	mount := p.mount
	p.mount = func(t testing.TB, app App) http.Handler { return middleware(mount(t, app)) }
}

// manual is a limit that only a mount of its own or Go code charges.
func manual(l core.Limit) core.Limit {
	l.Manual = true
	return l
}

// user identifies callers by a field that authentication would have checked.
func user(r *http.Request) core.Identity {
	return core.Identity{Principal: r.Header.Get("X-User"), Tier: r.Header.Get("X-Tier")}
}
