package httpmw_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/httpmw"
	"github.com/tidegate/tidegate/httpmw/clientip"
	"github.com/tidegate/tidegate/httpmw/httpmwtest"
)

// TestSuiteCatches proves the suite by adapters that are wrong on purpose: each is
// named after its fault and must be caught by the case that exists to catch it.
func TestSuiteCatches(t *testing.T) {
	for _, tt := range []struct {
		fault string
		by    string
		mount httpmwtest.Mount
	}{
		{"runs the handler of a denied request", "DenialGolden", outside(runsDenied)},
		{"says nothing when it allows", "AllowedHeaders", response(func(status int, h http.Header) { dropIf(status == 200, h, "Ratelimit") })},
		{"lets denials be cached", "DenialGolden", response(func(_ int, h http.Header) { h.Del("Cache-Control") })},
		{"answers plain text", "DenialGolden", response(func(_ int, h http.Header) { h.Set("Content-Type", "text/plain") })},
		{"rounds Retry-After down", "RetryAfterIsTrue", response(func(_ int, h http.Header) { replace(h, "Retry-After", "7", "6"); replace(h, "Retry-After", "3", "2") })},
		{"sends Retry-After always", "NeverFits", response(func(_ int, h http.Header) { h.Set("Retry-After", "1") })},
		{"sends Retry-After when it allows", "AllowedHeaders", response(func(status int, h http.Header) { setIf(status == 200, h, "Retry-After", "0") })},
		{"repeats its fields", "MountedTwice", response(func(_ int, h http.Header) { h.Add("Ratelimit-Policy", `"first";q=1`) })},
		{"names a hidden limit", "HiddenIsNamedNowhere", response(func(_ int, h http.Header) { h.Set("X-Limits", "secret") })},
		{"keeps the validators of content", "OuterHeadersOfContentGo", response(func(_ int, h http.Header) { h.Set("Etag", `"x"`) })},
		{"answers an outage with 500", "ClosedStoreFailure", status(503, 500)},
		{"answers an outage with 429", "ClosedStoreFailure", status(503, 429)},
		{"closes every connection", "LargeBodies", response(func(_ int, h http.Header) { h.Set("Connection", "close") })},
		{"waits for the body", "LargeBodies", outside(readsBody)},
		{"believes X-Forwarded-For", "SpoofedAddresses", outside(believesForwarded)},
		{"counts preflights", "Preflights", outside(blindToPreflights)},
		{"treats every OPTIONS as a preflight", "Preflights", outside(everyOptionsFree)},
		{"hides what the writer can do", "InterfacesOfTheWriter", outside(hidesInterfaces)},
		{"buffers responses", "Streams", outside(buffers)},
		{"recovers from panics", "PanicInIdentify", outside(recovers)},
		{"counts by raw path", "RouteParameters", rebuilt(httpmw.RouteFunc(func(r *http.Request) string { return r.URL.Path }))},
		{"knows no route", "RouteParameters", rebuilt(httpmw.RouteFunc(func(*http.Request) string { return "" }))},
		{"forgets what an outer mount decided", "TwoStages", forgetful},
		{"hides the decision", "DecisionInAHandler", app(func(a *httpmwtest.App) { eachRoute(a, losesContext) })},
		{"ignores costs", "NeverFits", app(func(a *httpmwtest.App) { a.Costs = nil })},
		{"ignores skip", "NothingIsSaidOfUnlimited", app(func(a *httpmwtest.App) { a.Skip = nil })},
		{"ignores the caller", "OneDecision", app(func(a *httpmwtest.App) { a.Identify = nil })},
		{"believes any credential", "InventedKeys", app(func(a *httpmwtest.App) { a.Identify = anyKey })},
		{"ignores the proxy", "TrustedProxy", app(func(a *httpmwtest.App) { a.ClientIP = nil })},
		{"ignores the denial handler", "CustomDenial", app(func(a *httpmwtest.App) { a.OnDenied = nil })},
		{"sends other fields than asked", "Trios", app(func(a *httpmwtest.App) { a.SetHeaders = false })},
		{"exposes nothing", "Exposed", app(func(a *httpmwtest.App) { a.ExposeHeaders = false })},
		{"mounts no limit on the route", "OneLimitOnOneRoute", app(func(a *httpmwtest.App) { a.Routes[0].Limit = "" })},
		{"forgets the caller on a route", "RouteLimitKnowsTheCaller", routeLimit(func(next http.Handler) http.Handler { return next }, httpmw.Identify(nobody))},
		{"forgets the address on a route", "RouteLimitKnowsTheAddress", routeLimit(func(next http.Handler) http.Handler { return next }, httpmw.ClientIP(&clientip.Resolver{}))},
		{"forgets the costs on a route", "RouteLimitKnowsTheRest", routeLimit(func(next http.Handler) http.Handler { return next }, httpmw.Cost("own", one))},
		{"forgets the mount around a route", "RouteDenialChargesNothing", routeLimit(losesItsContext)},
		{"forgets the mount outside", "LimitOutside", forgetfulOutside},
		{"tells quotas in an outage", "RouteOutageTellsNothing", response(func(status int, h http.Header) { setIf(status == 503, h, "Ratelimit", `"all";r=9`) })},
		{"hides an identity outside", "IdentityOutside", app(func(a *httpmwtest.App) { a.Identify = nobody })},
		{"hides the request from direct calls", "EmptyKeysInAHandler", app(func(a *httpmwtest.App) { eachRoute(a, losesContext) })},
		{"decides what it skips", "DecisionOfNone", app(func(a *httpmwtest.App) { a.Skip = nil })},
		{"takes any name", "MisspeltNames", app(func(a *httpmwtest.App) { a.Costs, a.Values = nil, nil })},
		{"takes any table", "UpdateThatCannotBeServed", app(func(a *httpmwtest.App) { a.Fallback = func(http.ResponseWriter, *http.Request) {} })},
		{"tells the inner limiter only", "TriosOfTwoLimiters", app(func(a *httpmwtest.App) { a.Limiter, a.Inner = a.Inner, nil })},
		{"shares header values", "ValuesAreTheResponsesOwn", outside(sharesValues)},
		{"lists fields twice", "Exposed", response(func(_ int, h http.Header) { h.Add("Access-Control-Expose-Headers", "RateLimit") })},
		{"reads every colon as a parameter", "LiteralColons", rebuilt(httpmw.RouteFunc(everyColon))},
		{"takes a catch-all for the root", "TheRootIsNotEverything", rebuilt(httpmw.RouteFunc(func(*http.Request) string { return "/" }))},
		{"leaves files behind", "UploadedFiles", outside(copiesRequests)},
		{"limits nobody at once", "AtOnce", rebuilt(httpmw.Skip(everybody))},
		{"frees slots of those who leave", "SlotsOfThoseWhoLeave", rebuilt(httpmw.Skip(everybody))},
		{"keeps slots", "SlotsComeBack", keepsSlots},
		{"keeps slots of the denied", "SlotsOfTheDenied", response(func(status int, h http.Header) { setIf(status == 429, h, "Ratelimit", `"in-flight";r=0`) })},
		{"counts a takeover as 200", "Takeover", app(func(a *httpmwtest.App) { eachRoute(a, answers(200)) })},
		{"counts a failed takeover as 101", "FailedTakeover", app(func(a *httpmwtest.App) { eachRoute(a, answers(418)) })},
		{"answers before the handler", "OnlySomeStatusesCount", app(func(a *httpmwtest.App) { eachRoute(a, answers(401)) })},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			for _, c := range httpmwtest.Cases() {
				if c.Name != tt.by {
					continue
				}
				if err := httpmwtest.Check(t, tt.mount, c, 1); err == nil {
					t.Errorf("an adapter that %s passes %s", tt.fault, tt.by)
				}
				return
			}
			t.Errorf("there is no case %s", tt.by)
		})
	}
}

