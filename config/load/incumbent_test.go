package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"vzones/config"
	"vzones/config/configtest"
)

// effects says what is done with the value of each key of a section and of those below it.
func effects(path, join string, keys []key, d *Dialect, into map[string]string) {
	for _, k := range keys {
		name := path + k.name
		switch {
		case k.use == unsupported:
			into[name] = "refused: " + k.why
		case k.use == noEffect:
			into[name] = "ignored: " + k.why
		case k.field.Kind == config.KindMapping || k.field.Kind == config.KindLevels:
			effects(name+join, join, keysOf(k.field.Of, d), d, into)
		case k.field.Kind == config.KindEntries:
			effects(name+join+"NAME"+join, join, keysOf(k.field.Of, d), d, into)
		default:
			into[name] = "read"
			if k.field.Kind == config.KindRule && d == &YAML {
				effects(name+join, join, keysOf(k.field.Of, d), d, into)
			}
		}
	}
}

// iniEffects are those of the INI format, such as of [Global] port; a section that is
// accepted or refused as a whole is [Disk].
func iniEffects() map[string]string {
	all := make(map[string]string)
	for _, s := range keysOf(config.SectionRoot, &INI) {
		if s.use != own {
			effects("[", "", []key{{name: s.name + "]", use: s.use, why: s.why}}, &INI, all)
			continue
		}
		name := s.name
		if s.field.Kind == config.KindEntries {
			name += " NAME"
		}
		effects("["+name+"] ", " ", keysOf(s.field.Of, &INI), &INI, all)
	}
	return all
}

// TestKeysOfTheIncumbent: the golden file says which keys of a configuration and which environment variables
// are read, ignored or refused. The vSphere CPI's are among them, so that a change of what vzones takes over
// from it is a change of the file.
func TestKeysOfTheIncumbent(t *testing.T) {
	var b strings.Builder
	inYAML, inEnvironment := make(map[string]string), make(map[string]string)
	effects("", ".", keysOf(config.SectionRoot, &YAML), &YAML, inYAML)
	for _, f := range variables() {
		if inEnvironment[f.Env] = "read"; f.NoEffect != "" {
			inEnvironment[f.Env] = "ignored: " + f.NoEffect
		}
	}
	for i, part := range []struct {
		title string
		keys  map[string]string
	}{{"keys in YAML", inYAML}, {"keys in INI", iniEffects()}, {"environment variables", inEnvironment}} {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "# %s\n", part.title)
		for _, key := range slices.Sorted(maps.Keys(part.keys)) {
			fmt.Fprintf(&b, "%s: %s\n", key, part.keys[key])
		}
	}
	configtest.GoldenFile(t, "testdata/keys.txt", b.String())
}
