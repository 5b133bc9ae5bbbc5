package parse_test

import (
	"testing"

	"vzones/config/configtest"
)

func TestMain(m *testing.M) { configtest.Main(m) }
