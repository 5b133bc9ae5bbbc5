package quote

import (
	"fmt"
	"strings"
)

// Most is how many of many things a message names, where nothing else is said.
const Most = 3

// Some lists names with commas between them: the first of them, at most so many, and how
// many more there are. Each name has to be fit to be shown.
func Some(names []string, most int) string { return some(names, most, ", ", " ") }

// Reasons lists sentences, such as the texts of errors, likewise, with semicolons between
// them.
func Reasons(texts []string, most int) string { return some(texts, most, "; ", "; ") }

func some(parts []string, most int, separator, last string) string {
	if len(parts) <= most {
		return strings.Join(parts, separator)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(parts[:most], separator), last, len(parts)-most)
}

// Errors joins errors on one line: its text has those of the first of them, at most so
// many, and how many more there are. All of them are in it, for errors.Is and errors.As.
// It is nil if all are nil.
func Errors(most int, errs ...error) error {
	var all joined
	all.most = most
	for _, err := range errs {
		if err != nil {
			all.errs = append(all.errs, err)
		}
	}
	switch len(all.errs) {
	case 0:
		return nil
	case 1:
		return all.errs[0]
	}
	return &all
}

// joined are errors that are reported together.
type joined struct {
	errs []error
	most int
}

func (j *joined) Error() string {
	texts := make([]string, len(j.errs))
	for i := range j.errs[:min(len(j.errs), j.most)] {
		texts[i] = j.errs[i].Error()
	}
	return Reasons(texts, j.most)
}

func (j *joined) Unwrap() []error { return j.errs }
