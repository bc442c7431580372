package config

import _ "embed"

// Schema is the grammar of limits files as a JSON Schema (2020-12), for editors
// and other tools. It has the parts that are not supported yet, and it cannot
// see what depends on two places of a file, such as unknown tiers. Not to be
// altered.
//
//go:embed limits.schema.json
var Schema []byte
