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

// claims are UDP sockets with the numbers of the TCP ports that FreePort has returned. They stay open until the process
// ends, so that no other test process, which may run at the same time, returns the same port.
var claims struct {
	mu      sync.Mutex
	sockets []net.PacketConn
}

// FreePort returns an unused loopback port, and none that it has already returned to a process that still runs. Only a
// process that binds an explicit port can take it before the caller listens.
func FreePort() (int, error) {
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		claim, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		claims.mu.Lock()
		claims.sockets = append(claims.sockets, claim)
		claims.mu.Unlock()
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, errors.New("no free port was found")
}
