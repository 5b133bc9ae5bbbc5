package convert

import (
	"os"
	"testing"

	"vzones/config/configtest"
)

func TestMain(m *testing.M) { os.Exit(configtest.Main(m)) }
