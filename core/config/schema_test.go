package config

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	const name = "limits.schema.json"
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// instance reads a file as a tool does that knows nothing of limits.
func instance(t *testing.T, source []byte) (any, bool) {
	t.Helper()
	root := (&decoder{file: "f"}).parse(source)
	if root == nil {
		return nil, false
	}
	return plain(root), true
}

func TestSchemaSeesEveryMistakeThatItCan(t *testing.T) {
	schema := compileSchema(t)
	for _, m := range mistakes {
		v, ok := instance(t, []byte(m.file()))
		if !ok {
			if m.blind == "" {
				t.Errorf("%s: is no YAML to a schema, so say why", m.name)
			}
			continue
		}
		err := schema.Validate(v)
		switch {
		case err == nil && m.blind == "":
			t.Errorf("%s: the schema accepts\n%s", m.name, m.file())
		case err != nil && m.blind != "":
			t.Errorf("%s: the schema refuses it (%v), though it is said that %s", m.name, err, m.blind)
		}
	}
}

// An editor shows the description of the field under the cursor.
func TestSchemaDescribesEveryField(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal(Schema, &doc); err != nil {
		t.Fatal(err)
	}
	defs := doc["$defs"].(map[string]any)
	describe(t, "", doc, defs)
	for name, def := range defs {
		describe(t, name, def.(map[string]any), defs)
	}
}

func describe(t *testing.T, path string, schema, defs map[string]any) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		field, ok := p.(map[string]any)
		if !ok {
			continue // false: it must not be there
		}
		text := field["description"]
		if ref, ok := field["$ref"].(string); ok && text == nil {
			text = defs[ref[len("#/$defs/"):]].(map[string]any)["description"]
		}
		if text == nil && field["const"] == nil && len(field) > 0 {
			t.Errorf("%s.%s has no description", path, name)
		}
		describe(t, path+"."+name, field, defs)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below, ok := schema[key].(map[string]any); ok {
			describe(t, path+"."+key, below, defs)
		}
	}
}
