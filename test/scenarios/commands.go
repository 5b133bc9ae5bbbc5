package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An action is what a line of a script does when it is played.
type action func(ctx context.Context, w *world) error

// A command is one kind of line. Its usage is its grammar: words in lower case
// and signs stand for themselves, words in capitals for one argument each, and
// what is in brackets or followed by … is read by the command itself.
type command struct {
	usage string
	does  string
	parse func(a *arguments) action
}

const repeatUsage = "repeat N {"

// commands are all kinds of lines but repeat.
func commands() []command {
	return slices.Concat(daemonCommands(), configCommands(), vcenterCommands(), nodeCommands(), writerCommands(), expectations(), metricCommands(), roleCommands())
}

// command reads one line.
func (p *parser) command(words []string) (action, error) {
	var close []string
	for _, c := range commands() {
		a, fits := c.read(words)
		if fits {
			a.p = p
			do := c.parse(a)
			if a.err == nil && len(a.words) > 0 {
				a.fail("%q is too much", a.words[0])
			}
			if a.err != nil {
				return nil, fmt.Errorf("%w; it is written: %s", a.err, c.usage)
			}
			return do, nil
		}
		if strings.HasPrefix(c.usage, words[0]+" ") {
			close = append(close, c.usage)
		}
	}
	if len(close) == 0 {
		return nil, fmt.Errorf("%q is no command", words[0])
	}
	return nil, fmt.Errorf("is no command; there are: %s", strings.Join(close, " | "))
}

// read reports whether a line is one of this command, and gives its arguments.
func (c *command) read(words []string) (*arguments, bool) {
	a := &arguments{}
	for want := range strings.FieldsSeq(c.usage) {
		switch {
		case strings.HasPrefix(want, "["), strings.HasSuffix(want, "…"):
			a.words = append(a.words, words...)
			return a, true
		case isArgument(want) && len(words) == 0: // the command reports it as missing
		case isArgument(want):
			a.words = append(a.words, words[0])
			words = words[1:]
		case len(words) > 0 && want == words[0]:
			words = words[1:]
		default:
			return nil, false
		}
	}
	a.words = append(a.words, words...)
	return a, true
}

func isArgument(word string) bool { return strings.ToLower(word) != word }

// arguments are the words of a line that a command has still to read. Of the
// mistakes in them the first is kept; after it the values mean nothing.
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

// word takes the next word.
func (a *arguments) word(what string) string {
	if len(a.words) == 0 {
		a.fail("%s is missing", what)
		return ""
	}
	w := a.words[0]
	a.words = a.words[1:]
	return w
}

// next reports whether the next word is this one, and takes it then.
func (a *arguments) next(word string) bool {
	if len(a.words) == 0 || a.words[0] != word {
		return false
	}
	a.words = a.words[1:]
	return true
}

// rest takes all words.
func (a *arguments) rest() []string {
	words := a.words
	a.words = nil
	return words
}

func (a *arguments) duration() time.Duration {
	w := a.word("DURATION")
	d, err := time.ParseDuration(w)
	if err != nil || d <= 0 {
		a.fail("%q is no DURATION, such as 500ms or 10s", w)
	}
	return d
}

func (a *arguments) number() int {
	w := a.word("N")
	n, err := strconv.Atoi(w)
	if err != nil || n < 0 {
		a.fail("N is a number, not %q", w)
	}
	return n
}

// vcenters takes the name of a vCenter, or * for all of them.
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

// compare takes a comparison of numbers.
func (a *arguments) compare() (string, func(is, want int) bool) {
	w := a.word("COMPARE")
	f, ok := map[string]func(int, int) bool{
		"=":  func(is, want int) bool { return is == want },
		"<=": func(is, want int) bool { return is <= want },
		">=": func(is, want int) bool { return is >= want },
	}[w]
	if !ok {
		a.fail("a comparison is =, <= or >=, not %q", w)
	}
	return w, f
}