// outside puts a fault in front of a correct adapter.
func outside(fault func(httpmwtest.App, http.Handler) http.Handler) httpmwtest.Mount {
	return func(t testing.TB, app httpmwtest.App) http.Handler { return fault(app, mount(t, app)) }
}

// app changes what the adapter is asked to build.
func app(change func(*httpmwtest.App)) httpmwtest.Mount {
	return func(t testing.TB, a httpmwtest.App) http.Handler {
		change(&a)
		return mount(t, a)
	}
}

// rebuilt mounts with a wrong option.
func rebuilt(wrong httpmw.Option) httpmwtest.Mount {
	return func(_ testing.TB, a httpmwtest.App) http.Handler {
		mux := http.NewServeMux()
		for _, r := range a.Routes {
			mux.Handle(r.Method+" "+r.Path, r.Handle)
		}
		return httpmw.New(a.Limiter, append(options(a), wrong)...)(mux)
	}
}

// response changes the headers as they are sent.
func response(change func(status int, h http.Header)) httpmwtest.Mount {
	return outside(func(_ httpmwtest.App, h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(&meddler{ResponseWriter: w, change: change}, r)
		})
	})
}

func status(from, to int) httpmwtest.Mount {
	return outside(func(_ httpmwtest.App, h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(&meddler{ResponseWriter: w, change: func(int, http.Header) {}, from: from, to: to}, r)
		})
	})
}

type meddler struct {
	http.ResponseWriter
	change   func(int, http.Header)
	from, to int
	sent     bool
}

func (m *meddler) WriteHeader(status int) {
	if !m.sent {
		m.sent = true
		m.change(status, m.Header())
	}
	if status == m.from {
		status = m.to
	}
	m.ResponseWriter.WriteHeader(status)
}

func (m *meddler) Write(b []byte) (int, error) {
	if !m.sent {
		m.WriteHeader(200)
	}
	return m.ResponseWriter.Write(b)
}

func dropIf(drop bool, h http.Header, name string) {
	if drop {
		h.Del(name)
	}
}

func setIf(set bool, h http.Header, name, value string) {
	if set {
		h.Set(name, value)
	}
}

