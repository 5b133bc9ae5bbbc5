package app

import (
	"net"
	"slices"
	"sync"

	"golang.org/x/time/rate"
)

const (
	// connectionsMax far exceeds the few connections of probes and scrapes.
	connectionsMax = 64
	// remotePerSecond and remoteBurst limit new connections from other hosts: each failed handshake is logged.
	remotePerSecond = 10
	remoteBurst     = 100
)

// A boundedListener limits the connections of the secure port, which need no credentials. Beyond the limit
// it closes the oldest connection of the address with the most connections, so that idle connections, of
// one client or many, keep no probe or scrape away.
type boundedListener struct {
	net.Listener
	remote *rate.Limiter

	mu sync.Mutex
	// The oldest connection is first.
	open []*boundedConn
}

type boundedConn struct {
	net.Conn
	listener *boundedListener
	// host is the client's address without its port.
	host string
}

func newBoundedListener(l net.Listener) *boundedListener {
	return &boundedListener{Listener: l, remote: rate.NewLimiter(remotePerSecond, remoteBurst)}
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		if ip := net.ParseIP(host); !ip.IsLoopback() && !l.remote.Allow() {
			_ = conn.Close()
			continue
		}
		bounded := &boundedConn{Conn: conn, listener: l, host: host}
		if surplus := l.add(bounded); surplus != nil {
			_ = surplus.Close()
		}
		return bounded, nil
	}
}

// add returns a connection to close if there are too many.
func (l *boundedListener) add(conn *boundedConn) (surplus *boundedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= connectionsMax {
		count := map[string]int{}
		highest := 0
		for _, c := range l.open {
			count[c.host]++
			highest = max(highest, count[c.host])
		}
		i := slices.IndexFunc(l.open, func(c *boundedConn) bool { return count[c.host] == highest })
		surplus = l.open[i]
		l.open = slices.Delete(l.open, i, i+1)
	}
	l.open = append(l.open, conn)
	return surplus
}

func (c *boundedConn) Close() error {
	c.listener.mu.Lock()
	c.listener.open = slices.DeleteFunc(c.listener.open, func(other *boundedConn) bool { return other == c })
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
