// Command http is the shortest net/http service with limits.
package main

import (
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/httpmw"
	"github.com/tidegate/tidegate/store/memstore"
)

func main() {
	handler, err := newService()
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}

func newService() (http.Handler, error) {
	limiter, err := core.New(core.Config{
		Store: memstore.New(memstore.Config{}),
		Limits: []core.Limit{{
			Name:  "create-order",
			Match: []string{"POST /orders"},
			Tiers: core.Tiers{
				"free": core.TokenBucket(10, time.Second).WithBurst(20),
				"pro":  core.TokenBucket(100, time.Second),
			},
		}},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintln(w, `{"id":"1"}`)
	})
	limit := httpmw.New(limiter, httpmw.Routes(mux), httpmw.Identify(caller))
	return limit(mux), httpmw.CheckRoutes(limiter, "POST /orders")
}

// caller stands for the service's own authentication.
func caller(r *http.Request) core.Identity {
	if r.Header.Get("Authorization") == "Bearer demo" {
		return core.Identity{Principal: "demo", Tier: "pro"}
	}
	return core.Identity{}
}
