package httpmwtest

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
	"github.com/tidegate/tidegate/headers"
)

func answers() []Case {
	return []Case{
		{"AllowedHeaders", "An allowed response carries RateLimit-Policy and RateLimit, one item for each visible limit in the table's order, and no Retry-After.", allowedHeaders},
		{"DenialGolden", "A denial is 429 with problem+json that no cache keeps, blames the denying limits only and says when to come back.", denialGolden},
		{"RetryAfterIsTrue", "A client that sleeps exactly Retry-After is admitted; one that comes back before it could not have been.", retryAfterIsTrue},
		{"OneDecision", "A request that one limit denies is charged by none.", oneDecision},
		{"HeadHasNoBody", "HEAD is counted as GET, and its denial has no body.", headHasNoBody},
		{"HiddenIsNamedNowhere", "A hidden limit is enforced, and named in no header and no body.", hiddenIsNamedNowhere},
		{"NothingIsSaidOfUnlimited", "Unlimited, exempt and skipped requests get no headers.", nothingIsSaidOfUnlimited},
		{"NeverFits", "A cost that can never fit is denied without Retry-After, and charges nothing.", neverFits},
		{"Trios", "The older fields are set once, from the tightest limit.", trios},
		{"OuterHeadersOfContentGo", "A denial drops what middleware outside said of the content, and keeps the rest.", outerHeaders},
		{"TriosOfTwoLimiters", "Of two limiters, one inside the other, the older fields tell the tightest limit.", triosOfTwoLimiters},
		{"Exposed", "Scripts of other origins can read the fields when asked for, and no field is listed twice.", exposed},
		{"ValuesAreTheResponsesOwn", "Middleware that edits a response's headers in place changes no other response.", valuesAreTheResponsesOwn},
		{"PenaltyIsNamed", "The denial that starts a block already says so.", penaltyIsNamed},
		{"CustomDenial", "A denial handler of the user's finds the headers set, and its answer is the answer.", customDenial},
		{"Fallback", "A fallback answer carries RateLimit and no Retry-After; the handler has not run.", fallback},
		{"ShadowIsSilent", "A shadow limit never denies and is named nowhere.", shadowIsSilent},
	}
}

func allowedHeaders(p *Probe) {
	p.start(App{Identify: user},
		core.Limit{Name: "create-order", Quota: core.TokenBucket(10, time.Second).WithBurst(20)},
		core.Limit{Name: "per-day", Quota: core.FixedWindow(1000, core.Day)})
	r := p.ask("GET", "/x", "X-User", "a")
	p.want("status", r.StatusCode, 200)
	p.want("RateLimit-Policy", strings.Join(r.Header.Values("RateLimit-Policy"), "|"), `"create-order";q=20;w=2, "per-day";q=1000;w=86400`)
	p.want("RateLimit", strings.Join(r.Header.Values("RateLimit"), "|"), `"create-order";r=19;t=1, "per-day";r=999;t=6400`)
	p.want("Retry-After", r.Header.Get("Retry-After"), "")
	p.want("body", r.body, "ok")
}

func denialGolden(p *Probe) {
	ran := 0
	p.start(App{Identify: user, Routes: []Route{{Method: "POST", Path: "/orders", Handle: func(w http.ResponseWriter, _ *http.Request) { ran++; w.WriteHeader(201) }}}},
		core.Limit{Name: "create-order", Match: []string{"POST /orders"}, Quota: core.TokenBucket(10, time.Second).WithBurst(2)},
		core.Limit{Name: "per-day", Quota: core.FixedWindow(39, core.Day)})
	p.want("statuses", p.statuses(2, "POST", "/orders", "X-User", "a"), "201 201")
	r := p.ask("POST", "/orders", "X-User", "a")
	p.want("status", r.StatusCode, 429)
	p.want("handler runs", ran, 2)
	p.want("Content-Type", r.Header.Get("Content-Type"), "application/problem+json")
	p.want("Cache-Control", r.Header.Get("Cache-Control"), "no-store")
	p.want("Retry-After", r.Header.Get("Retry-After"), "1")
	p.want("RateLimit", r.Header.Get("RateLimit"), `"create-order";r=0;t=1`)
	p.want("Content-Length", r.Header.Get("Content-Length"), strconv.Itoa(len(r.body)))
	p.want("body", r.body, `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,`+
		`"detail":"Too many requests. Retry in 1 second.","violated-policies":["create-order"],"retry_after_ms":100,`+
		`"limits":{"create-order":{"limit":2,"remaining":0,"exceeded":true,"retry_after_ms":100},"per-day":{"limit":39,"remaining":37,"exceeded":false}}}`)
}

