package scenarios

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"vzones/test/stack"
)

// pollInterval is the interval for checking state without a notification.
const pollInterval = 50 * time.Millisecond

type world struct {
	stack    *stack.Stack
	observer *observer
	binary   string
	// config is the current configuration.
	config *configuration
	// mount contains the configuration file, credentials the directory of credentials with the
	// content files.
	mount, credentials *stack.Mount
	files              map[string][]byte

	// daemon is nil while none runs. last is the current or previous daemon.
	daemon, last *stack.Daemon
	ownLog       *stack.OwnLogReader // reads the log of last
	flags        []string
	// standby is a second daemon that waits to lead, or nil.
	standby      *stack.Daemon
	standbyFlags []string
	nodes        map[string]*registration
	// secrets must never appear in a log.
	secrets stack.Search
	// logoutFails are the vCenters that a daemon may be unable to log out of.
	logoutFails map[string]bool
	// leftSessions are the numbers of sessions, by vCenter, left by daemons that were killed or could not
	// log out.
	leftSessions map[string]int
	// restore restores a removed permission; nil if none was removed.
	restore func(context.Context) error
	// writer is another writer of Nodes, or nil.
	writer *writer
}

func newWorld(s *stack.Stack, binary string, config *configuration) (*world, error) {
	w := &world{
		stack: s, observer: newObserver(s.Fleet.VMs), binary: binary, config: config,
		nodes: map[string]*registration{}, logoutFails: map[string]bool{}, leftSessions: map[string]int{},
	}
	token, err := s.Token()
	if err != nil {
		return nil, err
	}
	w.secrets.Add("the ServiceAccount's token", token)
	for _, v := range s.Fleet.VCenters() {
		s.Fleet.Forbid(v.Name(), "the ServiceAccount's token", token)
		w.secrets.Add("the password of "+v.Name(), v.Password())
		for _, a := range v.Accounts() {
			w.secrets.Add("the password of "+a.User+" in "+v.Name(), a.Password)
		}
		if err := s.WriteCA(v); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(s.Dir, "scenario-")
	if err != nil {
		return nil, err
	}
	if w.mount, err = stack.NewMount(filepath.Join(dir, "config")); err != nil {
		return nil, err
	}
	w.credentials, err = stack.NewMount(filepath.Join(dir, "credentials"))
	return w, err
}

// ownLogText returns the log of the current or last daemon, without requests and responses.
func (w *world) ownLogText() (string, error) {
	if w.ownLog == nil {
		return "", nil
	}
	return w.ownLog.Text()
}

// ended is closed when the daemon exits. It is nil while none runs.
func (w *world) ended() <-chan struct{} {
	if w.daemon == nil {
		return nil
	}
	return w.daemon.Exited()
}

// start starts the daemon with full verbosity, to check that it logs no secret.
func (w *world) start() error {
	if err := w.writeConfig(""); err != nil {
		return err
	}
	config := w.mount.Path(configFile)
	if slices.ContainsFunc(w.flags, func(flag string) bool { return strings.HasPrefix(flag, "--cloud-config-secret") }) {
		config = ""
	}
	var err error
	w.daemon, err = w.stack.StartDaemon(w.binary, config, append([]string{"--v=10"}, w.flags...)...)
	if w.last = w.daemon; err == nil {
		w.ownLog = w.daemon.OwnLog()
	}
	return err
}

// stop sends SIGTERM and checks the state that the daemon leaves.
func (w *world) stop(ctx context.Context) error {
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
		errs = append(errs, fmt.Errorf("the daemon exited with %w", err))
	}
	if limit := stack.Slower(5 * time.Second); took > limit {
		errs = append(errs, fmt.Errorf("the daemon took %s to exit after SIGTERM, want at most %s", took.Round(time.Millisecond), limit))
	}
	for _, v := range w.stack.Fleet.VCenters() {
		if w.standby != nil {
			// The standby may have its own sessions.
			break
		}
		if w.logoutFails[v.Name()] {
			w.leftSessions[v.Name()] = v.Sessions()
			continue
		}
		left := func() int { return v.Sessions() - w.leftSessions[v.Name()] }
		// A busy vCenter may still process a logout whose response the daemon did not wait for.
		_ = wait.PollUntilContextTimeout(context.WithoutCancel(ctx), 50*time.Millisecond, stack.Slower(time.Second), true,
			func(context.Context) (bool, error) { return left() <= 0, nil })
		if left := left(); left > 0 {
			errs = append(errs, fmt.Errorf("%s has %d sessions left (%d SOAP, %d REST; %d ignored)",
				v.Name(), left, v.SOAPSessions(), v.RESTSessions(), w.leftSessions[v.Name()]))
		}
	}
	return errors.Join(append(errs, w.audit(d))...)
}

