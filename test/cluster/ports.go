package cluster

import (
	"net"
	"strings"

	"vzones/test/process"
)

const loopback = "127.0.0.1"

// portAttempts bounds how often a program is started again because its port was
// taken between our choice and its listening.
const portAttempts = 5

// freePort returns a loopback port that nobody listens on. Another process may
// take it at any time.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// lostPort reports whether a program ended because its port was taken.
func lostPort(p *process.Process) bool {
	select {
	case <-p.Exited():
	default:
		return false
	}
	log, err := process.Tail(p.Log())
	return err == nil && strings.Contains(log, "address already in use")
}
