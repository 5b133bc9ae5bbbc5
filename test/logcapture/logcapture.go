// Package logcapture captures the log of the process for tests.
package logcapture

import (
	"bytes"
	"flag"
	"fmt"
	"sync"
	"testing"

	logsapi "k8s.io/component-base/logs/api/v1"
	logsjson "k8s.io/component-base/logs/json"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// Verbosity is the highest verbosity that the daemon allows.
const Verbosity = 7

// A Log contains the output of klog. It is safe for concurrent use.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns the output so far.
func (l *Log) String() string {
	klog.Flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Capture captures klog's output until the test ends, at Verbosity, as text or JSON.
func Capture(t *testing.T, asJSON bool) *Log {
	t.Helper()
	return CaptureAt(t, Verbosity, asJSON)
}

// CaptureAt is Capture with another verbosity.
func CaptureAt(t *testing.T, v int, asJSON bool) *Log {
	t.Helper()
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	if err := flags.Parse([]string{fmt.Sprintf("-v=%d", v), "-logtostderr=false", "-alsologtostderr=false", "-stderrthreshold=FATAL"}); err != nil {
		t.Fatal(err)
	}
	l := &Log{}
	klog.SetOutput(l)
	if asJSON {
		logger, _ := logsjson.Factory{}.Create(logsapi.LoggingConfiguration{Verbosity: logsapi.VerbosityLevel(v)}, logsapi.LoggingOptions{ErrorStream: l, InfoStream: l})
		klog.SetLogger(logger)
	}
	return l
}

// Formats returns a logger for each log format, "text" and "json". Both write to out.
func Formats(out *bytes.Buffer) map[string]klog.Logger {
	asJSON, _ := logsjson.Factory{}.Create(logsapi.LoggingConfiguration{}, logsapi.LoggingOptions{ErrorStream: out, InfoStream: out})
	return map[string]klog.Logger{
		"text": textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out))),
		"json": asJSON,
	}
}
