package scenarios

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// split splits a line at blanks. Text in single or double quotes may contain blanks, # and the other quotes; a # at the
// start of a word starts a comment.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	var quote rune
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for _, r := range line {
		switch {
		case r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote = r
			inWord = true
		case r == '#' && !inWord:
			return words, nil
		case strings.ContainsRune(" \t\r\n", r):
			end()
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("the closing quotation mark is missing")
	}
	end()
	return words, nil
}

func repeats(words []string) (int, error) {
	if len(words) == 3 && words[2] == "{" {
		if n, err := strconv.Atoi(words[1]); err == nil && n > 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("usage: %s", repeatUsage)
}

// matches reports whether a name matches a pattern, in which * matches any characters.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
