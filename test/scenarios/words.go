package scenarios

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// split takes a line apart at blanks. A word in double quotes may contain
// blanks and #; a # that begins a word begins a comment.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	in, quoted := false, false
	end := func() {
		if in {
			words = append(words, word.String())
		}
		word.Reset()
		in = false
	}
	for _, r := range line {
		switch {
		case r == '"':
			quoted, in = !quoted, true
		case quoted:
			word.WriteRune(r)
		case r == '#' && !in:
			return words, nil
		case strings.ContainsRune(" \t\r\n", r):
			end()
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if quoted {
		return nil, errors.New("a quotation mark is missing")
	}
	end()
	return words, nil
}

// repeats reads "repeat N {".
func repeats(words []string) (int, error) {
	if len(words) == 3 && words[2] == "{" {
		if n, err := strconv.Atoi(words[1]); err == nil && n > 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("is written: %s", repeatUsage)
}

// matches reports whether a pattern, in which * stands for any characters, fits a
// name.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
