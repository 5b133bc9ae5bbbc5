package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"vsphere-cloud-controller-manager": main})
}

// listener stands for a server. It counts and closes connections.
type listener struct {
	net.Listener
	done sync.WaitGroup

	mu    sync.Mutex
	count int
	// called is closed at the first connection.
	called chan struct{}
}

func listen() (*listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &listener{Listener: l, called: make(chan struct{})}
	s.done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
			s.mu.Lock()
			if s.count++; s.count == 1 {
				close(s.called)
			}
			s.mu.Unlock()
		}
	})
	return s, nil
}

func (s *listener) stop() {
	_ = s.Close()
	s.done.Wait()
}

func (s *listener) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

const kubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://%s"}}]
users: [{name: u, user: {token: token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

// TestScripts runs the daemon as a process. It adds these commands to testscript's own:
//
//	expand FILE…               puts $VARIABLES into files
//	connections api|vcenter N  fails unless N connections came
//	called api|vcenter         waits for the first connection
//	json stdout|stderr         fails unless there are lines, and each is a JSON object
//
// $WORK/kubeconfig contains the address of api, and vcenter listens on $VCENTER_PORT of 127.0.0.1.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"api", "vcenter"} {
				l, err := listen()
				if err != nil {
					return err
				}
				e.Defer(l.stop)
				e.Values[name] = l
			}
			_, port, err := net.SplitHostPort(e.Values["vcenter"].(*listener).Addr().String())
			if err != nil {
				return err
			}
			e.Setenv("VCENTER_PORT", port)
			api := e.Values["api"].(*listener).Addr().String()
			return os.WriteFile(e.WorkDir+"/kubeconfig", fmt.Appendf(nil, kubeconfig, api), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"expand": func(ts *testscript.TestScript, _ bool, files []string) {
				for _, f := range files {
					expanded := os.Expand(ts.ReadFile(f), ts.Getenv)
					ts.Check(os.WriteFile(ts.MkAbs(f), []byte(expanded), 0o600))
				}
			},
			"connections": func(ts *testscript.TestScript, _ bool, args []string) {
				want, err := strconv.Atoi(args[1])
				ts.Check(err)
				if n := ts.Value(args[0]).(*listener).connections(); n != want {
					ts.Fatalf("%d connections to the %s, want %d", n, args[0], want)
				}
			},
			"json": func(ts *testscript.TestScript, _ bool, args []string) {
				text := ts.ReadFile(args[0])
				if text == "" {
					ts.Fatalf("%s is empty", args[0])
				}
				for line := range strings.Lines(text) {
					var fields map[string]any
					if err := json.Unmarshal([]byte(line), &fields); err != nil {
						ts.Fatalf("not a JSON object: %v: %s", err, line)
					}
				}
			},
			"called": func(ts *testscript.TestScript, _ bool, args []string) {
				select {
				case <-ts.Value(args[0]).(*listener).called:
				case <-time.After(2 * time.Minute):
					ts.Fatalf("nobody called the %s", args[0])
				}
			},
		},
	})
}
