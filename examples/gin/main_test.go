package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestAnonymousCallersGetTheFreeBurst(t *testing.T) {
	if got := created(t, "", 40); got < 20 || got > 22 {
		t.Errorf("%d orders of 40 created, want the burst of 20 and what is refilled meanwhile", got)
	}
}

func TestTheUserGetsMore(t *testing.T) {
	if got := created(t, "Bearer demo", 40); got != 40 {
		t.Errorf("%d orders of 40 created, want all", got)
	}
}

// created sends n orders over a real connection and counts those that pass. Every
// answer must carry its quota.
func created(t *testing.T, authorization string, n int) (passed int) {
	t.Helper()
	handler, err := newService()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	for range n {
		request, err := http.NewRequest(http.MethodPost, server.URL+"/orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", authorization)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
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
