package main

import (
	"testing"

	"github.com/tidegate/tidegate/internal/exampletest"
)

func TestService(t *testing.T) { exampletest.Run(t, newService) }
