package config_test

import (
	"errors"
	"fmt"

	"github.com/tidegate/tidegate/core/config"
)

// Every problem of a file is listed at once, with its line.
func ExampleParse() {
	_, err := config.Parse("limits.yaml", []byte(`version: 1
tiers: [free, pro]
limits:
  - name: create-order
    mtach: [POST /orders]
    tiers:
      free: 10/sec
      pro: {limit: 100/s, burst: 0}
`))
	var list *config.Error
	if errors.As(err, &list) {
		for _, p := range list.Problems {
			fmt.Println(p)
		}
	}
	// Output:
	// limits.yaml:5: limits[0].mtach: is unknown, did you mean match?
	// limits.yaml:7: limits[0].tiers.free.limit: is "10/sec", did you mean 10/s?
	// limits.yaml:8: limits[0].tiers.pro.burst: is 0, want a whole number from 1 to 9007199254740992
}

func ExampleFile() {
	file, err := config.Parse("limits.yaml", []byte(`version: 1
principals:
  header: X-API-Key
  known:
    key-alice: {id: alice, tier: free}
limits:
  - name: create-order
    match: [POST /orders]
    tiers: {free: {limit: 10/s, burst: 20}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	id, _ := file.Principals.Lookup("key-alice")
	fmt.Println(id.Principal, "is", id.Tier)
	fmt.Println(file.Core.Limits[0].Name, "has a burst of", file.Core.Limits[0].Tiers[id.Tier].Spec().Burst)
	// Output:
	// alice is free
	// create-order has a burst of 20
}
