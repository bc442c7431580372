// Command gin is the shortest Gin service with limits.
package main

import (
	"log"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/ginmw"
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
	r := gin.New()
	r.Use(gin.Recovery(), authenticate, ginmw.New(limiter, ginmw.Identify(caller)))
	r.POST("/orders", func(c *gin.Context) { c.JSON(http.StatusCreated, gin.H{"id": "1"}) })
	return r, ginmw.CheckRoutes(limiter, r)
}

// authenticate stands for the service's own authentication, which sets the user.
func authenticate(c *gin.Context) {
	if c.GetHeader("Authorization") == "Bearer demo" {
		c.Set("user", "demo")
	}
}

func caller(c *gin.Context) core.Identity {
	return core.Identity{Principal: c.GetString("user"), Tier: "pro"}
}
