package fleet

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A server listens on one port, which stays reserved while it is stopped.
type server struct {
	ctx     context.Context //nolint:containedctx // base context of requests; never canceled
	handler http.Handler
	tls     *tls.Config
	addr    atomic.Pointer[string] // host:port; written under mu

	mu      sync.Mutex
	reserve int          // a bound socket that never listens, which reserves the port
	http    *http.Server // nil while connections are refused
	cancel  context.CancelFunc
	running *sync.WaitGroup // the accept loop and the connections
	closed  bool
}

// newServer reserves a port of address, a free port for 0. It listens after start.
func newServer(ctx context.Context, address string, port int, cfg *tls.Config, h http.Handler) (*server, error) {
	s := &server{ctx: ctx, handler: h, tls: cfg}
	fd, addr, err := reserve(address, port)
	if err != nil {
		return nil, err
	}
	s.reserve = fd
	s.addr.Store(&addr)
	return s, nil
}

func (s *server) address() string { return *s.addr.Load() }

func reserve(address string, wantedPort int) (fd int, addr string, err error) {
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); err != nil {
		return 0, "", err
	}
	unix.CloseOnExec(fd)
	port, err := bind(fd, address, wantedPort)
	if err != nil {
		_ = unix.Close(fd)
		return 0, "", err
	}
	return fd, net.JoinHostPort(address, strconv.Itoa(port)), nil
}

// move stops the server and reserves a free port of another address.
func (s *server) move(address string) error {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	fd, addr, err := reserve(address, 0)
	if err != nil {
		return err
	}
	_ = unix.Close(s.reserve)
	s.reserve = fd
	s.addr.Store(&addr)
	return nil
}

func bind(fd int, address string, wantedPort int) (port int, err error) {
	if err := reusePort(fd); err != nil {
		return 0, err
	}
	socketAddress := &unix.SockaddrInet4{Port: wantedPort, Addr: [4]byte(net.ParseIP(address).To4())}
	if err := unix.Bind(fd, socketAddress); err != nil {
		return 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return name.(*unix.SockaddrInet4).Port, nil
}

func reusePort(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
}

// start starts to listen if the server is stopped.
func (s *server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if s.http != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(s.ctx)
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if cerr := c.Control(func(fd uintptr) { err = reusePort(int(fd)) }); cerr != nil {
			return cerr
		}
		return err
	}}
	l, err := lc.Listen(ctx, "tcp", s.address())
	if err != nil {
		cancel()
		return err
	}
	running := new(sync.WaitGroup)
	srv := &http.Server{
		Handler:     s.handler,
		BaseContext: func(net.Listener) context.Context { return context.WithValue(ctx, serving{}, ctx) },
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				running.Add(1)
			case http.StateClosed, http.StateHijacked:
				running.Done()
			}
		},
		// Clients that reject the certificate or disconnect are part of the tests.
		ErrorLog: log.New(io.Discard, "", 0),
		// HTTP/1.1 only: each connection carries one request at a time.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	running.Go(func() { _ = srv.Serve(tls.NewListener(l, s.tls)) })
	s.http = srv
	s.cancel = cancel
	s.running = running
	return nil
}

// stop closes all connections, refuses new ones and waits for all requests to end.
func (s *server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http == nil {
		return
	}
	s.cancel()
	_ = s.http.Close()
	s.running.Wait()
	s.http = nil
}

func (s *server) close() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		_ = unix.Close(s.reserve)
	}
}
