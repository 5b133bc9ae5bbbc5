package vcenter

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vzones/vcenter/watch/model"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// What govmomi says about the version of the vSphere API that something came with. It
// says so of what came after 7.0.0.0 alone.
type since struct {
	types  map[string]string            // by the type's name
	values map[string]map[string]string // by the name of an enumeration and a value
}

// TestNothingIsNewerThanVSphere7: every type, field, method and property that this
// package and those below it name is in vSphere 7.0.0 too, by what govmomi records. It is what
// docs/reference/compatibility.md expects vCenter 7.0 to work by.
func TestNothingIsNewerThanVSphere7(t *testing.T) {
	t.Parallel()
	s := recorded(t)
	files, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	u := used{types: map[string]bool{}, fields: map[string]bool{}}
	for _, f := range files {
		if !strings.HasSuffix(f, "_test.go") {
			u.read(t, f)
		}
	}
	for _, name := range []string{"FindAllByUuid", "WaitOptions", "VirtualMachinePowerStatePoweredOn"} {
		if !u.types[name] {
			t.Errorf("types.%s was not seen to be used", name)
		}
	}
	for _, what := range s.newer(u) {
		t.Error(what)
	}
	for kind, paths := range map[string][]string{
		"VirtualMachine":         append(slices.Clone(model.MachineProperties), model.IndexProperties...),
		"ClusterComputeResource": {"name", "parent", model.ClusterGroups, model.ClusterConfig},
		"HostSystem":             {"name", "parent", model.FaultDomain, model.HostConnected},
	} {
		for _, path := range paths {
			if version, err := newest(kind, path); err != "" || version != "" {
				t.Errorf("%s.%s: since %q %s", kind, path, version, err)
			}
		}
	}
}

// sources are the files of this package and of those below it.
func sources() (files []string, err error) {
	for _, pattern := range []string{"*.go", "*/*.go", "*/*/*.go"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		files = append(files, some...)
	}
	return files, nil
}

// TestWhatIsNewerIsSeen: the check above can fail.
func TestWhatIsNewerIsSeen(t *testing.T) {
	t.Parallel()
	s := recorded(t)
	for text, want := range map[string]string{
		"types.EventFilterSpec{DelayedInit: nil}":        "field EventFilterSpec.DelayedInit is of vSphere API 8.0.3.0",
		"x.DelayedInit; types.EventFilterSpec{}":         "field EventFilterSpec.DelayedInit is of vSphere API 8.0.3.0",
		"types.DirectPathProfileManagerList{}":           "type DirectPathProfileManagerListRequestType is of vSphere API 9.0.0.0",
		"types.ClusterDasFdmAvailabilityStateRetry":      "value ClusterDasFdmAvailabilityStateRetry is of vSphere API 8.0.0.0",
		"types.EventFilterSpec{}; types.FindAllByUuid{}": "",
	} {
		u := used{types: map[string]bool{}, fields: map[string]bool{}}
		file := filepath.Join(t.TempDir(), "x.go")
		if err := os.WriteFile(file, []byte("package x\nfunc f() {\n"+strings.ReplaceAll(text, "; ", "\n")+"\n}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		u.read(t, file)
		if got := strings.Join(s.newer(u), "; "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if version, _ := newest("VirtualMachine", "config.sevEnabled"); version != "7.0.1.0" {
		t.Errorf("config.sevEnabled is of %q, want 7.0.1.0", version)
	}
}

// recorded reads the sources of govmomi, which keeps its record to itself.
func recorded(t *testing.T) since {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware/govmomi").Output()
	if err != nil {
		t.Fatal(err)
	}
	s := since{map[string]string{}, map[string]map[string]string{}}
	ofType := regexp.MustCompile(`minAPIVersionForType\["(\w+)"\] = "([0-9.]+)"`)
	ofValues := regexp.MustCompile(`minAPIVersionForEnumValue\["(\w+)"\] = map\[string\]string\{([^}]*)\}`)
	ofValue := regexp.MustCompile(`"([^"]+)":\s+"([0-9.]+)"`)
	for _, file := range []string{"types.go", "enum.go"} {
		data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "vim25", "types", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ofType.FindAllStringSubmatch(string(data), -1) {
			s.types[m[1]] = m[2]
		}
		for _, m := range ofValues.FindAllStringSubmatch(string(data), -1) {
			s.values[m[1]] = map[string]string{}
			for _, v := range ofValue.FindAllStringSubmatch(m[2], -1) {
				s.values[m[1]][v[1]] = v[2]
			}
		}
	}
	if len(s.types) < 300 || len(s.values) < 20 {
		t.Fatalf("govmomi records %d types and %d enumerations: it does so in another way", len(s.types), len(s.values))
	}
	return s
}

// used is what sources name.
type used struct {
	types  map[string]bool // of the package types, and its methods
	fields map[string]bool // any selector or key
}

func (u used) read(t *testing.T, file string) {
	t.Helper()
	parsed, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && (pkg.Name == "types" || pkg.Name == "methods") {
				u.types[strings.TrimSuffix(n.Sel.Name, "Body")] = true
			}
			u.fields[n.Sel.Name] = true
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				u.fields[key.Name] = true
			}
		}
		return true
	})
}

// newer returns what came after 7.0.0.0. A field counts as used where its type is used
// and its name anywhere.
func (s since) newer(u used) []string {
	var found []string
	for name := range u.types {
		for _, form := range []string{name, name + "RequestType"} {
			if version := s.types[form]; version != "" {
				found = append(found, "type "+form+" is of vSphere API "+version)
			}
		}
		for enum, values := range s.values {
			for value, version := range values {
				if strings.EqualFold(name, enum+value) {
					found = append(found, "value "+name+" is of vSphere API "+version)
				}
			}
		}
		kind, ok := types.TypeFunc()(name)
		if !ok || kind.Kind() != reflect.Struct {
			continue
		}
		for _, field := range reflect.VisibleFields(kind) {
			if version := field.Tag.Get("vim"); version != "" && u.fields[field.Name] {
				found = append(found, "field "+name+"."+field.Name+" is of vSphere API "+version)
			}
		}
	}
	slices.Sort(found)
	return found
}

// newest returns the version of the newest field on the path of a property, and what
// is wrong with the path.
func newest(kind, path string) (version, wrong string) {
	at := map[string]reflect.Type{
		"VirtualMachine":         reflect.TypeFor[mo.VirtualMachine](),
		"ClusterComputeResource": reflect.TypeFor[mo.ClusterComputeResource](),
		"HostSystem":             reflect.TypeFor[mo.HostSystem](),
	}[kind]
	for part := range strings.SplitSeq(path, ".") {
		part, _, indexed := strings.Cut(part, "[")
		for at.Kind() == reflect.Pointer || at.Kind() == reflect.Slice {
			at = at.Elem()
		}
		if at == reflect.TypeFor[types.BaseComputeResourceConfigInfo]() {
			at = reflect.TypeFor[types.ClusterConfigInfoEx]()
		}
		if at.Kind() != reflect.Struct {
			return version, "has nothing below " + at.String()
		}
		i := slices.IndexFunc(reflect.VisibleFields(at), func(f reflect.StructField) bool {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return name == part
		})
		if i < 0 {
			return version, "has no " + part
		}
		field := reflect.VisibleFields(at)[i]
		version = max(version, field.Tag.Get("vim"))
		if at = field.Type; indexed {
			return version, ""
		}
	}
	return version, ""
}
