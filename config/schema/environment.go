package schema

import (
	"cmp"
	"slices"
	"strconv"

	"vzones/config/problem"
)

// AnyValue reports whether the field's variable means true whatever its value is.
func (f *Field) AnyValue() bool { return f.Variable == variableSkipDeletion }

// Variables returns the fields that environment variables of the vSphere CPI override. Those of a Secret stand before those of an account, which
// count only where no Secret does.
func (s *File) Variables() []Field {
	g := &s.Global
	order := []Target{&g.SecretName, &g.SecretNamespace, &g.SecretsDirectory, &g.Server, &g.Port, &g.User, &g.Password}
	all := slices.Concat(g.Fields(true), s.labels(), s.Nodes.Fields(),
		[]Field{{Variable: "ENABLE_ALPHA_DUAL_STACK", Into: Ignored(noSwitch)}})
	all = slices.DeleteFunc(all, func(f Field) bool { return f.Variable == "" })
	slices.SortStableFunc(all, func(a, b Field) int { // those that are not in order come last
		return cmp.Compare(uint(slices.Index(order, a.Into)), uint(slices.Index(order, b.Into)))
	})
	return all
}

// NamesVCenters reports whether the file itself names a vCenter, or tries to.
func (s *File) NamesVCenters() bool {
	server := s.Global.Server
	return len(s.VCenters) > 0 || s.Broken || server.Set && server.At.Line != problem.InEnvironment
}

// MissesAccount reports whether a variable is of an account, and the global section has
// neither its half nor anything in its place. A file whose vCenters would inherit it
// is refused by the CPI, so that it means nothing else there.
func (s *File) MissesAccount(name string) bool {
	g := &s.Global
	return !g.elsewhere() && (name == VariableUser && !g.User.Set || name == VariablePassword && !g.Password.Set)
}

// elsewhere reports whether the section says that credentials are somewhere else.
func (s *Section) elsewhere() bool {
	return s.SecretName.Set || s.SecretNamespace.Set || s.SecretsDirectory.Set
}

// credentialsSource returns who says where the credentials come from: the file, or a variable where
// the file has nothing like it.
func (s *Section) credentialsSource() string {
	by := "the file"
	for _, t := range []Text{s.SecretsDirectory, s.SecretNamespace, s.SecretName} {
		if t.Set && t.At.Line != problem.InEnvironment {
			return "the file"
		}
		if t.Set {
			by = t.At.Key()
		}
	}
	return by
}

// Unused warns of a variable that changes nothing, since the file names vCenters.
func (s *File) Unused(p *problem.List, t Text, v Field) {
	const why = "has no effect, because the file names vCenters: remove it"
	on, _ := strconv.ParseBool(t.V)
	switch {
	case v.Variable == VariableUser || v.Variable == VariablePassword:
		p.Warnf(t.At, "has no effect, because %s says where the credentials come from: remove it", s.Global.credentialsSource())
	case v.Into == Target(&s.Global.Insecure) && on:
		p.Warnf(t.At, why+", and trust the certificate by %s", p.Words.Trust)
	default:
		p.Warnf(t.At, why+", or write %s %s", p.Words.Key(v.Name), p.Words.Global)
	}
}
