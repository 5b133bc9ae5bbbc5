package process

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are chosen below those that kernels give to connections and to whoever listens on
// port 0: 32768 and above on Linux, 49152 and above elsewhere.
const (
	firstPort = 20000
	lastPort  = 32000
)

// given are the ports that FreePort has returned.
var given sync.Map

// FreePort returns a loopback port that nobody listens on, another one each time. Only a
// process that chooses its ports itself may take it before the caller listens.
func FreePort() (int, error) {
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if _, isGiven := given.LoadOrStore(port, true); isGiven {
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
