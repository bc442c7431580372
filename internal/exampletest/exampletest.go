// Package exampletest drives the shortest example of each framework over a real
// connection: they are the same service, and answer the same.
package exampletest

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Run checks a service whose anonymous callers have a burst of 20 orders, and whose
// user "Bearer demo" has more.
func Run(t *testing.T, newService func() (http.Handler, error)) {
	t.Run("anonymous callers get the free burst", func(t *testing.T) {
		if got := created(t, newService, "", 40); got < 20 || got > 22 {
			t.Errorf("%d orders of 40 created, want the burst of 20 and what is refilled meanwhile", got)
		}
	})
	t.Run("the user gets more", func(t *testing.T) {
		if got := created(t, newService, "Bearer demo", 40); got != 40 {
			t.Errorf("%d orders of 40 created, want all", got)
		}
	})
}

// created sends n orders and counts those that pass. Every answer must carry its
// quota.
func created(t *testing.T, newService func() (http.Handler, error), authorization string, n int) (passed int) {
	t.Helper()
	handler, err := newService()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	for range n {
		response := order(t, server.URL, authorization)
		if response.Header.Get("RateLimit") == "" {
			t.Errorf("%s without RateLimit", response.Status)
		}
		switch response.StatusCode {
		case http.StatusCreated:
			passed++
		case http.StatusTooManyRequests:
			if response.Header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After is %q, want 1", response.Header.Get("Retry-After"))
			}
		default:
			t.Errorf("got %s", response.Status)
		}
	}
	return passed
}

func order(t *testing.T, url, authorization string) *http.Response {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, url+"/orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", authorization)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response
}
