package app

import (
	"context"
	"strings"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"vzones/internal/quote"
	"vzones/vcenter/faults"
)

// maxVerbosity limits the verbosity of the log. Beyond it client-go logs the bodies of requests and
// responses, which contain Secrets and the tokens of clients of /metrics.
const maxVerbosity = 7

// applyLogging must run before the first log line, since klog has one logger per process.
func applyLogging(ctx context.Context, set *pflag.FlagSet) error {
	options := logsapi.NewLoggingConfiguration()
	loggingFlags := pflag.NewFlagSet("logging", pflag.ContinueOnError)
	logsapi.AddFlags(options, loggingFlags)
	var errs []error
	loggingFlags.VisitAll(func(f *pflag.Flag) {
		if given := set.Lookup(f.Name); given != nil && given.Changed {
			errs = append(errs, f.Value.Set(given.Value.String()))
		}
	})
	if err := quote.Errors(len(errs), errs...); err != nil {
		return err
	}
	limited := limitLevel(&options.Verbosity)
	for i := range options.VModule {
		limited = limitLevel(&options.VModule[i].Verbosity) || limited
	}
	if err := logsapi.ValidateAndApply(options, contextualGate{utilfeature.DefaultFeatureGate}); err != nil {
		return err
	}
	boundLog(klog.Background()) //nolint:forbidigo // the logger of the process, which this replaces
	if limited {
		klog.FromContext(ctx).Info("The verbosity is limited to 7, because client-go logs Secrets and tokens above that")
	}
	return nil
}

// contextualGate enables contextual logging. Without it klog hides the logger of the format, which
// boundLog needs.
type contextualGate struct{ featuregate.FeatureGate }

func (c contextualGate) Enabled(f featuregate.Feature) bool {
	return f == logsapi.ContextualLogging || c.FeatureGate.Enabled(f)
}

func boundLog(l klog.Logger) {
	options := []klog.LoggerOption{klog.ContextualLogger(true)}
	if text, ok := l.GetSink().(textlogger.KlogBufferWriter); ok {
		options = append(options, klog.WriteKlogBuffer(boundBuffer(text.WriteKlogBuffer)))
	}
	klog.SetLoggerWithOptions(faults.BoundedLog(l), options...)
}

// boundBuffer limits lines that klog formats itself, for the framework's older calls.
func boundBuffer(write func([]byte)) func([]byte) {
	return func(line []byte) {
		text := strings.TrimSuffix(string(line), "\n")
		write([]byte(quote.Line(text) + "\n"))
	}
}

func limitLevel(v *logsapi.VerbosityLevel) bool {
	if *v <= maxVerbosity {
		return false
	}
	*v = maxVerbosity
	return true
}