func retryAfterIsTrue(p *Probe) {
	quotas := map[string]core.Quota{
		"token-bucket":   core.TokenBucket(2, 5*time.Second),
		"leaky-bucket":   core.LeakyBucket(2, 5*time.Second),
		"fixed-window":   core.FixedWindow(2, 7*time.Second),
		"sliding-window": core.SlidingWindow(2, 7*time.Second),
		"cells":          core.SlidingWindow(2, 7*time.Second).WithBuckets(3),
		"sliding-log":    core.SlidingLog(2, 7*time.Second),
	}
	var limits []core.Limit
	var list []Route
	for name, q := range quotas {
		limits = append(limits, core.Limit{Name: name, Match: []string{"GET /" + name}, Quota: q})
		list = append(list, Route{Method: "GET", Path: "/" + name, Handle: ok})
	}
	p.start(App{Identify: user, Routes: list}, limits...)
	for name := range quotas {
		p.advance(1234567 * time.Microsecond)
		r := p.ask("GET", "/"+name, "X-User", "a")
		for i := 0; r.StatusCode == 200 && i < 5; i++ {
			r = p.ask("GET", "/"+name, "X-User", "a")
		}
		seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
		if r.StatusCode != 429 || err != nil || seconds < 1 {
			p.errorf("%s: %d with Retry-After %q", name, r.StatusCode, r.Header.Get("Retry-After"))
			continue
		}
		p.advance(time.Duration(seconds-1) * time.Second)
		if seconds > 1 {
			p.want(name+" a second early", p.ask("GET", "/"+name, "X-User", "a").StatusCode, 429)
		}
		p.advance(time.Second)
		p.want(name+" on time", p.ask("GET", "/"+name, "X-User", "a").StatusCode, 200)
	}
}

func oneDecision(p *Probe) {
	p.start(App{Identify: user},
		core.Limit{Name: "global", Key: core.Global, Quota: core.TokenBucket(10, time.Minute)},
		bucket("caller", 1, time.Minute))
	p.want("a", p.statuses(5, "GET", "/x", "X-User", "a"), "200 429 429 429 429")
	for i := range 9 {
		p.want("another", p.ask("GET", "/x", "X-User", "b"+strconv.Itoa(i)).StatusCode, 200)
	}
	p.want("an eleventh", p.ask("GET", "/x", "X-User", "c").StatusCode, 429)
}

func headHasNoBody(p *Probe) {
	p.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/x", Handle: ok}, {Method: "HEAD", Path: "/x", Handle: ok}}},
		core.Limit{Name: "a", Match: []string{"GET /x"}, Quota: core.TokenBucket(1, time.Hour)})
	p.want("HEAD", p.ask("HEAD", "/x", "X-User", "a").StatusCode, 200)
	r := p.ask("HEAD", "/x", "X-User", "a")
	p.want("second HEAD", r.StatusCode, 429)
	p.want("body", r.body, "")
	p.want("Retry-After", r.Header.Get("Retry-After"), "3600")
	p.want("GET", p.ask("GET", "/x", "X-User", "a").StatusCode, 429)
}

func hiddenIsNamedNowhere(p *Probe) {
	hidden := bucket("secret", 1, time.Hour)
	hidden.Visibility = core.Hidden
	p.start(App{Identify: user}, core.Limit{Name: "capacity", Key: core.Global, Quota: core.TokenBucket(100, time.Second)}, hidden, bucket("open", 5, time.Hour))
	first, second := p.ask("GET", "/x", "X-User", "a"), p.ask("GET", "/x", "X-User", "a")
	p.want("second", second.StatusCode, 429)
	p.want("RateLimit of the first", first.Header.Get("RateLimit"), `"open";r=4;t=720`)
	p.want("RateLimit of the second", second.Header.Get("RateLimit"), "")
	for _, r := range []reply{first, second} {
		var text strings.Builder
		_ = r.Header.Write(&text)
		if text.WriteString(r.body); strings.Contains(text.String(), "secret") || strings.Contains(text.String(), "capacity") {
			p.errorf("a hidden limit is named in %s", text.String())
		}
	}
	if !strings.Contains(second.body, `"violated-policies":[]`) {
		p.errorf("body %s, want no policy blamed", second.body)
	}
}

