package process

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The range is below the kernels' ephemeral ports: 32768 and above on Linux, 49152 and above elsewhere.
const (
	firstPort = 20000
	lastPort  = 32000
)

// returnedPorts contains the ports that FreePort has returned.
var returnedPorts sync.Map

// FreePort returns an unused loopback port, never the same port twice. Only a process that binds an explicit
// port can take it before the caller listens.
func FreePort() (int, error) {
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if _, isGiven := returnedPorts.LoadOrStore(port, true); isGiven {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, errors.New("no free port was found")
}
