// Package record implements vzones record: it writes the daemon's data about the vCenters and the Nodes to an archive, from
// which simulated vCenters can be started.
package record

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vmware/govmomi/vim25/xml"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/version"
	"sigs.k8s.io/yaml"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/recording"
	"vzones/cmd/vzones/world"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

const long = `Record what the daemon reads in one file: the inventory and the tags of each vCenter, the
Nodes, and the rules of the configuration. Send the file with a bug report, or use it with
--recording to repeat a command without the vCenters.

Names, addresses and UUIDs are replaced by others of the same shape, and equal ones stay
equal. Passwords, sessions, servers, user names and certificates are not recorded. Only the
properties that --dry-run lists are recorded.`

// stdout is the name of standard output.
const stdout = "-"

type options struct {
	world     world.Flags
	file      string
	keepNames bool
	dryRun    bool
}

// Command returns the record command.
func Command(t *cli.Tool) *cobra.Command {
	// No VM is needed in detail, because the recording is read separately.
	o := &options{world: world.Flags{NodesOptional: true, Follow: func(*world.World) []inventory.Identity { return nil }}}
	cmd := &cobra.Command{
		Use:   "record -o FILE",
		Short: "Record vCenters, Nodes and rules in a file, with names replaced",
		Long:  long,
		Example: `  vzones record --dry-run
  vzones record -o - | tar -xzO
  vzones record -o recording.tar.gz
  vzones record -c vsphere.yaml -o recording.tar.gz
  vzones check --recording recording.tar.gz`,
		Args: cli.NoArguments(cli.WriteConfig),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (o.file == "") != o.dryRun {
				return errors.New("use either -o FILE or --dry-run")
			}
			if o.file == stdout && t.IsTerminal() {
				return errors.New("standard output is a terminal: use -o FILE, or pipe it")
			}
			t.Started = true
			return run(cmd.Context(), t, o)
		},
	}
	flags := cmd.Flags()
	o.world.Add(flags)
	flags.StringVarP(&o.file, "output", "o", "", "the file to write, such as recording.tar.gz, or - for standard output")
	flags.BoolVar(&o.keepNames, "keep-names", false, "do not replace names, addresses and UUIDs")
	flags.BoolVar(&o.dryRun, "dry-run", false, "read everything, but only print a summary of the file")
	return cmd
}

func run(ctx context.Context, t *cli.Tool, o *options) error {
	end := t.Progress("Reading the vCenters")
	var n *names
	if !o.keepNames {
		var seed [32]byte
		_, _ = rand.Read(seed[:]) // It never returns an error.
		n = newNames(seed)
	}
	r, err := record(ctx, &o.world, n)
	end()
	if err != nil {
		return err
	}
	for _, warning := range r.warnings {
		fmt.Fprintf(t.Stderr, "Warning: %s\n", warning)
	}
	if o.dryRun {
		return t.Write(r.contents())
	}
	data, err := archive(r.files)
	if err != nil {
		return err
	}
	if o.file == stdout {
		return t.Write(data)
	}
	if err := os.WriteFile(o.file, data, 0o600); err != nil {
		return fmt.Errorf("writing the recording: %w", err)
	}
	fmt.Fprintf(t.Stderr, "Wrote %s with %s. To read it: vzones check --recording %[1]s\n", o.file, cli.Count(len(r.files), "file"))
	return nil
}

type file struct {
	name string
	data []byte
	// summary is empty for a managed object.
	summary string
}

// A result contains the recorded data.
type result struct {
	about *recording.About
	files []file
	// warnings are the vCenters' errors, with the original names.
	warnings []string
}

