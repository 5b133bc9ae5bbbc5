package logging

import (
	"regexp"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	logsapi "k8s.io/component-base/logs/api/v1"
	logsjson "k8s.io/component-base/logs/json"
)

// nodeLines are the formats of the framework's lines and logged errors that name a Node in their
// text only, with <node> in place of the name. A test compares them with the framework's source.
var nodeLines = []string{
	"This node <node> is still tainted. Will not process.",
	`Skipping node address update for node "<node>" since cloud provider did not return any`,
	`Failed to update node addresses for node "<node>": %v`,
	"Initializing node <node> with cloud provider",
	"Skip sync node <node> because cloud provided nil metadata",
	"Successfully initialized node <node> with cloud provider",
	"cloud provider does not set node provider ID, using node name to discover node <node>",
	"error syncing '<node>': %v, requeuing",
	"error checking if node <node> exists: %v",
	"deleting node since it is no longer present in cloud provider: <node>",
	`unable to delete node "<node>": %v`,
	"error checking if node <node> is shutdown: %v",
	"failed to apply shutdown taint to node <node>, it may have been deleted.",
	"Updated labels %+v to Node <node>",
	`unable to update labels %+v for Node "<node>": %v`,
}

// nodePatterns are nodeLines as regular expressions, for messages of one line and more.
var nodePatterns = sync.OnceValue(func() []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(nodeLines))
	for i, line := range nodeLines {
		text := regexp.QuoteMeta(line)
		text = strings.ReplaceAll(text, "<node>", "([a-z0-9.-]+)")
		text = strings.NewReplacer("%v", "(?s:.*)", `%\+v`, "(?s:.*?)").Replace(text)
		all[i] = regexp.MustCompile("^" + text + "$")
	}
	return all
})

// nodeOf returns the Node that a line of the framework is about, empty if it names none.
func nodeOf(message string) string {
	if !strings.Contains(message, "ode") && !strings.HasPrefix(message, "error syncing") {
		return ""
	}
	for _, p := range nodePatterns() {
		if found := p.FindStringSubmatch(message); found != nil {
			return found[1]
		}
	}
	return ""
}

// unhandled is the message of lines whose text is in the error: those of
// utilruntime.HandleError.
const unhandled = "Unhandled Error"

// A nodeSink gives the framework's lines about a Node the field that ours have.
type nodeSink struct{ logr.LogSink }

// withNode adds the field to those of a line with this text. A line that has fields names its
// object there.
func withNode(text string, fields []any) []any {
	if len(fields) == 0 {
		if node := nodeOf(text); node != "" {
			return []any{"node", map[string]string{"name": node}} // as klog.KRef is in JSON
		}
	}
	return fields
}

// Init does nothing: its own logger has initialized the sink below.
func (s nodeSink) Init(logr.RuntimeInfo) {}

// Info, Error, WithValues, WithName and WithCallDepth implement logr's interfaces.
func (s nodeSink) Info(level int, message string, fields ...any) {
	s.LogSink.Info(level, message, withNode(message, fields)...)
}

func (s nodeSink) Error(err error, message string, fields ...any) {
	text := message
	if message == unhandled && err != nil {
		text = err.Error()
	}
	s.LogSink.Error(err, message, withNode(text, fields)...)
}

func (s nodeSink) WithValues(fields ...any) logr.LogSink {
	return nodeSink{s.LogSink.WithValues(fields...)}
}

func (s nodeSink) WithName(name string) logr.LogSink { return nodeSink{s.LogSink.WithName(name)} }

func (s nodeSink) WithCallDepth(depth int) logr.LogSink {
	if sink, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return nodeSink{sink.WithCallDepth(depth)}
	}
	return s
}

// JSON is component-base's JSON, with the Nodes of the framework's lines as fields.
type JSON struct{ logsjson.Factory }

// Create implements logsapi.LogFormatFactory.
func (f JSON) Create(c logsapi.LoggingConfiguration, o logsapi.LoggingOptions) (logr.Logger, logsapi.RuntimeControl) {
	log, control := f.Factory.Create(c, o)
	sink := nodeSink{log.GetSink()}
	return logr.New(sink.WithCallDepth(1)), control // one frame for the sink itself
}

// RegisterJSON makes the format known to the flags, before they are made. The registry is
// the process's, and takes each format once.
var RegisterJSON = sync.OnceValue(func() error {
	return logsapi.RegisterLogFormat(logsapi.JSONLogFormat, JSON{}, logsapi.LoggingBetaOptions)
})
