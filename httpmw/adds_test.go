package httpmw_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/headers"
	"github.com/tidegate/tidegate/httpmw"
	"github.com/tidegate/tidegate/store/memstore"
)

func limiter(t testing.TB, limits ...core.Limit) *core.Limiter {
	t.Helper()
	l, err := core.New(core.Config{Store: memstore.New(memstore.Config{MaxKeys: 1000}), Limits: append([]core.Limit{}, limits...)})
	require.NoError(t, err)
	return l
}

func perHour(name string, n int64) core.Limit {
	return core.Limit{Name: name, Quota: core.TokenBucket(n, time.Hour)}
}

func TestMisuseFailsAtStartUp(t *testing.T) {
	routed := perHour("a", 1)
	routed.Match = []string{"GET /x"}
	soft := perHour("a", 1)
	soft.Exceeded = core.Fallback
	valued := perHour("a", 1)
	valued.Key = core.ByValue("org")
	next := http.NotFoundHandler()
	for name, misuse := range map[string]func(){
		"no limiter":                  func() { httpmw.New(nil) },
		"routes that cannot be seen":  func() { httpmw.New(limiter(t, routed))(next) },
		"no fallback handler":         func() { httpmw.New(limiter(t, soft)) },
		"no extractor":                func() { httpmw.New(limiter(t, valued)) },
		"a cost of no limit":          func() { httpmw.New(limiter(t), httpmw.Cost("b", func(*http.Request) int64 { return 1 })) },
		"conflicting fields":          func() { httpmw.New(limiter(t), httpmw.Headers(headers.DraftC|headers.Draft06)) },
		"a limit without a name":      func() { httpmw.Limit(limiter(t), "") },
		"a limit that does not exist": func() { httpmw.Limit(limiter(t), "b") },
	} {
		require.Panics(t, misuse, name)
	}
	require.NotPanics(t, func() {
		httpmw.New(limiter(t, routed))(http.NewServeMux())
		httpmw.New(limiter(t, routed), httpmw.PerRoute())(next)
		httpmw.New(limiter(t, perHour("a", 1)))(next)
		httpmw.New(limiter(t, soft), httpmw.Fallback(next), httpmw.KeepConnections(), httpmw.Headers(0))(next)
	})
}

func TestTablesThatNeedRoutesAreRefusedWhereTheyCannotBeSeen(t *testing.T) {
	routed := perHour("a", 1)
	routed.Match = []string{"GET /x"}
	next := http.NotFoundHandler()
	for name, tt := range map[string]struct {
		mount func(*core.Limiter) http.Handler
		sees  bool
	}{
		"a handler":            {func(l *core.Limiter) http.Handler { return httpmw.New(l)(next) }, false},
		"a mux":                {func(l *core.Limiter) http.Handler { return httpmw.New(l)(http.NewServeMux()) }, true},
		"a handler of a route": {func(l *core.Limiter) http.Handler { return httpmw.New(l, httpmw.PerRoute())(next) }, true},
		"a limit of a route":   {func(l *core.Limiter) http.Handler { return httpmw.Limit(l, "a")(next) }, true},
	} {
		l := limiter(t, perHour("a", 1))
		h := tt.mount(l)
		err := l.Update(core.Config{Limits: []core.Limit{routed}})
		if tt.sees {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, "limits[0].match: depends on routes", name)
		}
		runtime.KeepAlive(h)
	}
}

func TestOptionsWithoutAFunction(t *testing.T) {
	l := limiter(t, perHour("a", 1))
	h := httpmw.New(l, httpmw.Identify(nil), httpmw.Skip(nil), httpmw.OnDenied(nil), httpmw.Fallback(nil), httpmw.RouteFunc(nil))(http.NotFoundHandler())
	for _, want := range []int{404, 429} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		require.Equal(t, want, w.Code)
	}
	require.PanicsWithValue(t, `httpmw: New: the cost of the limit "a" is nil, want a function`, func() { httpmw.New(l, httpmw.Cost("a", nil)) })
	require.Panics(t, func() { httpmw.Routes(nil) })
}

func TestEachWayToKnowTheRoute(t *testing.T) {
	routed := perHour("a", 1)
	routed.Match = []string{"GET /x/{id}"}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.PathValue("id")) })
	for name, build := range map[string]func(*core.Limiter) http.Handler{
		"outside, told": func(l *core.Limiter) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("GET /x/{id}", handler)
			return httpmw.New(l, httpmw.Routes(mux))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mux.ServeHTTP(w, r) }))
		},
		"outside, a mux itself": func(l *core.Limiter) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("GET /x/{id}", handler)
			return httpmw.New(l)(mux)
		},
		"around one handler": func(l *core.Limiter) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("GET /x/{id}", httpmw.New(l, httpmw.PerRoute())(handler))
			return mux
		},
		"by a function": func(l *core.Limiter) http.Handler {
			return httpmw.New(l, httpmw.RouteFunc(func(*http.Request) string { return "/x/{id}" }))(handler)
		},
	} {
		h := build(limiter(t, routed))
		for i, want := range []int{200, 429} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", fmt.Sprintf("/x/%d", i), nil))
			require.Equal(t, want, w.Code, name)
		}
	}
}