func (w *world) audit(d *stack.Daemon) error {
	for _, v := range w.stack.Fleet.VCenters() {
		for _, id := range v.SessionIDs() {
			w.secrets.Add("a session ID of "+v.Name(), id)
		}
	}
	var errs []error
	for _, leaked := range w.stack.Fleet.Leaked() {
		errs = append(errs, fmt.Errorf("the daemon sent %s", leaked))
	}
	for _, v := range w.stack.Fleet.VCenters() {
		for kind := range v.Requests() {
			if !changesNothing(kind) {
				errs = append(errs, fmt.Errorf("the daemon sent %s the request %s, which may change it", v.Name(), kind))
			}
		}
	}
	errs = append(errs, w.observer.taintErrors()...)
	log := d.Log()
	for _, found := range w.secrets.In(log) {
		errs = append(errs, fmt.Errorf("the log contains %s", found))
	}
	for _, found := range w.secrets.In(w.observer.events()) {
		errs = append(errs, fmt.Errorf("an Event contains %s", found))
	}
	for _, race := range d.Races() {
		errs = append(errs, fmt.Errorf("the log contains a data race: %.2000s", race))
	}
	for _, trace := range []string{"panic: ", "fatal error: "} {
		if _, after, found := strings.Cut(log, trace); found {
			errs = append(errs, fmt.Errorf("the log contains %s%.2000s", trace, after))
		}
	}
	return errors.Join(errs...)
}

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
		w.leftSessions[v.Name()] = v.Sessions()
	}
	return w.audit(d)
}

// poll checks a condition until it is met. After the timeout it returns the error of wrong.
func (w *world) poll(ctx context.Context, timeout time.Duration, met func() bool, wrong func() error) error {
	err := wait.PollUntilContextTimeout(ctx, pollInterval, timeout, true, func(context.Context) (bool, error) {
		if met() {
			return true, nil
		}
		select {
		case <-w.ended():
			return false, errEnded
		default:
			return false, nil
		}
	})
	switch {
	case errors.Is(err, errEnded):
		return fmt.Errorf("%w: %w", errEnded, wrong())
	case err != nil:
		return fmt.Errorf("not met within %s: %w", timeout, wrong())
	}
	return nil
}

func (w *world) awaitNode(ctx context.Context, name string, uid types.UID) error {
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	return w.observer.await(ctx, nil, func(s view) bool {
		n := s.nodes[name]
		return n == nil && uid == "" || n != nil && n.UID == uid
	})
}

func (w *world) awaitCurrent(ctx context.Context, name string) error {
	current, err := w.stack.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return w.awaitNode(ctx, name, "")
	} else if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	return w.observer.await(ctx, nil, func(s view) bool { return s.reached(current) })
}

// reached reports whether the view contains this version of a Node or a later one, or the Node is gone.
func (s view) reached(then *v1.Node) bool {
	n := s.nodes[then.Name]
	return n == nil || version(n.ResourceVersion) >= version(then.ResourceVersion)
}

// changesNothing reports whether a request reads a vCenter or only creates objects that belong to its session.
func changesNothing(kind string) bool {
	method, path, isREST := strings.Cut(kind, " ")
	if isREST {
		return method == http.MethodGet || strings.HasSuffix(path, "/cis/session") || strings.Contains(path, "list-attached-tags") || strings.HasPrefix(path, "/sts") || strings.HasPrefix(path, "/lookup")
	}
	return slices.Contains([]string{
		"RetrieveServiceContent", "Login", "LoginByToken", "CloneSession", "Logout", "CurrentTime",
		"CreatePropertyCollector", "CreateContainerView", "CreateListView", "CreateFilter", "ModifyListView",
		"DestroyPropertyCollector", "DestroyView", "DestroyPropertyFilter",
		"RetrieveProperties", "RetrievePropertiesEx", "ContinueRetrievePropertiesEx", "WaitForUpdatesEx", "FindAllByUuid",
	}, kind)
}
