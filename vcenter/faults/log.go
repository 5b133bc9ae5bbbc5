package faults

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"k8s.io/klog/v2"

	"vzones/internal/quote"
)

// BoundedLog returns a logger that bounds and escapes each message and value, so that no vCenter,
// kubelet or guest can fill the log or forge a line.
func BoundedLog(l klog.Logger) klog.Logger {
	if l.GetSink() == nil {
		return l
	}
	return l.WithSink(&boundedSink{l.WithCallDepth(1).GetSink()})
}

type boundedSink struct{ next klog.LogSink }

func (s *boundedSink) Init(klog.RuntimeInfo) {}

func (s *boundedSink) Enabled(level int) bool { return s.next.Enabled(level) }

func (s *boundedSink) Info(level int, msg string, keysAndValues ...any) {
	s.next.Info(level, quote.Line(msg), boundedPairs(keysAndValues)...)
}

func (s *boundedSink) Error(err error, msg string, keysAndValues ...any) {
	if err != nil {
		err = boundedError(err)
	}
	s.next.Error(err, quote.Line(msg), boundedPairs(keysAndValues)...)
}

func (s *boundedSink) WithValues(keysAndValues ...any) klog.LogSink {
	return &boundedSink{s.next.WithValues(boundedPairs(keysAndValues)...)}
}

func (s *boundedSink) WithName(name string) klog.LogSink {
	return &boundedSink{s.next.WithName(quote.Line(name))}
}

// WithCallDepth implements logr.CallDepthLogSink.
func (s *boundedSink) WithCallDepth(depth int) klog.LogSink {
	if next, ok := s.next.(interface{ WithCallDepth(int) klog.LogSink }); ok {
		return &boundedSink{next.WithCallDepth(depth)}
	}
	return s
}

func boundedPairs(keysAndValues []any) []any {
	pairs := make([]any, len(keysAndValues))
	for i, v := range keysAndValues {
		pairs[i] = bounded(v)
	}
	return pairs
}

func bounded(value any) (result any) {
	switch v := value.(type) {
	case nil, bool, time.Duration, time.Time, klog.ObjectRef:
		return value
	case string:
		return quote.Line(v)
	case error:
		if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
			return value // klog handles a nil pointer.
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
	text := fmt.Sprintf("%+v", value) // fmt recovers from panics.
	if line := quote.Line(text); line != text {
		return line
	}
	return value
}

func boundedError(err error) error { return errors.New(quote.Line(err.Error())) }

func boundedStrings(texts []string) []string {
	var shown []string
	size := 0
	for i, s := range texts {
		line := quote.Line(s)
		if size += len(line); size > quote.LongestLine {
			return append(shown, fmt.Sprintf("and %d more", len(texts)-i))
		}
		shown = append(shown, line)
	}
	return shown
}
