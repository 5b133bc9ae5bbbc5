package cluster

import (
	"strings"

	"vzones/test/process"
)

const loopback = "127.0.0.1"

// portAttempts bounds how often a program is started again because its port was
// taken between our choice and its listening.
const portAttempts = 5

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
