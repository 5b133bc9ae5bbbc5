package app

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsapi "k8s.io/component-base/logs/api/v1"
	logsjson "k8s.io/component-base/logs/json"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"vzones/internal/quote"
	"vzones/test/logcapture"
)

// captureBounded redirects the log of the process to a buffer, in the daemon's format, until the test ends.
func captureBounded(t *testing.T, format string) *bytes.Buffer {
	t.Helper()
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	out := &bytes.Buffer{}
	l := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out)))
	if format == "json" {
		l, _ = logsjson.Factory{}.Create(logsapi.LoggingConfiguration{}, logsapi.LoggingOptions{ErrorStream: out, InfoStream: out})
	}
	boundLog(l)
	return out
}

// TestNothingHostileIsLogged: every kind of log call escapes and truncates hostile values.
func TestNothingHostileIsLogged(t *testing.T) {
	hostile := strings.Repeat("made-up\nI1122 00:00:00.000000 1 fake.go:1] \u202e\r\x1b[2J\xff", 100_000)
	object := struct{ Name string }{hostile}
	for _, format := range []string{"text", "json"} {
		for name, log := range map[string]func(context.Context){
			"an error":            func(ctx context.Context) { klog.FromContext(ctx).Error(errors.New(hostile), "It fails") },
			"an error as a value": func(ctx context.Context) { klog.FromContext(ctx).Info("It fails", "err", errors.New(hostile)) },
			"a text":              func(ctx context.Context) { klog.FromContext(ctx).Info("It is named", "moid", hostile) },
			"a type of strings":   func(ctx context.Context) { klog.FromContext(ctx).Info("It is", "taint", v1.TaintEffect(hostile)) },
			"many texts": func(ctx context.Context) {
				klog.FromContext(ctx).Info("They are named", "moids", strings.SplitAfter(hostile, "]"))
			},
			"an object": func(ctx context.Context) { klog.FromContext(ctx).Info("It is", "object", object) },
			"a pointer": func(ctx context.Context) { klog.FromContext(ctx).Info("It is", "object", &object) },
			"a map": func(ctx context.Context) {
				klog.FromContext(ctx).Info("They are", "labels", map[string]string{"a": hostile})
			},
			"a value of all":     func(ctx context.Context) { klog.FromContext(ctx).WithValues("vCenter", hostile).Info("It is") },
			"a name":             func(ctx context.Context) { klog.FromContext(ctx).WithName(hostile).Info("It is") },
			"a message":          func(ctx context.Context) { klog.FromContext(ctx).Info(hostile) },
			"the framework":      func(context.Context) { klog.ErrorS(errors.New(hostile), "failed to get instance metadata") },
			"the framework's %v": func(context.Context) { klog.Errorf("failed to get instance metadata: %v", hostile) },
			"the framework's V":  func(context.Context) { klog.V(0).Infof("found %v", hostile) },
			"a warning":          func(context.Context) { klog.Warning(hostile) },
			"an error of a group": func(ctx context.Context) {
				klog.FromContext(ctx).Error(errors.Join(errors.New(hostile), errors.New(hostile)), "It fails")
			},
		} {
			t.Run(format+": "+name, func(t *testing.T) {
				out := captureBounded(t, format)
				log(t.Context())
				line, more, _ := strings.Cut(out.String(), "\n")
				if line == "" || more != "" || len(line) > 4*quote.LongestLine {
					t.Errorf("%d bytes are logged: %.300q", out.Len(), out.String())
				}
				if i := strings.IndexFunc(line, func(r rune) bool { return !strconv.IsPrint(r) }); i >= 0 {
					t.Errorf("%q is logged", line[i:min(len(line), i+30)])
				}
			})
		}
	}
}

// TestTheUsualIsLoggedAsItIs: an ordinary line is unchanged, with the caller's file and line.
func TestTheUsualIsLoggedAsItIs(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	var none *klog.ObjectRef
	pairs := []any{"node", klog.KObj(node), "took", 1500 * time.Millisecond, "ok", true, "count", 3, "names", []string{"a", "b c"}, "none", none, "err", error(nil), "labels", map[string]string{"a": "b"}}
	for _, format := range []string{"text", "json"} {
		out := captureBounded(t, format)
		klog.FromContext(t.Context()).WithValues("vCenter", "east").Info("It works", pairs...)
		klog.FromContext(t.Context()).Error(errors.New(`vCenter "east": it fails`), "It fails")
		klog.Infof("It is %d", 1)
		var plain bytes.Buffer
		l := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&plain)))
		if format == "json" {
			l, _ = logsjson.Factory{}.Create(logsapi.LoggingConfiguration{}, logsapi.LoggingOptions{ErrorStream: &plain, InfoStream: &plain})
		}
		l.WithValues("vCenter", "east").Info("It works", pairs...)
		begin := `"It works" `
		if format == "json" {
			begin = `"msg":"It works"`
		}
		part := func(s string) string {
			_, s, _ = strings.Cut(s, begin)
			s, _, _ = strings.Cut(s, "\n")
			return s
		}
		if got, want := part(out.String()), part(plain.String()); got != want || got == "" {
			t.Errorf("%s: logged\n%s, want\n%s", format, got, want)
		}
		if n := strings.Count(out.String(), "logging_test.go:"); format == "text" && n != 3 {
			t.Errorf("%s: %d lines have this file: %s", format, n, out)
		}
		if !strings.Contains(out.String(), "It is 1") {
			t.Errorf("%s: the line of klog.Infof is missing: %s", format, out)
		}
	}
}

// TestCapturesAreAtMaxVerbosity: tests that search the log for secrets search all of it.
func TestCapturesAreAtMaxVerbosity(t *testing.T) {
	if logcapture.Verbosity != maxVerbosity {
		t.Errorf("tests capture the log at verbosity %d, and the daemon allows %d", logcapture.Verbosity, maxVerbosity)
	}
}
