package stack

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/test/process"
)

// A Daemon is a process of the cloud controller manager.
type Daemon struct {
	process *process.Process
	// Port is the HTTPS port of /healthz on 127.0.0.1.
	Port int
	// Started is the start time.
	Started time.Time
}

// Pod returns the daemons' own Pod, which does not exist.
func Pod() v1.ObjectReference {
	return v1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: serviceAccount + "-0", UID: "6e2f1c1e-7a53-4d0c-9a4e-5f1f0c3b2a10"}
}

// StartDaemon starts the daemon at a path with a configuration file, "" for none, and the token of the manifest's
// ServiceAccount. Flags follow the default flags.
func (s *Stack) StartDaemon(binary, config string, flags ...string) (*Daemon, error) {
	port, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	args := append([]string{
		"--cloud-provider=vsphere",
		"--kubeconfig=" + s.Kubeconfig,
		"--authentication-kubeconfig=" + s.Kubeconfig,
		"--authorization-kubeconfig=" + s.Kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--leader-elect=false",
		"--v=2",
	}, flags...)
	if config != "" {
		args = append([]string{"--cloud-config=" + config}, args...)
	}
	pod := Pod()
	env := append(append(os.Environ(), s.Env...), "POD_NAME="+pod.Name, "POD_NAMESPACE="+pod.Namespace, "POD_UID="+string(pod.UID), raceOptions())
	d := &Daemon{Port: port, Started: time.Now()}
	d.process, err = process.Start(s.Dir, env, fmt.Sprintf("daemon-%d", len(s.daemons)), binary, args...)
	if err != nil {
		return nil, err
	}
	s.daemons = append(s.daemons, d)
	return d, nil
}

// Stop sends SIGTERM and returns the time until the daemon exited, and an error unless it exited with status 0 and
// without a data race.
func (d *Daemon) Stop() (time.Duration, error) {
	began := time.Now()
	if err := d.process.Stop(time.Minute); err != nil {
		return 0, err
	}
	took := time.Since(began)
	err := d.process.Err()
	if races := d.Races(); len(races) > 0 {
		err = errors.Join(err, fmt.Errorf("%d data races, the first is %.2000s", len(races), races[0]))
	}
	return took, err
}

// Kill kills the daemon, so it cannot log out.
func (d *Daemon) Kill() error { return d.process.Stop(0) }

// Exited is closed when the daemon has exited.
func (d *Daemon) Exited() <-chan struct{} { return d.process.Exited() }

// Log returns the daemon's output.
func (d *Daemon) Log() string {
	b, err := os.ReadFile(d.process.Log())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// LogPath returns the path of the daemon's log.
func (d *Daemon) LogPath() string { return d.process.Log() }

// Healthy requests /healthz and returns an error unless its status is 200.
func (d *Daemon) Healthy(ctx context.Context) error {
	code, _, err := d.Get(ctx, "/healthz", "")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("/healthz: %d", code)
	}
	return err
}

// Get requests a path from the daemon, with a bearer token unless it is "", and returns status and body.
func (d *Daemon) Get(ctx context.Context, path, token string) (int, string, error) {
	return d.get(ctx, path, token, nil)
}

func (d *Daemon) get(ctx context.Context, path, token string, certificates []tls.Certificate) (int, string, error) {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, Certificates: certificates}, //nolint:gosec // it made its certificate itself
		DisableKeepAlives: true,
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", d.Port, path), nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}
