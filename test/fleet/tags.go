package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// tagService is the tagging service of one vCenter, called in process.
type tagService struct {
	handler http.Handler

	mu         sync.Mutex
	session    string
	categories map[string]string    // IDs by name
	tags       map[[2]string]string // IDs by category and name
}

// attacher is implemented by the simulator's REST handler. The caller locks it.
type attacher interface {
	sync.Locker
	AttachTag(types.ManagedObjectReference, string) types.BaseMethodFault
	DetachTag(types.ManagedObjectReference, string) types.BaseMethodFault
}

const (
	categoryPath = "/rest/com/vmware/cis/tagging/category"
	tagPath      = "/rest/com/vmware/cis/tagging/tag"
)

func (v *VCenter) post(path string, in, out any) error {
	return v.send(http.MethodPost, path, in, out)
}

func (v *VCenter) send(method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r := v.internalRequest(method, path)
	if path == restSessionPath {
		r.SetBasicAuth(v.User(), v.Password())
	}
	r.Header.Set(restSessionHeader, v.tags.session)
	res := v.simulated(r, body)
	if res.status != http.StatusOK {
		return fmt.Errorf("%s: status %d: %s", path, res.status, res.body)
	}
	if out == nil {
		return nil
	}
	return decodeValue(res, out)
}

// openTags logs in to the service while the password is accepted. Sessions and EndSessions ignore
// this session.
func (v *VCenter) openTags() error {
	v.tags.categories = make(map[string]string)
	v.tags.tags = make(map[[2]string]string)
	return v.post(restSessionPath, nil, &v.tags.session)
}

func (v *VCenter) tag(category, name string) (string, error) {
	t := &v.tags
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{category, name}
	if id, ok := t.tags[key]; ok {
		return id, nil
	}
	if _, ok := t.categories[category]; !ok {
		// The cardinality is MULTIPLE: tests attach two tags of one category.
		if err := v.makeCategory(CategorySpec{Name: category}); err != nil {
			return "", err
		}
	}
	var id string
	in := map[string]any{"create_spec": map[string]any{"name": name, "category_id": t.categories[category]}}
	if err := v.post(tagPath, in, &id); err != nil {
		return "", fmt.Errorf("tag %q of category %q: %w", name, category, err)
	}
	t.tags[key] = id
	return id, nil
}

func (v *VCenter) category(spec CategorySpec) error {
	v.tags.mu.Lock()
	defer v.tags.mu.Unlock()
	return v.makeCategory(spec)
}

// makeCategory creates a tag category. The caller holds the lock of the tags.
func (v *VCenter) makeCategory(spec CategorySpec) error {
	cardinality := "MULTIPLE"
	kinds := spec.Types
	if spec.Single {
		cardinality = "SINGLE"
	}
	if kinds == nil {
		kinds = Names{}
	}
	var id string
	in := map[string]any{"create_spec": map[string]any{"name": spec.Name, "cardinality": cardinality, "associable_types": kinds}}
	if err := v.post(categoryPath, in, &id); err != nil {
		return fmt.Errorf("tag category %q: %w", spec.Name, err)
	}
	v.tags.categories[spec.Name] = id
	return nil
}

// attach attaches a tag to an object or, if on is false, detaches it.
func (v *VCenter) attach(ref types.ManagedObjectReference, category, name string, attached bool) error {
	id, err := v.tag(category, name)
	if err != nil {
		return err
	}
	h := v.tags.handler.(attacher)
	operation := h.AttachTag
	if !attached {
		operation = h.DetachTag
	}
	h.Lock()
	fault := operation(ref, id)
	h.Unlock()
	if fault != nil {
		return fmt.Errorf("tag %q of category %q: %T", name, category, fault)
	}
	return nil
}

func (v *VCenter) attachAll(ref types.ManagedObjectReference, tags Tags) error {
	for _, category := range slices.Sorted(maps.Keys(tags)) {
		for _, name := range tags[category] {
			if err := v.attach(ref, category, name, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// Tag attaches a tag to an object in addition to its other tags. It creates a missing category or
// tag. The object is an inventory path ("/" for the root folder) or a unique name.
func (v *VCenter) Tag(object, category, tag string) error {
	ref, err := v.Reference(object)
	if err != nil {
		return err
	}
	return v.attach(ref, category, tag, true)
}

// Untag detaches a tag from an object.
func (v *VCenter) Untag(object, category, tag string) error {
	ref, err := v.Reference(object)
	if err != nil {
		return err
	}
	return v.attach(ref, category, tag, false)
}

// Retag replaces all tags of a category on an object with one tag, or with none for "".
func (v *VCenter) Retag(object, category, tag string) error {
	ref, err := v.Reference(object)
	if err != nil {
		return err
	}
	if tag != "" {
		if err := v.attach(ref, category, tag, true); err != nil {
			return err
		}
	}
	v.tags.mu.Lock()
	var otherTags []string
	for key := range v.tags.tags {
		if key[0] == category && key[1] != tag {
			otherTags = append(otherTags, key[1])
		}
	}
	v.tags.mu.Unlock()
	for _, name := range otherTags {
		if err := v.attach(ref, category, name, false); err != nil {
			return err
		}
	}
	return nil
}

// RenameTag renames a tag. vCenter logs no event for it.
func (v *VCenter) RenameTag(category, tag, name string) error {
	t := &v.tags
	t.mu.Lock()
	defer t.mu.Unlock()
	id, ok := t.tags[[2]string{category, tag}]
	if !ok {
		return fmt.Errorf("fleet: there is no tag %q of category %q", tag, category)
	}
	in := map[string]any{"update_spec": map[string]any{"name": name}}
	if err := v.send(http.MethodPatch, tagPath+"/id:"+id, in, nil); err != nil {
		return fmt.Errorf("renaming tag %q: %w", tag, err)
	}
	delete(t.tags, [2]string{category, tag})
	t.tags[[2]string{category, name}] = id
	return nil
}

// RenameCategory renames a tag category.
func (v *VCenter) RenameCategory(category, name string) error {
	t := &v.tags
	t.mu.Lock()
	defer t.mu.Unlock()
	id, ok := t.categories[category]
	if !ok {
		return fmt.Errorf("fleet: there is no tag category %q", category)
	}
	in := map[string]any{"update_spec": map[string]any{"name": name}}
	if err := v.send(http.MethodPatch, categoryPath+"/id:"+id, in, nil); err != nil {
		return fmt.Errorf("renaming tag category %q: %w", category, err)
	}
	delete(t.categories, category)
	t.categories[name] = id
	renamed := make(map[[2]string]string, len(t.tags))
	for key, id := range t.tags {
		if key[0] == category {
			key[0] = name
		}
		renamed[key] = id
	}
	t.tags = renamed
	return nil
}
