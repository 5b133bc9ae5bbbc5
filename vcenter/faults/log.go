package faults

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"k8s.io/klog/v2"

	"vzones/internal/quote"
)

// BoundedLog returns a logger that writes each message and each value on one line of at most quote.LongestLine bytes,
// without characters that cannot be printed. The daemon logs through it alone, the framework's lines included, so
// nothing that a vCenter, a kubelet or a guest sends can fill the log, forge a line or reach a terminal.
func BoundedLog(l klog.Logger) klog.Logger {
	if l.GetSink() == nil {
		return l
	}
	return l.WithSink(&boundedSink{l.WithCallDepth(1).GetSink()})
}

// A boundedSink bounds what it passes to another sink.
type boundedSink struct{ next klog.LogSink }

// Init implements klog.LogSink. The next sink was initialized before.
func (s *boundedSink) Init(klog.RuntimeInfo) {}

// Enabled implements klog.LogSink.
func (s *boundedSink) Enabled(level int) bool { return s.next.Enabled(level) }

// Info implements klog.LogSink.
func (s *boundedSink) Info(level int, msg string, keysAndValues ...any) {
	s.next.Info(level, quote.Line(msg), boundedPairs(keysAndValues)...)
}

// Error implements klog.LogSink.
func (s *boundedSink) Error(err error, msg string, keysAndValues ...any) {
	if err != nil {
		err = boundedError(err)
	}
	s.next.Error(err, quote.Line(msg), boundedPairs(keysAndValues)...)
}

// WithValues implements klog.LogSink.
func (s *boundedSink) WithValues(keysAndValues ...any) klog.LogSink {
	return &boundedSink{s.next.WithValues(boundedPairs(keysAndValues)...)}
}

// WithName implements klog.LogSink.
func (s *boundedSink) WithName(name string) klog.LogSink {
	return &boundedSink{s.next.WithName(quote.Line(name))}
}

// WithCallDepth implements logr.CallDepthLogSink, for which klog has no name.
func (s *boundedSink) WithCallDepth(depth int) klog.LogSink {
	if next, ok := s.next.(interface{ WithCallDepth(int) klog.LogSink }); ok {
		return &boundedSink{next.WithCallDepth(depth)}
	}
	return s
}

// boundedPairs bounds the values of a log line. Their keys are constants, which a linter checks.
func boundedPairs(keysAndValues []any) []any {
	pairs := make([]any, len(keysAndValues))
	for i, v := range keysAndValues {
		pairs[i] = bounded(v)
	}
	return pairs
}

// bounded returns a value as it is if it is printed within the bounds, and otherwise as bounded text.
func bounded(value any) (result any) {
	switch v := value.(type) {
	case nil, bool, time.Duration, time.Time, klog.ObjectRef:
		return value
	case string:
		return quote.Line(v)
	case error:
		if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
			return value // klog prints it without a panic
		}
		return boundedError(v)
	case []string:
		return boundedStrings(v)
	}
	if kind := reflect.TypeOf(value).Kind(); kind >= reflect.Bool && kind <= reflect.Complex128 {
		if _, isText := value.(fmt.Stringer); !isText {
			return value
		}
	}
	text := fmt.Sprintf("%+v", value) // fmt recovers from the panics of methods
	if line := quote.Line(text); line != text {
		return line
	}
	return value
}

func boundedError(err error) error { return errors.New(quote.Line(err.Error())) }

// boundedStrings returns the first strings, and how many there are beyond the bound of a line.
func boundedStrings(all []string) []string {
	var shown []string
	size := 0
	for i, s := range all {
		line := quote.Line(s)
		if size += len(line); size > quote.LongestLine {
			return append(shown, fmt.Sprintf("and %d more", len(all)-i))
		}
		shown = append(shown, line)
	}
	return shown
}
