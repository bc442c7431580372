package headers_test

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tidegate/tidegate/headers"
)

func ExampleAppendPolicies() {
	value := headers.AppendPolicies(nil, []headers.Policy{
		{Name: "burst", Quota: 100, Window: time.Minute},
		{Name: "uploads", Quota: 4, Unit: headers.ConcurrentRequests},
	})
	fmt.Println(string(value))
	// Output: "burst";q=100;w=60, "uploads";q=4;qu="concurrent-requests"
}

func ExampleAppendStatuses() {
	value := headers.AppendStatuses(nil, []headers.Status{
		{Name: "burst", Remaining: 50, Reset: 29100 * time.Millisecond, HasReset: true},
	})
	fmt.Println(string(value))
	// Output: "burst";r=50;t=30
}

func ExampleParseStatuses() {
	statuses, err := headers.ParseStatuses([]string{`"burst";r=3;t=2, "daily";r=1.5`})
	if errors.Is(err, headers.ErrMalformed) {
		return // as if nothing had been sent
	}
	for _, s := range statuses {
		fmt.Println(s.Name, s.Remaining, s.Reset)
	}
	fmt.Println(errors.Is(err, headers.ErrDropped))
	// Output:
	// burst 3 2s
	// true
}

func ExampleParseStyles() {
	_, err := headers.ParseStyles([]string{"ratelimit", "ratelimit-draft-06"})
	fmt.Println(err)
	// Output: headers: styles: "ratelimit" and "ratelimit-draft-06" give RateLimit-Policy different bodies: choose one
}

func ExampleTrio_Set() {
	h := http.Header{}
	t := headers.Trio{Limit: 100, Remaining: 42, Reset: 18 * time.Second, Window: time.Minute}
	t.Set(h, headers.Draft06, time.Now())
	fmt.Println(h.Get("RateLimit-Limit"), h.Get("RateLimit-Remaining"), h.Get("RateLimit-Reset"), h.Get("RateLimit-Policy"))
	// Output: 100 42 18 100;w=60
}

func ExampleParseRetryAfter() {
	h := http.Header{"Retry-After": {"9223372037"}} // seconds whose nanoseconds overflow
	wait, ok := headers.ParseRetryAfter(h.Values(headers.RetryAfter), time.Now())
	fmt.Println(wait > 0, ok)
	// Output: true true
}

func ExampleProblem_AppendJSON() {
	p := headers.Problem{
		Type:             headers.TypeQuotaExceeded,
		Title:            headers.TitleQuotaExceeded,
		Status:           http.StatusTooManyRequests,
		Detail:           headers.DetailRetry(18*time.Second, true),
		ViolatedPolicies: []string{"burst"},
	}
	fmt.Println(string(p.AppendJSON(nil)))
	// Output: {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Too many requests. Retry in 18 seconds.","violated-policies":["burst"]}
}

func ExampleExposedHeaders() {
	fmt.Println(headers.ExposedHeaders(headers.DraftC))
	// Output: [RateLimit RateLimit-Policy Retry-After]
}
