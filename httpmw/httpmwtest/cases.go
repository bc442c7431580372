package httpmwtest

import (
	"io"
	"log"
	"net/http"
	"time"

	"github.com/tidegate/tidegate/core"
)

var quiet = log.New(io.Discard, "", 0)

// Cases returns the suite.
func Cases() []Case {
	var all []Case
	for _, area := range [][]Case{answers(), callers(), routes(), plumbing(), outcomes(), failures()} {
		all = append(all, area...)
	}
	return all
}

func bucket(name string, n int64, per time.Duration) core.Limit {
	return core.Limit{Name: name, Quota: core.TokenBucket(n, per)}
}

// user identifies callers by a field that authentication would have checked.
func user(r *http.Request) core.Identity {
	return core.Identity{Principal: r.Header.Get("X-User"), Tier: r.Header.Get("X-Tier")}
}