func nothingIsSaidOfUnlimited(p *Probe) {
	p.startWith(App{
		Identify: user,
		Skip:     func(r *http.Request) bool { return r.Header.Get("X-Skip") != "" },
	}, core.Config{
		Exempt: []core.Exemption{{Principals: []string{"monitor"}}},
		Limits: []core.Limit{{Name: "a", Tiers: core.Tiers{"free": core.TokenBucket(1, time.Hour), "max": core.Unlimited}}},
	})
	for _, pairs := range [][]string{{"X-User", "u", "X-Tier", "max"}, {"X-User", "monitor"}, {"X-Skip", "1"}} {
		for range 3 {
			r := p.ask("GET", "/x", pairs...)
			if r.StatusCode != 200 || r.Header.Get("RateLimit")+r.Header.Get("RateLimit-Policy") != "" {
				p.errorf("%v: %d with RateLimit %q", pairs, r.StatusCode, r.Header.Get("RateLimit"))
			}
		}
	}
}

func neverFits(p *Probe) {
	cost := func(r *http.Request) int64 { n, _ := strconv.ParseInt(r.Header.Get("X-Cost"), 10, 64); return n }
	p.start(App{Identify: user, Costs: map[string]func(*http.Request) int64{"a": cost}}, bucket("a", 5, time.Hour))
	r := p.ask("GET", "/x", "X-User", "a", "X-Cost", "6")
	p.want("cost 6 of 5", r.StatusCode, 429)
	p.want("Retry-After", len(r.Header.Values("Retry-After")), 0)
	p.want("RateLimit", r.Header.Get("RateLimit"), `"a";r=5`)
	p.want("cost 0", p.ask("GET", "/x", "X-User", "a", "X-Cost", "0").StatusCode, 200)
	p.want("cost 5", p.ask("GET", "/x", "X-User", "a", "X-Cost", "5").StatusCode, 200)
	p.want("cost 1", p.ask("GET", "/x", "X-User", "a", "X-Cost", "1").StatusCode, 429)
}

func trios(p *Probe) {
	p.start(App{Identify: user, Headers: headers.Draft06 | headers.XDelta, SetHeaders: true, Twice: true},
		bucket("wide", 100, 100*time.Second), bucket("tight", 2, 20*time.Second))
	r := p.ask("GET", "/x", "X-User", "a")
	for name, want := range map[string]string{
		"RateLimit-Limit": "2", "RateLimit-Remaining": "1", "RateLimit-Reset": "10", "RateLimit-Policy": "100;w=100, 2;w=20",
		"X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "10", "RateLimit": "",
	} {
		p.want(name, strings.Join(r.Header.Values(name), "|"), want)
	}
}

func outerHeaders(p *Probe) {
	app := App{Identify: user}
	p.around(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for name, value := range map[string]string{"Cache-Control": "public", "ETag": `"x"`, "Content-Encoding": "gzip", "Expires": "0", "Last-Modified": "now", "Vary": "Origin", "X-Request-Id": "7"} {
				w.Header().Set(name, value)
			}
			h.ServeHTTP(w, r)
		})
	})
	p.start(app, bucket("a", 0, time.Hour))
	r := p.ask("GET", "/x", "X-User", "a")
	p.want("status", r.StatusCode, 429)
	p.want("Cache-Control", strings.Join(r.Header.Values("Cache-Control"), "|"), "no-store")
	p.want("dropped", r.Header.Get("ETag")+r.Header.Get("Content-Encoding")+r.Header.Get("Expires")+r.Header.Get("Last-Modified"), "")
	p.want("kept", r.Header.Get("Vary")+r.Header.Get("X-Request-Id"), "Origin7")
	p.want("Retry-After of a limit of 0", r.Header.Get("Retry-After"), "")
}

func exposed(p *Probe) {
	p.start(App{Identify: user, ExposeHeaders: true}, bucket("a", 1, time.Hour))
	for range 2 {
		r := p.ask("GET", "/x", "X-User", "a", "Origin", "https://other.example")
		p.want("exposed", strings.Join(r.Header.Values("Access-Control-Expose-Headers"), ", "), "RateLimit, RateLimit-Policy, Retry-After")
	}
	p.want("without Origin", p.ask("GET", "/x", "X-User", "b").Header.Get("Access-Control-Expose-Headers"), "")
	p.around(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Expose-Headers", "X-Other,ratelimit")
			h.ServeHTTP(w, r)
		})
	})
	p.start(App{Identify: user, ExposeHeaders: true, Early: true, Routes: []Route{{Method: "GET", Path: "/x", Limit: "own", Handle: ok}}},
		bucket("a", 9, time.Hour), manual(bucket("own", 9, time.Hour)))
	r := p.ask("GET", "/x", "X-User", "a", "Origin", "https://other.example")
	p.want("exposed once", strings.Join(r.Header.Values("Access-Control-Expose-Headers"), ", "), "X-Other,ratelimit, RateLimit-Policy, Retry-After")
}

