package cluster

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var errNotReady = errors.New("not ready yet")

// pretender is a cluster in which the test binary plays every program.
func pretender(t *testing.T, role string) *Cluster {
	t.Helper()
	t.Setenv(roleVariable, role)
	c, err := newCluster(Options{
		Dir:      t.TempDir(),
		Binaries: Binaries{Etcd: os.Args[0], APIServer: os.Args[0]},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() })
	return c
}

func pretend(name string, ready func(context.Context, int) error) daemon {
	return daemon{name: name, args: func(int) []string { return nil }, ready: ready}
}

func atOnce(context.Context, int) error { return nil }

// hanging is a server that takes a question and never answers.
func hanging(ctx context.Context, _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestStopEndsALaunch(t *testing.T) {
	leakFree(t)
	c := pretender(t, roleSleep)
	launched := make(chan error)
	asked := make(chan struct{})
	go func() {
		_, err := c.launch(t.Context(), pretend(Etcd, func(ctx context.Context, port int) error {
			close(asked)
			return hanging(ctx, port)
		}))
		launched <- err
	}()
	<-asked
	stopped := make(chan error)
	go func() { stopped <- c.Stop() }()
	if err := <-launched; !errors.Is(err, errStopped) {
		t.Errorf("the launch: error %v, want %v", err, errStopped)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is left (%v)", err)
	}
}

func TestALaunchEndsWithItsProgram(t *testing.T) {
	leakFree(t)
	c := pretender(t, roleFail)
	_, err := c.launch(t.Context(), pretend(Etcd, hanging))
	if err == nil || !strings.Contains(err.Error(), "starting etcd: etcd has ended on its own: exit status 3 ") ||
		!strings.HasSuffix(err.Error(), "\nthe disk is on fire") {
		t.Errorf("error %v, want the exit status and the end of the log", err)
	}
	if err := c.Stop(); err != nil {
		t.Errorf("Stop reports the failed launch again: %v", err)
	}
}

func TestALaunchEndsWithAnotherProgram(t *testing.T) {
	leakFree(t)
	c := pretender(t, roleSleep)
	if _, err := c.launch(t.Context(), pretend(Etcd, atOnce)); err != nil {
		t.Fatal(err)
	}
	_, err := c.launch(t.Context(), pretend(APIServer, func(context.Context, int) error {
		if err := syscall.Kill(c.processes[0].PID(), syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
		return errNotReady
	}))
	if err == nil || !strings.Contains(err.Error(), "starting kube-apiserver: etcd has ended on its own: signal: killed") {
		t.Errorf("error %v, want that etcd was killed", err)
	}
	if err := c.Stop(); err == nil || !strings.Contains(err.Error(), "etcd has ended on its own") {
		t.Errorf("Stop: error %v, want that etcd was killed", err)
	}
}

func TestALaunchHasADeadline(t *testing.T) {
	leakFree(t)
	c := pretender(t, roleSleep)
	c.options.ReadyTimeout = 200 * time.Millisecond
	_, err := c.launch(t.Context(), pretend(Etcd, func(context.Context, int) error { return errNotReady }))
	if !errors.Is(err, errNotReady) || !strings.Contains(err.Error(), "not ready after 200ms") {
		t.Errorf("error %v, want the time that it had and the last answer", err)
	}
}

func TestAProgramRunsOnce(t *testing.T) {
	leakFree(t)
	c := pretender(t, roleSleep)
	if _, err := c.launch(t.Context(), pretend(Etcd, atOnce)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.launch(t.Context(), pretend(Etcd, atOnce)); err == nil || !strings.Contains(err.Error(), "running already") {
		t.Errorf("error %v, want that it is running already", err)
	}
}

func TestHealthyNamesTheChecksThatFail(t *testing.T) {
	leakFree(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/well" {
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte("[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n"))
	}))
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	if err := healthy(t.Context(), server.Client(), server.URL+"/well"); err != nil {
		t.Error(err)
	}
	err := healthy(t.Context(), server.Client(), server.URL)
	if want := "500 Internal Server Error: etcd failed: reason withheld"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}
func TestEtcdSeesNoneOfOurSettings(t *testing.T) {
	t.Setenv("ETCD_NAME", "other")
	t.Setenv("HOME", "/here")
	for _, entry := range environment() {
		if strings.HasPrefix(entry, "ETCD_") {
			t.Errorf("%s is handed on", entry)
		}
	}
	if !slices.Contains(environment(), "HOME=/here") {
		t.Error("HOME is not handed on")
	}
}
