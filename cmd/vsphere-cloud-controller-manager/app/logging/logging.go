// Package logging owns the format of the daemon's log, text or JSON, and how verbose it may be.
package logging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	logsjson "k8s.io/component-base/logs/json"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology/quote"
)

// formatFlag is the name of the flag that chooses the format of the log.
const formatFlag = "logging-format"

// MaxVerbosity is the highest verbosity of the log. Beyond it client-go logs the bodies of requests and
// responses, which contain Secrets and the tokens of clients of /metrics.
const MaxVerbosity = 7

// Apply puts the logging flags of a set in force, and limits the verbosity to MaxVerbosity. Nothing may be logged
// before: klog has one logger for the process, which the framework uses too.
func Apply(ctx context.Context, set *pflag.FlagSet) error {
	options := logsapi.NewLoggingConfiguration()
	own := pflag.NewFlagSet("logging", pflag.ContinueOnError)
	logsapi.AddFlags(options, own)
	var errs []error
	own.VisitAll(func(f *pflag.Flag) {
		if given := set.Lookup(f.Name); given != nil && given.Changed {
			errs = append(errs, f.Value.Set(given.Value.String()))
		}
	})
	if err := quote.Errors(len(errs), errs...); err != nil {
		return err
	}
	limited := limit(&options.Verbosity)
	for i := range options.VModule {
		limited = limit(&options.VModule[i].Verbosity) || limited
	}
	if err := logsapi.ValidateAndApply(options, utilfeature.DefaultFeatureGate); err != nil {
		return err
	}
	if limited {
		klog.FromContext(ctx).Info("The verbosity is limited to 7, since client-go logs Secrets and tokens beyond that")
	}
	return nil
}

// limit lowers a verbosity to MaxVerbosity, and reports whether it was higher.
func limit(v *logsapi.VerbosityLevel) bool {
	if *v <= MaxVerbosity {
		return false
	}
	*v = MaxVerbosity
	return true
}

// TakeDeprecations takes the deprecations out of a set, and returns them by flag: pflag would
// print them whatever the format of the log is.
func TakeDeprecations(set *pflag.FlagSet) map[string]string {
	found := map[string]string{}
	set.VisitAll(func(f *pflag.Flag) {
		if f.Deprecated != "" {
			found[f.Name], f.Deprecated = f.Deprecated, ""
		}
	})
	return found
}

// WantsJSON reports whether arguments ask for the log as JSON, also where they cannot be parsed:
// the error about them has that format too.
func WantsJSON(args []string) bool {
	set := pflag.NewFlagSet("format", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.ParseErrorsAllowlist.UnknownFlags = true
	set.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	format := set.String(formatFlag, "", "")
	// An unknown flag takes the argument behind it along, so each is parsed alone too.
	for i := range args {
		if strings.HasPrefix(args[i], "--logging") {
			_ = set.Parse(args[i:min(i+2, len(args))]) // the last one that can be read counts
		}
	}
	return *format == logsapi.JSONLogFormat
}

// WriteError writes why the daemon ends. Hint is whether to name --help.
func WriteError(stderr io.Writer, asJSON bool, err error, hint bool) {
	var mistakes config.Errors
	isConfig := errors.As(err, &mistakes)
	switch {
	case asJSON:
		writeJSONError(stderr, err, mistakes)
	case isConfig:
		fmt.Fprintf(stderr, "%v\n", err)
	case hint:
		fmt.Fprintf(stderr, "Error: %v\nRun with --help for all flags.\n", err)
	default:
		fmt.Fprintf(stderr, "Error: %v\n", err)
	}
}

// writeJSONError has a logger of its own: klog has none where the arguments are wrong.
func writeJSONError(stderr io.Writer, err error, mistakes config.Errors) {
	log, control := logsjson.NewJSONLogger(0, logsjson.AddNopSync(stderr), nil, nil)
	defer control.Flush()
	if len(mistakes) == 0 {
		log.Error(err, "The daemon ended with an error")
	}
	for _, m := range mistakes {
		log.Error(nil, "The configuration is refused; correct the mistake and start the daemon again", "mistake", m.Error())
	}
}

// LogDeprecated logs which of the given flags do nothing any more.
func LogDeprecated(ctx context.Context, set *pflag.FlagSet, deprecated map[string]string) {
	set.Visit(func(f *pflag.Flag) {
		if why := deprecated[f.Name]; why != "" {
			klog.FromContext(ctx).Info("The flag is deprecated", "flag", f.Name, "reason", why)
		}
	})
}
