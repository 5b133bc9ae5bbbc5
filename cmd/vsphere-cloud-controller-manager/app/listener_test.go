package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/leaderelection"

	"vzones/test/logcapture"
)

// TestIdleConnections: idle connections take little memory and keep no probe away, from any number of
// addresses.
func TestIdleConnections(t *testing.T) {
	for name, addresses := range map[string]int{"one address": 1, "many addresses": 200} {
		t.Run(name, func(t *testing.T) {
			c, address := frameworkConfig(t, 10258)
			log, stop := logcapture.Capture(t, false), make(chan struct{})
			defer endServing(t, log, stop)
			if err := serve(c, leaderelection.NewLeaderHealthzAdaptor(0), &readyHandler{leading: make(chan struct{})}, probes, stop); err != nil {
				t.Fatal(err)
			}
			p := newSecurePort(t, address)
			if code, body := p.get("/healthz", ""); code != http.StatusOK {
				t.Fatalf("/healthz without other connections: %d %s, want 200", code, body)
			}
			before := goroutines()
			for i := range 1000 {
				from := &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i%addresses))}
				conn, err := (&net.Dialer{LocalAddr: from}).DialContext(t.Context(), "tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if i%2 == 0 {
					// Begin a handshake.
					_, _ = conn.Write([]byte{22, 3, 1})
				}
			}
			if code, body := p.get("/healthz", ""); code != http.StatusOK {
				t.Errorf("beside idle connections: %d %s", code, body)
			}
			err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
				return goroutines() <= before+connectionsMax+10, nil
			})
			if err != nil {
				t.Errorf("%d goroutines serve 1,000 idle connections, want at most %d: %v", goroutines()-before, connectionsMax+10, err)
			}
		})
	}
}

func goroutines() int {
	runtime.Gosched()
	return runtime.NumGoroutine()
}

// TestALongConnectionStays: a connection remains while short connections come and go, and while one
// client opens many.
func TestALongConnectionStays(t *testing.T) {
	l := newBoundedListener(nil)
	scraper := &boundedConn{Conn: closeOnly{}, listener: l, host: "192.0.2.1"}
	l.add(scraper)
	for i := range 1000 {
		if surplus := l.add(&boundedConn{Conn: closeOnly{}, listener: l, host: fmt.Sprintf("192.0.2.%d", 2+i%5)}); surplus == scraper {
			t.Fatalf("connection %d of other clients closed that of the scraper", i)
		}
	}
	if n := len(l.open); n != connectionsMax {
		t.Errorf("%d are open, want %d", n, connectionsMax)
	}
	for len(l.open) > 0 {
		_ = l.open[0].Close()
		if len(l.open) == connectionsMax {
			t.Fatal("a closed connection still counts")
		}
	}
}

// TestConnectionsFromElsewhere: a flood from other hosts causes few handshakes, and does not limit this host.
func TestConnectionsFromElsewhere(t *testing.T) {
	local := net.IPv4(127, 0, 0, 1)
	remote := net.IPv4(192, 0, 2, 1)
	for _, c := range []struct {
		from net.IP
		want int
	}{{local, 1000}, {remote, remoteBurst + remotePerSecond}} {
		synctest.Test(t, func(t *testing.T) {
			l := newBoundedListener(&floodListener{from: c.from, left: 1000})
			accepted := 0
			for began := time.Now(); ; accepted++ {
				conn, err := l.Accept()
				if err != nil || time.Since(began) > time.Second {
					break
				}
				_ = conn.Close()
			}
			if accepted > c.want || accepted < c.want/2 {
				t.Errorf("%d of 1,000 connections from %v are accepted, want %d", accepted, c.from, c.want)
			}
		})
	}
}

type closeOnly struct{ net.Conn }

func (closeOnly) Close() error { return nil }

type connFrom struct {
	closeOnly
	ip net.IP
}

func (f connFrom) RemoteAddr() net.Addr { return &net.TCPAddr{IP: f.ip, Port: 1} }

// floodListener accepts its next connections at once.
type floodListener struct {
	net.Listener
	from net.IP
	left int
}

func (f *floodListener) Accept() (net.Conn, error) {
	if f.left--; f.left < 0 {
		return nil, net.ErrClosed
	}
	return connFrom{ip: f.from}, nil
}
