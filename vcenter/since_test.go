package vcenter

import (
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

// TestNothingIsNewerThanVSphere7 checks that every type, field, method and property in this package and below
// exists in vSphere 7.0.0, according to the versions in govmomi's sources. docs/reference/compatibility.md
// relies on it for vCenter 7.0.
func TestNothingIsNewerThanVSphere7(t *testing.T) {
	t.Parallel()
	words := map[string]bool{} // With the prefix for names of types and methods.
	for _, pattern := range []string{"*.go", "*/*.go", "*/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, word := range regexp.MustCompile(`(?:\btypes\.|\bmethods\.)?\w+`).FindAllString(read(t, file), -1) {
				if !strings.HasSuffix(file, "_test.go") {
					words[strings.TrimSuffix(strings.Replace(word, "methods.", "types.", 1), "Body")] = true
				}
			}
		}
	}
	if !words["types.FindAllByUuid"] || !words["types.WaitOptions"] || !words["types.VirtualMachinePowerStatePoweredOn"] {
		t.Error("types that are used were not seen")
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware/govmomi").Output()
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, filepath.Join(strings.TrimSpace(string(out)), "vim25", "types", "types.go")) + read(t, filepath.Join(strings.TrimSpace(string(out)), "vim25", "types", "enum.go"))
	newer := regexp.MustCompile(`minAPIVersionForType\["(\w+?)(?:RequestType)?"\] = "([0-9.]+)"`).FindAllStringSubmatch(text, -1)
	for _, m := range newer {
		if words["types."+m[1]] {
			t.Errorf("types.%s is of vSphere API %s", m[1], m[2])
		}
	}
	if len(newer) < 300 {
		t.Fatalf("govmomi records %d types: it does so in another way", len(newer))
	}
	for word := range words {
		name, isType := strings.CutPrefix(word, "types.")
		if kind, ok := types.TypeFunc()(name); isType && ok && kind.Kind() == reflect.Struct {
			for _, field := range reflect.VisibleFields(kind) {
				if version := field.Tag.Get("vim"); version != "" && words[field.Name] {
					t.Errorf("field %s.%s is of vSphere API %s", name, field.Name, version)
				}
			}
		}
	}
	for kind, paths := range map[string][]string{
		"VirtualMachine":         append(slices.Clone(model.VMProperties), model.IndexProperties...),
		"ClusterComputeResource": {"name", "parent", model.ClusterConfig},
		"HostSystem":             {"name", "parent", model.FaultDomain, model.HostConnected},
	} {
		for _, path := range paths {
			if version, err := newest(kind, path); err != "" || version != "" {
				t.Errorf("%s.%s: since %q %s", kind, path, version, err)
			}
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// newest returns the version of the newest field on a property path, or an error in the path.
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
