// Command echo is the shortest Echo service with limits.
package main

import (
	"log"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/echomw"
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
	e := echo.New()
	e.Use(middleware.Recover(), authenticate, echomw.New(limiter, echomw.Identify(caller)))
	e.POST("/orders", func(c echo.Context) error { return c.JSON(http.StatusCreated, map[string]string{"id": "1"}) })
	return e, echomw.CheckRoutes(limiter, e)
}

// authenticate stands for the service's own authentication, which sets the user.
func authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Header.Get("Authorization") == "Bearer demo" {
			c.Set("user", "demo")
		}
		return next(c)
	}
}

func caller(c echo.Context) core.Identity {
	user, _ := c.Get("user").(string)
	return core.Identity{Principal: user, Tier: "pro"}
}
