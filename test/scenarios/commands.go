package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

type action func(ctx context.Context, w *world) error

type command struct {
	usage   string
	summary string
	parse   func(a *arguments) action
}

const repeatUsage = "repeat N {"

func commands() []command {
	return slices.Concat(daemonCommands(), configCommands(), vcenterCommands(), nodeCommands(), writerCommands(), expectations(), metricCommands(), roleCommands())
}

func (p *parser) command(words []string) (action, error) {
	var close []string
	for _, c := range commands() {
		a, fits := c.read(words)
		if fits {
			a.p = p
			run := c.parse(a)
			if a.err == nil && len(a.words) > 0 {
				a.fail("unexpected %q", a.words[0])
			}
			if a.err != nil {
				return nil, fmt.Errorf("%w; usage: %s", a.err, c.usage)
			}
			return run, nil
		}
		if strings.HasPrefix(c.usage, words[0]+" ") {
			close = append(close, c.usage)
		}
	}
	if len(close) == 0 {
		return nil, fmt.Errorf("unknown command %q", words[0])
	}
	return nil, fmt.Errorf("unknown command; usage: %s", strings.Join(close, " | "))
}

// read reports whether a line is this command and returns its arguments.
func (c *command) read(words []string) (*arguments, bool) {
	a := &arguments{}
	for part := range strings.FieldsSeq(c.usage) {
		switch {
		case strings.HasPrefix(part, "["), strings.HasSuffix(part, "…"):
			a.words = append(a.words, words...)
			return a, true
		case isArgument(part) && len(words) == 0: // parse reports the missing argument
		case isArgument(part):
			a.words = append(a.words, words[0])
			words = words[1:]
		case len(words) > 0 && part == words[0]:
			words = words[1:]
		default:
			return nil, false
		}
	}
	a.words = append(a.words, words...)
	return a, true
}

func isArgument(word string) bool { return strings.ToLower(word) != word }

// arguments are the remaining words of a line. Only the first error is kept; the values read after it are invalid.
type arguments struct {
	p     *parser
	words []string
	err   error
}

func (a *arguments) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, args...)
	}
}

func (a *arguments) word(name string) string {
	if len(a.words) == 0 {
		a.fail("%s is missing", name)
		return ""
	}
	w := a.words[0]
	a.words = a.words[1:]
	return w
}

// next skips the next word if it equals word, and reports whether it did.
func (a *arguments) next(word string) bool {
	if len(a.words) == 0 || a.words[0] != word {
		return false
	}
	a.words = a.words[1:]
	return true
}

func (a *arguments) rest() []string {
	words := a.words
	a.words = nil
	return words
}

func (a *arguments) duration() time.Duration {
	w := a.word("DURATION")
	d, err := time.ParseDuration(w)
	if err != nil || d <= 0 {
		a.fail("%q is not a DURATION such as 500ms or 10s", w)
	}
	return d
}

func (a *arguments) number() int {
	w := a.word("N")
	n, err := strconv.Atoi(w)
	if err != nil || n < 0 {
		a.fail("N must be a non-negative integer, not %q", w)
	}
	return n
}

// vcenters reads the name of a vCenter, or * for all of them.
func (a *arguments) vcenters() []string {
	w := a.word("VCENTER")
	if w == "*" {
		return a.p.vcenters
	}
	if !slices.Contains(a.p.vcenters, w) {
		a.fail("the fleet has no vCenter %q", w)
	}
	return []string{w}
}

func (a *arguments) compare() (string, func(is, want int) bool) {
	w := a.word("COMPARE")
	f, ok := map[string]func(int, int) bool{
		"=":  func(is, want int) bool { return is == want },
		"<=": func(is, want int) bool { return is <= want },
		">=": func(is, want int) bool { return is >= want },
	}[w]
	if !ok {
		a.fail("COMPARE must be =, <= or >=, not %q", w)
	}
	return w, f
}