func TestThePatternIsSeenOutside(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("GET /x", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequest("GET", "/x", nil)
	httpmw.New(limiter(t, perHour("a", 1)))(mux).ServeHTTP(httptest.NewRecorder(), r)
	require.Equal(t, "GET /x", r.Pattern)
}

func TestCheckRoutes(t *testing.T) {
	l := perHour("a", 1)
	l.Match = []string{"GET /x", "POST /y"}
	require.NoError(t, httpmw.CheckRoutes(limiter(t, l), "GET /x", "/y"))
	require.ErrorContains(t, httpmw.CheckRoutes(limiter(t, l), "GET /x"), "limits[0].match[1]")
}

func TestACallerIsAVerifiedCertificate(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	certificate := func(uris ...string) tls.Certificate {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "robot"}, NotAfter: time.Now().Add(time.Hour),
			IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		for _, text := range uris {
			u, err := url.Parse(text)
			require.NoError(t, err)
			template.URIs = append(template.URIs, u)
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		require.NoError(t, err)
		leaf, err := x509.ParseCertificate(der)
		require.NoError(t, err)
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	}
	for name, tt := range map[string]struct {
		auth   tls.ClientAuthType
		client []tls.Certificate
		want   string
	}{
		"a URI name":   {tls.VerifyClientCertIfGiven, []tls.Certificate{certificate("spiffe://a/robot")}, "spiffe://a/robot pro"},
		"a subject":    {tls.VerifyClientCertIfGiven, []tls.Certificate{certificate()}, "CN=robot pro"},
		"none":         {tls.VerifyClientCertIfGiven, nil, " "},
		"not verified": {tls.RequestClientCert, []tls.Certificate{certificate("spiffe://a/robot")}, " "},
	} {
		l := perHour("a", 100)
		h := httpmw.New(limiter(t, l), httpmw.Identify(httpmw.ByCertificate("pro")))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := httpmw.Decision(r).Identity()
			fmt.Fprint(w, id.Principal, " ", id.Tier)
		}))
		server := httptest.NewUnstartedServer(h)
		roots := x509.NewCertPool()
		for _, c := range tt.client {
			roots.AddCert(c.Leaf)
		}
		server.TLS = &tls.Config{ClientAuth: tt.auth, ClientCAs: roots}
		server.StartTLS()
		client := server.Client()
		client.Transport.(*http.Transport).TLSClientConfig.Certificates = tt.client
		response, err := client.Get(server.URL)
		require.NoError(t, err, name)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err, name)
		require.Equal(t, tt.want, string(body), name)
		require.NoError(t, response.Body.Close())
		server.Close()
	}
	require.Empty(t, httpmw.CertificatePrincipal(httptest.NewRequest("GET", "/", nil)))
}

// blank is a ResponseWriter that can be used again.
type blank struct{ h http.Header }

func (b *blank) Header() http.Header         { return b.h }
func (b *blank) Write(p []byte) (int, error) { return len(p), nil }
func (b *blank) WriteHeader(int)             {}

func BenchmarkMiddleware(b *testing.B) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /x", func(http.ResponseWriter, *http.Request) {})
	for name, h := range map[string]http.Handler{
		"bare":    mux,
		"allowed": httpmw.New(limiter(b, perHour("a", 1e12)))(mux),
		"denied":  httpmw.New(limiter(b, perHour("a", 0)))(mux),
	} {
		b.Run(name, func(b *testing.B) {
			r, w := httptest.NewRequest("GET", "/x", nil), &blank{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.h)
				h.ServeHTTP(w, r)
			}
		})
	}
}

func Example() {
	limiter, err := core.New(core.Config{
		Store:  memstore.New(memstore.Config{}),
		Limits: []core.Limit{{Name: "create-order", Match: []string{"POST /orders"}, Quota: core.FixedWindow(1, core.Day)}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	handler := httpmw.New(limiter, httpmw.Routes(mux))(mux)
	for range 2 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("POST", "/orders", nil))
		fmt.Println(w.Code, w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// 201 "create-order";q=1;w=86400
	// 429 "create-order";q=1;w=86400
}