func replace(h http.Header, name, old, value string) {
	if h.Get(name) == old {
		h.Set(name, value)
	}
}

func runsDenied(a httpmwtest.App, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.Routes[0].Handle(httptest.NewRecorder(), r)
		h.ServeHTTP(w, r)
	})
}

func readsBody(_ httpmwtest.App, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = new(bytes.Buffer).ReadFrom(r.Body)
		h.ServeHTTP(w, r)
	})
}

func believesForwarded(_ httpmwtest.App, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if addr := r.Header.Get("X-Forwarded-For"); addr != "" {
			r.RemoteAddr = addr + ":1"
		}
		h.ServeHTTP(w, r)
	})
}

func blindToPreflights(_ httpmwtest.App, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Access-Control-Request-Method")
		h.ServeHTTP(w, r)
	})
}

func everyOptionsFree(_ httpmwtest.App, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			w.WriteHeader(200)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func hidesInterfaces(_ httpmwtest.App, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(struct{ http.ResponseWriter }{w}, r)
	})
}

func buffers(_ httpmwtest.App, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&lateFlusher{w}, r)
	})
}

// lateFlusher says that it can flush, and does not.
type lateFlusher struct{ http.ResponseWriter }

func (*lateFlusher) Flush() {}

func recovers(a httpmwtest.App, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil {
				a.Routes[0].Handle(w, r)
			}
		}()
		h.ServeHTTP(w, r)
	})
}

// forgetful mounts both stages so that the inner one cannot see the outer one.
func forgetful(_ testing.TB, a httpmwtest.App) http.Handler {
	mux := http.NewServeMux()
	for _, r := range a.Routes {
		mux.Handle(r.Method+" "+r.Path, r.Handle)
	}
	main := httpmw.New(a.Limiter, append(options(a), httpmw.Routes(mux))...)(mux)
	cut := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		main.ServeHTTP(w, r.WithContext(context.Background()))
	})
	return httpmw.New(a.Limiter, append(options(a), httpmw.Routes(mux), httpmw.Stage(core.Early))...)(cut)
}

// forgetfulOutside mounts a limit outside so that the main mount cannot see it.
func forgetfulOutside(t testing.TB, a httpmwtest.App) http.Handler {
	limit := a.Outer
	a.Outer = ""
	return httpmw.Limit(a.Limiter, limit, options(a)...)(losesItsContext(mount(t, a)))
}

func eachRoute(a *httpmwtest.App, fault func(http.HandlerFunc) http.HandlerFunc) {
	a.Routes = append([]httpmwtest.Route(nil), a.Routes...)
	for i := range a.Routes {
		a.Routes[i].Handle = fault(a.Routes[i].Handle)
	}
}

func losesContext(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { next(w, r.WithContext(context.Background())) }
}

func answers(status int) func(http.HandlerFunc) http.HandlerFunc {
	return func(http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
}

func nobody(*http.Request) core.Identity { return core.Identity{} }

func one(*http.Request) int64 { return 1 }

// routeLimit mounts limits on routes with options too many, inside a fault.
func routeLimit(fault func(http.Handler) http.Handler, wrong ...httpmw.Option) httpmwtest.Mount {
	return func(_ testing.TB, a httpmwtest.App) http.Handler {
		mux := http.NewServeMux()
		for _, r := range a.Routes {
			var h http.Handler = r.Handle
			if r.Limit != "" {
				h = fault(httpmw.Limit(a.Limiter, r.Limit, append(options(a.OnRoute()), wrong...)...)(h))
			}
			mux.Handle(r.Method+" "+r.Path, h)
		}
		h := httpmw.New(a.Limiter, append(options(a), httpmw.Routes(mux))...)(mux)
		if a.Early {
			h = httpmw.New(a.Limiter, httpmw.Routes(mux), httpmw.Stage(core.Early))(h)
		}
		return h
	}
}

func losesItsContext(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, _ := core.IdentityFrom(r.Context())
		next.ServeHTTP(w, r.WithContext(core.WithIdentity(context.Background(), id)))
	})
}

// sharesValues sends the same slice with every response.
func sharesValues(_ httpmwtest.App, h http.Handler) http.Handler {
	shared := []string{"shared"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-Shared"] = shared
		h.ServeHTTP(w, r)
	})
}

// everyColon takes what follows a colon for a parameter.
func everyColon(r *http.Request) string {
	path, _, found := strings.Cut(r.URL.Path, ":")
	if found {
		path += "{x}"
	}
	return path
}

func copiesRequests(_ httpmwtest.App, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r.WithContext(r.Context())) })
}

func anyKey(r *http.Request) core.Identity {
	return core.Identity{Principal: strings.TrimSpace(r.Header.Get("X-API-Key"))}
}

func everybody(*http.Request) bool { return true }

// keepsSlots has the request hold one more slot than is ever given back.
func keepsSlots(t testing.TB, a httpmwtest.App) http.Handler {
	next := mount(t, a)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			_, _ = a.Limiter.Allow(context.Background(), "in-flight", r.Header.Get("X-User"), 1)
		}()
		next.ServeHTTP(w, r)
	})
}