func triosOfTwoLimiters(p *Probe) {
	tight, wide := bucket("tight", 2, 20*time.Second), bucket("wide", 100, 100*time.Second)
	for _, tt := range []struct{ outer, inner core.Limit }{{tight, wide}, {wide, tight}} {
		inner := p.limiter(core.Config{Limits: []core.Limit{tt.inner}})
		p.start(App{Identify: user, Headers: headers.XDelta, SetHeaders: true, Inner: inner}, tt.outer)
		for _, remaining := range []string{"1", "0", "0"} {
			r := p.ask("GET", "/x", "X-User", "a")
			p.want(tt.inner.Name+" inside", r.Header.Get("X-RateLimit-Limit")+" "+strings.Join(r.Header.Values("X-RateLimit-Remaining"), "|"), "2 "+remaining)
		}
	}
}

func valuesAreTheResponsesOwn(p *Probe) {
	p.around(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r)
			for _, values := range w.Header() {
				for i := range values {
					values[i] = "spoiled"
				}
			}
		})
	})
	p.start(App{Identify: user}, bucket("a", 3, time.Hour))
	for i := range 6 {
		var text strings.Builder
		r := p.ask("POST", "/x", "X-User", "a")
		_ = r.Header.Write(&text)
		if strings.Contains(text.String(), "spoiled") {
			p.errorf("response %d, of status %d, carries what was done to another: %s", i, r.StatusCode, text.String())
		}
	}
}

func penaltyIsNamed(p *Probe) {
	l := bucket("a", 1, time.Minute)
	l.Penalty = &algo.Penalty{After: 2, Within: time.Minute, Block: time.Hour}
	p.start(App{Identify: user}, l)
	p.want("statuses", p.statuses(2, "GET", "/x", "X-User", "a"), "200 429")
	for i := range 3 {
		r := p.ask("GET", "/x", "X-User", "a")
		p.want("Retry-After", r.Header.Get("Retry-After"), strconv.Itoa(3600-10*i))
		if !strings.Contains(r.body, "#abnormal-usage-detected") || !strings.Contains(r.body, "Abnormal Usage Detected") {
			p.errorf("body %s, want abnormal usage", r.body)
		}
		p.advance(10 * time.Second)
	}
}

func customDenial(p *Probe) {
	p.start(App{Identify: user, OnDenied: func(w http.ResponseWriter, d *core.Decision) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(420)
		_, _ = io.WriteString(w, "calm down, "+d.Limit(0).Limit)
	}}, bucket("a", 1, time.Hour))
	p.ask("GET", "/x", "X-User", "a")
	r := p.ask("GET", "/x", "X-User", "a")
	p.want("status", r.StatusCode, 420)
	p.want("body", r.body, "calm down, a")
	p.want("Retry-After", r.Header.Get("Retry-After"), "3600")
	p.want("RateLimit", r.Header.Get("RateLimit"), `"a";r=0;t=3600`)
}

func fallback(p *Probe) {
	soft, hard := bucket("soft", 1, time.Hour), bucket("hard", 2, time.Hour)
	soft.Exceeded = core.Fallback
	ran := 0
	p.start(App{
		Identify: user,
		Fallback: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Fallback", "cache")
			ok(w, nil)
		},
		Routes: []Route{{Method: "GET", Path: "/x", Handle: func(w http.ResponseWriter, r *http.Request) { ran++; ok(w, r) }}},
	}, soft, hard)
	p.want("first", p.ask("GET", "/x", "X-User", "a").Header.Get("X-Fallback"), "")
	r := p.ask("GET", "/x", "X-User", "a")
	p.want("second", r.StatusCode, 200)
	p.want("X-Fallback", r.Header.Get("X-Fallback"), "cache")
	p.want("RateLimit", r.Header.Get("RateLimit"), `"soft";r=0;t=3600`)
	p.want("Retry-After", r.Header.Get("Retry-After"), "")
	p.want("handler runs", ran, 1)
}

func shadowIsSilent(p *Probe) {
	shadow := bucket("shadow", 1, time.Hour)
	shadow.Exceeded = core.Shadow
	p.start(App{Identify: user}, shadow)
	for range 3 {
		r := p.ask("GET", "/x", "X-User", "a")
		p.want("status", r.StatusCode, 200)
		p.want("headers", r.Header.Get("RateLimit")+r.Header.Get("RateLimit-Policy"), "")
	}
}
