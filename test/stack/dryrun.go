package stack

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/keys"
)

// DryRun runs a dry run of the daemon until it ends and returns what it has printed. The error
// is that of its exit status.
func (s *Stack) DryRun(binary, config string, flags ...string) (string, error) {
	d, err := s.StartDaemon(binary, config, append([]string{"--leader-elect=true", "--dry-run", "--dry-run-timeout=2m"}, flags...)...)
	if err != nil {
		return "", err
	}
	select {
	case <-d.Exited():
	case <-time.After(10 * time.Minute):
		return d.Log(), errors.Join(errors.New("the dry run does not end"), d.kill())
	}
	_, err = d.Stop()
	return d.Log(), err
}

// A Write is a field of a Node that a dry run says would be written, or one that was.
type Write struct{ Node, Field, Now, Would string }

func (w Write) String() string {
	return fmt.Sprintf("%s | %s | %s | %s", w.Node, w.Field, w.Now, w.Would)
}

// cells lie between columns of a table.
var cells = regexp.MustCompile(`  +`)

// Tables returns the tables that a dry run has printed, by their first heading but one, with
// the cells of each row.
func Tables(printed string) map[string][][]string {
	_, printed, _ = strings.Cut(printed, "Dry run, nothing was written")
	all := map[string][][]string{}
	name := ""
	for line := range strings.Lines(printed) {
		row := cells.Split(strings.TrimRight(line, "\n"), -1)
		switch {
		case len(row) < 2:
			name = ""
		case name == "":
			name = row[1]
		default:
			all[name] = append(all[name], row)
		}
	}
	return all
}

// Predicted returns the writes in what a dry run has printed, without those of conditions.
func Predicted(printed string) []Write {
	var all []Write
	for _, row := range Tables(printed)["FIELD"] {
		if len(row) == 4 && !strings.HasPrefix(row[1], "condition ") {
			all = append(all, Write{row[0], row[1], row[2], row[3]})
		}
	}
	return all
}

// PredictedCurrent returns the Nodes of which a dry run has printed that their condition would say
// that their labels are right.
func PredictedCurrent(printed string) []string {
	var all []string
	for _, row := range Tables(printed)["FIELD"] {
		if len(row) == 4 && row[1] == "condition "+keys.TopologyReady && row[3] == "True,TopologyCurrent" {
			all = append(all, row[0])
		}
	}
	return all
}

// Written returns how Nodes differ from what they were, in the words of a dry run.
func Written(was, is []*v1.Node) []Write {
	now := map[string]map[string]string{}
	for _, n := range is {
		now[n.Name] = written(n)
	}
	var all []Write
	for _, n := range was {
		before, after := written(n), now[n.Name]
		if after == nil {
			all = append(all, Write{n.Name, "Node", "exists", "deleted"})
			continue
		}
		both := maps.Clone(before)
		maps.Copy(both, after)
		for _, field := range slices.Sorted(maps.Keys(both)) {
			if before[field] != after[field] {
				all = append(all, Write{n.Name, field, orAbsent(before[field]), orAbsent(after[field])})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Write) int { return strings.Compare(a.Node, b.Node) })
	return all
}

func orAbsent(value string) string {
	if value == "" {
		return "-"
	}
	return value
}

// written returns what providers write of a Node.
func written(n *v1.Node) map[string]string {
	all := map[string]string{"provider ID": n.Spec.ProviderID}
	for key, value := range n.Labels {
		all["label "+key] = value
	}
	for key, value := range n.Annotations {
		all["annotation "+key] = value
	}
	for _, t := range n.Spec.Taints {
		value := string(t.Effect)
		if t.Value != "" {
			value = t.Value + ":" + value
		}
		all["taint "+t.Key] = value
	}
	for _, a := range n.Status.Addresses {
		field := "address " + string(a.Type)
		if all[field] != "" {
			all[field] += ","
		}
		all[field] += a.Address
	}
	return all
}
