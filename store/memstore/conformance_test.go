package memstore_test

import (
	"testing"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/store/memstore"
	"github.com/tidegate/tidegate/store/storetest"
)

func harness(maxKeys int) storetest.Harness {
	return storetest.Harness{
		New:     func(testing.TB) core.Store { return memstore.New(memstore.Config{MaxKeys: maxKeys}) },
		Virtual: true,
	}
}

func TestConformance(t *testing.T) { storetest.Run(t, harness(100_000)) }

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, harness(2_000_000)) }
