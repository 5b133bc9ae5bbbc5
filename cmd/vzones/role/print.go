package role

import (
	"fmt"
	"slices"
	"strings"

	"vzones/cmd/vzones/cli"
	"vzones/config"
	"vzones/topology/quote"
)

// The formats beside those of lists.
const (
	terraform cli.Format = "terraform"
	govc      cli.Format = "govc"
)

func write(t *cli.Tool, format cli.Format, r *Report) error {
	switch format {
	case cli.JSON:
		return t.PrintJSON(r)
	case cli.YAML:
		return t.PrintYAML(r)
	case terraform:
		return t.Write([]byte(terraformOf(r)))
	case govc:
		return t.Write([]byte(govcOf(r, true)))
	}
	return table(t, r)
}

func table(t *cli.Tool, r *Report) error {
	text := fmt.Sprintf("Role %s: %s\n\nGrant it to the account of vzones:\n\n", quote.Name(r.Role.Name), strings.Join(r.Role.Privileges, ", "))
	if err := t.Write([]byte(text)); err != nil {
		return err
	}
	l := &cli.List{Columns: []string{"VCENTER", "ON", "PROPAGATE", "FOR"}}
	for _, v := range r.VCenters {
		for _, g := range v.Grants {
			on, propagate := string(g.On)+" "+quote.Name(g.Object), "no"
			if g.On == Global {
				on = "global permission"
			}
			if g.Propagate {
				propagate = "yes"
			}
			l.Rows = append(l.Rows, cli.Row{Name: v.Name, Cells: []string{quote.Name(v.Name), on, propagate, strings.Join(g.For, ", ")}})
		}
	}
	return t.Print(cli.Table, l)
}

const globally = `# Tags: grant the role as a global permission, for which govc has no command: in the vSphere Client,
# Administration > Global Permissions > Add, with "Propagate to children". It covers the inventory too.
`

// govcOf returns commands that make the role, if they are to, and grant it. Several entries that lead to
// one vCenter have one role.
func govcOf(r *Report, create bool) string {
	var b strings.Builder
	for i, v := range r.VCenters {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "# vCenter %s\nexport GOVC_URL=%s\n", quote.Name(v.Name), shell(v.Server))
		if create && !v.again {
			fmt.Fprintf(&b, "# vCenter puts %s into each role.\ngovc role.create %s\n", strings.Join(r.Role.Privileges, ", "), shell(r.Role.Name))
		}
		for _, g := range v.Grants {
			b.WriteString(permission(r, &v, &g))
		}
	}
	return b.String()
}

// permission returns the command that grants the role on one object.
func permission(r *Report, v *VCenter, g *Grant) string {
	if g.On == Global {
		return globally
	}
	set := fmt.Sprintf("govc permissions.set -principal %s -group=%t -role %s -propagate=%t", shell(v.Principal), v.Group, shell(r.Role.Name), g.Propagate)
	form, _ := config.FormOfDatacenter(g.Object)
	switch {
	case g.On == Folder, form == config.DatacenterPath, form == config.DatacenterReference:
		return fmt.Sprintf("%s %s\n", set, shell(g.Object))
	case form == config.DatacenterPathPattern:
		return fmt.Sprintf("# The datacenters %s: repeat it for each, with its path.\n# %s PATH\n", quote.Name(g.Object), set)
	}
	return fmt.Sprintf("govc find / -type d -name %s | while read -r path; do %s \"$path\"; done\n", shell(g.Object), set)
}

// shell quotes a word for a shell.
func shell(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:@", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// terraformOf returns a resource for each vCenter. It grants nothing: the resource
// vsphere_entity_permissions removes the permissions of others from the same object.
func terraformOf(r *Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The provider leaves out of role_privileges what is in each role: %s.\n", strings.Join(r.Role.Privileges, ", "))
	first := slices.DeleteFunc(slices.Clone(r.VCenters), func(v VCenter) bool { return v.again })
	ids := identifiers(first)
	for i, v := range first {
		id := ids[i]
		fmt.Fprintf(&b, "\nresource \"vsphere_role\" \"vzones_%s\" {\n", id)
		if len(first) > 1 {
			fmt.Fprintf(&b, "  provider        = vsphere.%s # of %s\n", id, quote.Name(v.Server))
		}
		fmt.Fprintf(&b, "  name            = %s\n  role_privileges = []\n}\n", hcl(r.Role.Name))
	}
	b.WriteString(`
# Do not grant it with vsphere_entity_permissions: that takes the permissions of everybody else off the
# same object. These commands leave them as they are:
#
`)
	for line := range strings.Lines(govcOf(r, false)) {
		b.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return b.String()
}

// identifiers returns the names of vCenters as those of Terraform, each once.
func identifiers(all []VCenter) []string {
	var ids []string
	for _, v := range all {
		id := identifier(v.Name)
		for n := 2; slices.Contains(ids, id); n++ {
			id = fmt.Sprintf("%s-%d", identifier(v.Name), n)
		}
		ids = append(ids, id)
	}
	return ids
}

// identifier returns a name as one of Terraform, which does not begin with a digit.
func identifier(name string) string {
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// hcl quotes a text for Terraform, which would take ${ and %{ for the beginning of a template.
func hcl(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(fmt.Sprintf("%q", text))
}
