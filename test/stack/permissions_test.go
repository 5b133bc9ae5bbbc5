package stack

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vzones/cmd/vzones/world"
	"vzones/config"
)

var update = flag.Bool("update", false, "write the table of docs/reference/permissions.md")

const permissions = "../../docs/reference/permissions.md"

// TestPermissionsAreDocumented: the manifest's permissions and leastRows match, and the reference contains their table.
func TestPermissionsAreDocumented(t *testing.T) {
	data, err := os.ReadFile(permissions)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- rights: written by TestPermissionsAreDocumented -->\n", "<!-- end of rights -->"
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no %s … %s", permissions, begin, end)
	}
	var b strings.Builder
	b.WriteString("| Scope | Permission | Needed by | Fails without it |\n|---|---|---|---|\n")
	used := map[string]bool{}
	for _, r := range grantedPermissions(t) {
		row, ok := leastRows[r.String()]
		if !ok || row.who == "" || row.narrower == "" || len(row.fails) == 0 && row.late == "" {
			t.Errorf("leastRows must document %s: the component that needs it, what fails without it, and why it is not narrower", r)
		}
		used[r.String()] = true
		where := r.namespace
		what := fmt.Sprintf("`%s` of `%s`", r.verb, r.resource)
		if where == "" {
			where = "the cluster"
		}
		if len(r.names) > 0 {
			what += fmt.Sprintf(", named `%s`", strings.Join(r.names, "`, `"))
		}
		if strings.HasSuffix(r.kind, "Binding") {
			what = fmt.Sprintf("%s to `%s`", r.kind, r.role)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", where, what, row.who, failedExercises(row))
	}
	for name := range leastRows {
		if !used[name] {
			t.Errorf("leastRows has %s, which the manifest does not grant", name)
		}
	}
	want := before + begin + b.String() + end + after
	if *update {
		if err := os.WriteFile(permissions, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(data) {
		t.Errorf("%s is outdated: run go test ./test/stack -run TestPermissionsAreDocumented -update", permissions)
	}
}

// TestToolReviewsPermissions: vzones check reviews the manifest's permissions in the order of the reference.
func TestToolReviewsPermissions(t *testing.T) {
	// reviewed are the permissions that vzones check reviews for a foreign role.
	reviewed := map[string][]string{
		"system:auth-delegator": {
			" authentication.k8s.io tokenreviews create []", " authorization.k8s.io subjectaccessreviews create []",
		},
		"extension-apiserver-authentication-reader": {"kube-system  configmaps get [extension-apiserver-authentication]"},
	}
	var want []string
	for _, r := range grantedPermissions(t) {
		if r.role != "" {
			want = append(want, reviewed[r.role]...)
			continue
		}
		want = append(want, fmt.Sprintf("%s %s %s %s %v", r.namespace, r.group, r.resource, r.verb, r.names))
	}
	flags, err := world.ParseArguments(nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &config.Config{VCenters: []config.VCenter{{Secret: config.SecretRef{Namespace: namespace, Name: secretName}}}}
	var got []string
	for _, p := range world.Permissions(cfg, flags, namespace) {
		resource := p.Resource
		if p.Subresource != "" {
			resource += "/" + p.Subresource
		}
		names := []string{}
		if p.Name != "" {
			names = append(names, p.Name)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s %v", p.Namespace, p.Group, resource, p.Verb, names))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("permissions (-in the manifest +reviewed by vzones check):\n%s", diff)
	}
}

// failedExercises lists the exercises that fail, with short names for all of Nodes or of the leader.
func failedExercises(row leastRow) string {
	fails := row.fails
	has := func(all []string) bool {
		return !slices.ContainsFunc(all, func(name string) bool { return !slices.Contains(fails, name) })
	}
	var parts []string
	if row.late != "" {
		parts = append(parts, row.late)
	}
	if len(fails) == len(exercises) {
		return "everything: the daemon does not start"
	}
	left := slices.Clone(fails)
	for _, group := range []struct {
		names []string
		short string
	}{{ofLeader, "all work of the leader"}, {ofNodes, "all work on Nodes"}} {
		if has(group.names) && slices.Contains(left, group.names[0]) {
			parts = append(parts, group.short)
			left = slices.DeleteFunc(left, func(name string) bool { return slices.Contains(group.names, name) })
		}
	}
	return strings.Join(append(parts, left...), "; ")
}
