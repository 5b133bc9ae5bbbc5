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
			continue
		case k.use == noEffect:
			into[name] = "ignored: " + k.why
			continue
		}
		switch k.field.Kind {
		case config.KindMapping:
			effects(name+join, join, below(k.field, d), d, into)
		case config.KindEntries:
			effects(name+join+"NAME"+join, join, below(k.field, d), d, into)
		case config.KindLevels:
			effects(name+join, join, below(k.field, d), d, into)
		case config.KindRule:
			into[name] = "read"
			if d == &YAML {
				effects(name+join, join, below(k.field, d), d, into)
			}
		default:
			into[name] = "read"
		}
	}
}

func below(f *config.Field, d *Dialect) []key { return keysOf(f.Of, d) }

// iniEffects are those of the INI format, such as of [Global] port; a section that is
// accepted or refused as a whole is [Disk].
func iniEffects() map[string]string {
	all := make(map[string]string)
	for _, s := range keysOf(config.SectionRoot, &INI) {
		switch {
		case s.use != own:
			effects("[", "", []key{{name: s.name + "]", use: s.use, why: s.why}}, &INI, all)
		case s.field.Kind == config.KindEntries:
			effects("["+s.name+" NAME] ", " ", below(s.field, &INI), &INI, all)
		default:
			effects("["+s.name+"] ", " ", below(s.field, &INI), &INI, all)
		}
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
