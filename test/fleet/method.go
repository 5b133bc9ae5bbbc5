package fleet

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"gopkg.in/yaml.v3"
)

// Method returns a call of a method of VCenter, such as MoveVM, for scripts. Arguments are text: a
// fault is the name of its type, anything else is YAML of the parameter's type, such as
// {name: a, cluster: c}.
func Method(name string, args []string) (func(*VCenter) error, error) {
	method, ok := reflect.TypeFor[*VCenter]().MethodByName(name)
	if !ok {
		return nil, fmt.Errorf("fleet.VCenter has no method %q", name)
	}
	params := method.Type.NumIn() - 1 // without the receiver
	if isVariadic := method.Type.IsVariadic(); len(args) != params && (!isVariadic || len(args) < params-1) {
		return nil, fmt.Errorf("%s takes %d arguments, not %q", name, params, args)
	}
	values := make([]reflect.Value, 1, len(args)+1)
	for i, arg := range args {
		paramType := method.Type.In(min(i+1, params))
		if method.Type.IsVariadic() && i+1 >= params {
			paramType = paramType.Elem()
		}
		value, err := argument(paramType, arg)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, arg, err)
		}
		values = append(values, value)
	}
	return func(v *VCenter) error {
		values[0] = reflect.ValueOf(v)
		for _, out := range method.Func.Call(values) {
			if err, isError := out.Interface().(error); isError {
				return err
			}
		}
		return nil
	}, nil
}

func argument(paramType reflect.Type, text string) (reflect.Value, error) {
	value := reflect.New(paramType).Elem()
	switch {
	case paramType == reflect.TypeFor[types.BaseMethodFault]():
		t, ok := types.TypeFunc()(text)
		if !ok || !reflect.PointerTo(t).Implements(paramType) {
			return value, errors.New("vSphere has no such fault")
		}
		value.Set(reflect.New(t))
	case paramType == reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(text)
		if err != nil {
			return value, err
		}
		value.SetInt(int64(d))
	case paramType.Kind() == reflect.String:
		value.SetString(text)
	default:
		return value, yaml.Unmarshal([]byte(text), value.Addr().Interface())
	}
	return value, nil
}