// record reads all vCenters.
func record(ctx context.Context, flags *world.Flags, n *names) (*result, error) {
	w, err := world.Open(ctx, flags)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	ctx, cancel := w.Within(ctx)
	defer cancel()
	sessions := w.Sessions()
	readers := make([]*reader, len(sessions))
	for i, s := range sessions {
		readers[i] = newReader(n, s, w.Config.Topology.Policy.Categories())
	}
	errs := world.ReadEach(ctx, sessions, "recording the vCenter", func(ctx context.Context, i int, rest *session.REST) { readers[i].read(ctx, rest) })
	readings := make([]*reading, len(sessions))
	for i, r := range readers {
		switch {
		case sessions[i].Err != nil:
			r.failed("logging in", sessions[i].Err)
		case errs[i] != nil:
			r.failed("reading the vCenter", errs[i])
		}
		readings[i] = r.out
	}
	// YAML sorts the entries of the configuration, too.
	slices.SortFunc(readings, func(a, b *reading) int { return strings.Compare(a.about.Name, b.about.Name) })
	about := &recording.About{Tool: version.Get().GitVersion, NamesReplaced: n != nil}
	var files []file
	var warnings []string
	for i, r := range readings {
		warnings = append(warnings, r.warnings...)
		r.about.Directory = fmt.Sprintf("vcenter-%d", i+1)
		about.VCenters = append(about.VCenters, r.about)
		for j, o := range r.objects {
			data, err := xml.MarshalIndent(o, "", "  ")
			if err != nil {
				return nil, fmt.Errorf("writing %s: %w", o.Obj, err)
			}
			files = append(files, file{name: fmt.Sprintf("%s/%05d-%s.xml", r.about.Directory, j, o.Obj.Encode()), data: data})
		}
		numbers := map[string]int{"category": len(r.tags.Categories)}
		for _, c := range r.tags.Categories {
			numbers["tag"] += len(c.Tags)
		}
		files = append(files, yamlFile(r.about.Directory+"/"+recording.TagsFile, counts(numbers), r.tags))
	}
	list := v1.NodeList{}
	list.Kind = "NodeList"
	list.APIVersion = "v1"
	further := furtherLabels(w.Config)
	for _, node := range w.Nodes {
		list.Items = append(list.Items, n.node(node, further))
	}
	files = append(files,
		yamlFile(recording.NodesFile, cli.Count(len(list.Items), "Node"), list),
		yamlFile(recording.ConfigFile, "the rules, without servers and credentials", n.config(w.Config)),
		yamlFile(recording.AboutFile, "versions, numbers of objects, times, errors", about),
	)
	return &result{about: about, files: files, warnings: warnings}, nil
}

// yamlFile panics if the value has no YAML form.
func yamlFile(name, summary string, value any) file {
	data, err := yaml.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("writing %s: %v", name, err))
	}
	return file{name, data, summary}
}

func archive(files []file) ([]byte, error) {
	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(zipped)
	for _, f := range files {
		if err := archive.WriteHeader(&tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.data))}); err != nil {
			return nil, fmt.Errorf("writing %s: %w", f.name, err)
		}
		if _, err := archive.Write(f.data); err != nil {
			return nil, fmt.Errorf("writing %s: %w", f.name, err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		return nil, fmt.Errorf("writing the recording: %w", err)
	}
	return buffer.Bytes(), nil
}

// contents summarizes the files, and lists all properties.
func (r *result) contents() []byte {
	var b strings.Builder
	size := 0
	for _, f := range r.files {
		size += len(f.data)
	}
	names := "replaced"
	if !r.about.NamesReplaced {
		names = "kept"
	}
	fmt.Fprintf(&b, "%s, %s uncompressed. Names, addresses and UUIDs are %s.\n\n", cli.Count(len(r.files), "file"), cli.Count(size, "byte"), names)
	for i := range r.about.VCenters {
		v := &r.about.VCenters[i]
		fmt.Fprintf(&b, "%s/*.xml: %s\n", v.Directory, cmp.Or(counts(v.Objects), "not read"))
	}
	for _, f := range r.files {
		if f.summary != "" {
			fmt.Fprintf(&b, "%s: %s\n", f.name, f.summary)
		}
	}
	b.WriteString("\nProperties of inventory objects:\n")
	for _, p := range properties {
		kinds := "every object"
		if p.types != nil {
			kinds = strings.Join(p.types, ", ")
		}
		how := p.how
		if !r.about.NamesReplaced {
			how = strings.ReplaceAll(how, "replaced", "kept")
		}
		fmt.Fprintf(&b, "  %s %s: %s (%s)\n", kinds, p.path, how, p.why)
	}
	return []byte(b.String())
}

func counts(numbers map[string]int) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		list = append(list, fmt.Sprintf("%s %d", name, numbers[name]))
	}
	return strings.Join(list, ", ")
}
