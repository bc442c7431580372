// Package config reads the limits file: YAML or JSON, one schema.
//
// [Load] and [Parse] are strict. An unknown field, a field given twice, a number
// that means nothing and a part that is not supported yet are all errors, and
// [Error] lists every one of them with its line, so that a person who fixes a
// file needs one run and not five. Nothing in a file is ever ignored: a limit
// that is not understood would be a limit that is not enforced.
//
// The package decodes, and knows where everything stands. What a table of limits
// may say is the business of [core.Config.Validate]; its findings are listed
// among the others, at the line of the field that they name.
//
// YAML is read without anchors, aliases, tags, directives, complex keys and
// several documents. A file without them reads the same to everybody, and it
// cannot grow when it is read.
//
// [Schema] is the same grammar as a JSON Schema, for editors.
package config
