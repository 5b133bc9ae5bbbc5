package world

import "strings"

// expand puts the values of variables in the place of $(NAME), as the kubelet does: $$ is $, and a
// variable that is not known stays. Missing are the names of those.
func expand(text string, variables map[string]string) (expanded string, missing []string) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String(), missing
		}
		switch name, behind, closed := strings.Cut(strings.TrimPrefix(rest, "("), ")"); {
		case strings.HasPrefix(rest, "$"):
			b.WriteString("$")
			text = rest[1:]
		case strings.HasPrefix(rest, "(") && closed:
			if value, known := variables[name]; known {
				b.WriteString(value)
			} else {
				missing = append(missing, name)
				b.WriteString("$(" + name + ")")
			}
			text = behind
		default:
			b.WriteString("$")
			text = rest
		}
	}
}

// expandAll expands each of some texts.
func expandAll(texts []string, variables map[string]string) []string {
	all := make([]string, len(texts))
	for i := range texts {
		all[i], _ = expand(texts[i], variables)
	}
	return all
}

// references returns the names of the variables in a text.
func references(text string) []string {
	_, names := expand(text, nil)
	return names
}
