package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/vpx"
	"github.com/vmware/govmomi/vim25/types"
	"gopkg.in/yaml.v3"

	"vzones/cmd/vzones/recording"
)

// loadRecording returns a simulator with the objects of a folder that govc object.save wrote.
func loadRecording(dir string) (*simulator.Context, *simulator.ServiceInstance, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.xml"))
	if err != nil || len(files) == 0 {
		return nil, nil, fmt.Errorf("recording %s: no XML files, as govc object.save writes them", dir)
	}
	model := &simulator.Model{ServiceContent: vpx.ServiceContent, RootFolder: vpx.RootFolder}
	Templates.Lock()
	defer Templates.Unlock()
	if err := model.Load(dir); err != nil {
		return nil, nil, fmt.Errorf("recording %s: %w", dir, err)
	}
	sctx := model.Service.Context
	instance, ok := sctx.Map.Get(types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"}).(*simulator.ServiceInstance)
	if !ok {
		return nil, nil, fmt.Errorf("recording %s: it has no ServiceInstance", dir)
	}
	return sctx, instance, nil
}

// tagRecording attaches the tags of a recording, none if it has no file with tags.
func (v *VCenter) tagRecording(dir string) error {
	content, err := os.ReadFile(filepath.Join(dir, recording.TagsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var tags recording.Tags
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&tags); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, recording.TagsFile), err)
	}
	return v.TagRecorded(tags)
}

// TagRecorded creates categories and tags, and attaches the tags.
func (v *VCenter) TagRecorded(tags recording.Tags) error {
	for _, c := range tags.Categories {
		if err := v.category(CategorySpec{Name: c.Name, Single: c.Cardinality == "SINGLE", Types: c.Types}); err != nil {
			return err
		}
		for _, t := range c.Tags {
			if _, err := v.tag(c.Name, t.Name); err != nil {
				return err
			}
			for _, object := range t.Objects {
				var ref types.ManagedObjectReference
				if !ref.FromString(object) {
					return fmt.Errorf("tag %q of category %q: object %q is not TYPE:ID", t.Name, c.Name, object)
				}
				if v.registry().Get(ref) == nil {
					return fmt.Errorf("tag %q of category %q: vCenter %q has no object %s", t.Name, c.Name, v.name, object)
				}
				if err := v.attach(ref, c.Name, t.Name, true); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
