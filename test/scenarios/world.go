package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/types"

	"vzones/test/stack"
)

const (
	// grace is how long the daemon may take to end after SIGTERM.
	grace = 5 * time.Second
	// glance is the time between two looks at what tells nobody when it changes.
	glance = 20 * time.Millisecond
)

// A world is what a script acts on.
type world struct {
	stack  *stack.Stack
	eyes   *observer
	binary string
	// config is the scenario's part of the configuration, first what it began with.
	config, first map[string]any

	// brief says that nothing is held for long.
	brief bool
	// daemon is nil while none runs; last is it, or the one before.
	daemon, last *stack.Daemon
	flags        []string
	nodes        map[string]*registration
	// passwords are all that were ever good.
	passwords []string
	// sick are the vCenters that a daemon need not be able to log out of.
	sick map[string]bool
	// orphans are the sessions that daemons have left in a vCenter which were
	// killed, or could not log out of it.
	orphans map[string]int
	// writer writes to Nodes beside the daemon; nil while none does.
	writer *writer
}

func newWorld(s *stack.Stack, binary string, config map[string]any) *world {
	w := &world{
		stack: s, eyes: newObserver(), binary: binary, config: config, first: config,
		nodes: map[string]*registration{}, sick: map[string]bool{}, orphans: map[string]int{},
	}
	for _, v := range s.Fleet.VCenters() {
		w.passwords = append(w.passwords, v.Password())
	}
	return w
}

// log returns what the daemon, or the last one, has printed.
func (w *world) log() string {
	if w.last == nil {
		return ""
	}
	return w.last.Log()
}

// ended is closed when the daemon ends by itself; it is nil while none runs.
func (w *world) ended() <-chan struct{} {
	if w.daemon == nil {
		return nil
	}
	return w.daemon.Exited()
}

// writeConfig writes the configuration of the stack together with the
// scenario's own, which wins.
func (w *world) writeConfig() (string, error) {
	path, err := w.stack.WriteConfig("")
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var all map[string]any
	if err := yaml.Unmarshal(data, &all); err != nil {
		return "", err
	}
	if data, err = yaml.Marshal(merged(all, w.config)); err != nil {
		return "", err
	}
	path = filepath.Join(w.stack.Dir, "scenario.conf")
	return path, os.WriteFile(path, data, 0o600)
}

// merged returns base with what is in more, map by map.
func merged(base, more map[string]any) map[string]any {
	all := maps.Clone(base)
	for key, value := range more {
		inner, ok := value.(map[string]any)
		under, both := all[key].(map[string]any)
		if ok && both {
			value = merged(under, inner)
		}
		if all == nil {
			all = map[string]any{}
		}
		all[key] = value
	}
	return all
}

// start starts the daemon.
func (w *world) start() error {
	config, err := w.writeConfig()
	if err != nil {
		return err
	}
	w.daemon, err = w.stack.StartDaemon(w.binary, config, w.flags...)
	w.last = w.daemon
	return err
}

// stop sends SIGTERM and checks what a daemon has to leave behind.
func (w *world) stop() error {
	d := w.daemon
	if d == nil {
		return errNoDaemon
	}
	var errs []error
	select {
	case <-d.Exited():
		errs = append(errs, errEnded)
	default:
	}
	w.daemon = nil
	took, err := d.Stop()
	if err != nil {
		errs = append(errs, fmt.Errorf("the daemon ended with %w", err))
	}
	if took > grace {
		errs = append(errs, fmt.Errorf("the daemon took %s to end after SIGTERM, at most %s are allowed", took.Round(time.Millisecond), grace))
	}
	for _, v := range w.stack.Fleet.VCenters() {
		if w.sick[v.Name()] {
			w.orphans[v.Name()] = v.Sessions()
			continue
		}
		if left := v.Sessions() - w.orphans[v.Name()]; left > 0 {
			errs = append(errs, fmt.Errorf("%s has %d sessions left (%d SOAP, %d REST; %d forgiven)",
				v.Name(), left, v.SOAPSessions(), v.RESTSessions(), w.orphans[v.Name()]))
		}
	}
	return errors.Join(append(errs, w.audit(d))...)
}

// audit looks for what must never be in a log.
func (w *world) audit(d *stack.Daemon) error {
	var errs []error
	log := d.Log()
	for _, password := range w.passwords {
		for _, form := range stack.Leaks(log, password) {
			errs = append(errs, fmt.Errorf("the log holds the password %s (%s)", password, form))
		}
	}
	for _, trace := range []string{"WARNING: DATA RACE", "panic: ", "fatal error: "} {
		if _, after, found := strings.Cut(log, trace); found {
			errs = append(errs, fmt.Errorf("the log holds %s%.2000s", trace, after))
		}
	}
	return errors.Join(errs...)
}

// kill sends SIGKILL.
func (w *world) kill() error {
	d := w.daemon
	if d == nil {
		return errNoDaemon
	}
	w.daemon = nil
	if err := d.Kill(); err != nil {
		return err
	}
	for _, v := range w.stack.Fleet.VCenters() {
		w.orphans[v.Name()] = v.Sessions()
	}
	return w.audit(d)
}

// poll looks again and again until something is met, which tells nobody when it
// is. After the time it returns what is wrong.
func (w *world) poll(ctx context.Context, within time.Duration, met func() bool, wrong func() error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for !met() {
		select {
		case <-ticker.C:
		case <-w.ended():
			return fmt.Errorf("%w: %w", errEnded, wrong())
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", within, wrong())
		}
	}
	return nil
}

// see waits until the observer has seen a Node with that UID, or none for "".
func (w *world) see(ctx context.Context, name string, uid types.UID) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return w.eyes.until(ctx, nil, func(s sight) bool {
		n := s.nodes[name]
		return n == nil && uid == "" || n != nil && n.UID == uid
	})
}
