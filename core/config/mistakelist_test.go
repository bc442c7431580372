package config

// mistakes are ordered as the fields of a file are.
var mistakes = []mistake{

	// version and the file as such.
	{
		name:   "version left out",
		source: "@limits: []",
		want:   "1: version: is missing, want version: 1",
	},
	{
		name:   "another version",
		source: "@version: 2\nlimits: []",
		want:   "1: version: is 2, want the number 1",
	},
	{
		name:   "version as text",
		source: "@version: \"1\"\nlimits: []",
		want:   `1: version: is "1", want the number 1`,
	},
	{
		name:   "version written as a fraction",
		source: "@version: 1.0\nlimits: []",
		want:   "1: version: is 1.0, want the number 1",
		blind:  "a schema takes 1.0 for 1",
	},
	{
		name:   "limits left out",
		source: "@version: 1\ntiers: [free]",
		want:   "1: limits: is missing, want a list of limits, or an empty one to say none",
	},
	{
		name:   "limits left empty",
		source: "limits:",
		want:   "2: limits: is empty, want a list of limits, or [] to say none",
	},
	{
		name:   "limits that are no list",
		source: "limits: {name: a, limit: 5/s}",
		want:   "2: limits: is a mapping, want a list of limits, or [] to say none",
	},
	{
		name:   "a limit that is no mapping",
		source: "limits: [per-ip]",
		want:   `2: limits[0]: is "per-ip", want a mapping such as {name: per-ip, key: ip, limit: 500/s}`,
	},
	{
		name:   "unknown field at the top",
		source: "limts: []\nlimits: []",
		want:   "2: limts: is unknown, did you mean limits?",
	},
	{
		name:   "unknown field without a near one",
		source: "colour: red\nlimits: []",
		want:   "2: colour: is unknown, want version, tiers, limits, default_tier, client, principals, headers, exempt, store or overload",
	},
	{
		name:   "field twice",
		source: "limits: []\nlimits: []",
		want:   "3: limits: is there twice, first on line 2; want it once",
		blind:  "a schema sees the last one only",
	},

	// client.
	{
		name:   "ip_header without proxies",
		source: "client: {ip_header: X-Real-IP}",
		want:   `2: client.ip_header: is "X-Real-IP" and nobody is trusted to send it, want trusted_proxies beside it`,
	},
	{
		name:   "ip_header with an empty list of proxies",
		source: "client: {trusted_proxies: [], ip_header: X-Real-IP}",
		want:   `2: client.ip_header: is "X-Real-IP" and nobody is trusted to send it, want trusted_proxies beside it`,
	},
	{
		name:   "ip_header that is no header",
		source: `client: {trusted_proxies: [10.0.0.0/8], ip_header: "X Real"}`,
		want:   `2: client.ip_header: is "X Real", want the name of a header, such as X-Forwarded-For`,
	},
	{
		name:   "proxy that is no address",
		source: "client: {trusted_proxies: [proxy.example]}",
		want:   `2: client.trusted_proxies[0]: is "proxy.example", want an address or a network, such as 10.0.0.0/8`,
	},
	{
		name:   "proxy with leading zeros",
		source: "client: {trusted_proxies: [010.0.0.1]}",
		want:   `2: client.trusted_proxies[0]: is "010.0.0.1", want an address or a network, such as 10.0.0.0/8`,
		blind:  "addresses are more than a pattern",
	},
	{
		name:   "proxy with a zone",
		source: `client: {trusted_proxies: ["fe80::1%eth0"]}`,
		want:   `2: client.trusted_proxies[0]: is "fe80::1%eth0", want no zone: it means nothing to another host`,
	},
	{
		name:   "prefix beyond the address",
		source: "client: {trusted_proxies: [10.0.0.0/33]}",
		want:   `2: client.trusted_proxies[0]: is "10.0.0.0/33", want an address or a network, such as 10.0.0.0/8`,
		blind:  "addresses are more than a pattern",
	},
	{
		name:   "prefix beyond IPv4 in IPv6",
		source: `client: {trusted_proxies: ["::ffff:10.0.0.0/90"]}`,
		want:   `2: client.trusted_proxies[0]: is "::ffff:10.0.0.0/90", which is more than IPv4 in IPv6, want /96 or longer`,
		blind:  "addresses are more than a pattern",
	},
	{
		name:   "proxies that are no list",
		source: "client: {trusted_proxies: 10.0.0.0/8}",
		want:   `2: client.trusted_proxies: is "10.0.0.0/8", want a list of addresses and networks, such as [10.0.0.0/8]`,
	},
	{
		name:   "proxy twice",
		source: "client: {trusted_proxies: [10.0.0.0/8, 10.0.0.0/8]}",
		want:   "2: client.trusted_proxies[1]: repeats item 0, want each once",
	},
	{
		name:   "ipv6_prefix too short",
		source: "client: {ipv6_prefix: 31}",
		want:   "2: client.ipv6_prefix: is 31, want a whole number from 32 to 128",
	},
	{
		name:   "ipv6_prefix of 0",
		source: "client: {ipv6_prefix: 0}",
		want:   "2: client.ipv6_prefix: is 0, want a whole number from 32 to 128",
	},
	{
		name:   "ipv6_prefix as text",
		source: `client: {ipv6_prefix: "64"}`,
		want:   `2: client.ipv6_prefix: is "64", want a whole number from 32 to 128`,
	},
	{
		name:   "client left empty",
		source: "client:",
		want:   "2: client: is empty, want a mapping of trusted_proxies, ip_header, ipv6_prefix",
	},

	// principals.
	{
		name:   "directory without a header",
		source: "principals: {known: {}}",
		want:   "2: principals.header: is missing, want the name of a header, such as X-API-Key",
	},
	{
		name:   "directory without callers",
		source: "principals: {header: X-API-Key}",
		want:   "2: principals.known: is missing, want a mapping of keys to callers, or {} to say none",
	},
	{
		name:   "callers that are a list",
		source: "principals: {header: X-API-Key, known: [alice]}",
		want:   "2: principals.known: is a list, want a mapping of keys to callers such as {id: alice, tier: free}",
	},
	{
		name:   "caller without an id",
		source: "principals: {header: X-API-Key, known: {secret: {tier: free}}}",
		want:   "2: principals.known[0].id: is missing, want the principal that the caller is, such as alice",
	},
	{
		name:   "id that is a number",
		source: "principals: {header: X-API-Key, known: {secret: {id: 5}}}",
		want:   "2: principals.known[0].id: is 5, want the principal that the caller is, such as alice; put it in quotes",
	},
	{
		name:   "id that is empty",
		source: `principals: {header: X-API-Key, known: {secret: {id: ""}}}`,
		want:   `2: principals.known[0].id: is "", want the principal that the caller is, such as alice`,
	},
	{
		name:   "caller with an empty key",
		source: `principals: {header: X-API-Key, known: {"": {id: alice}}}`,
		want:   "2: principals.known[0]: has a key that no header can carry, want letters and digits without blanks around them",
	},
	{
		name:   "caller with a blank behind the key",
		source: `principals: {header: X-API-Key, known: {"secret ": {id: alice}}}`,
		want:   "2: principals.known[0]: has a key that no header can carry, want letters and digits without blanks around them",
	},
	{
		name:   "caller with a key of other letters",
		source: "principals: {header: X-API-Key, known: {geheimnüs: {id: alice}}}",
		want:   "2: principals.known[0]: has a key that no header can carry, want letters and digits without blanks around them",
	},
	{
		name:   "caller with the key of another",
		source: "principals:\n  header: X-API-Key\n  known:\n    secret: {id: alice}\n    secret: {id: bob}",
		want:   "6: principals.known[1]: is there twice, first on line 5; want it once",
		blind:  "a schema sees the last one only",
	},
	{
		name:   "caller of an unknown tier",
		source: "tiers: [free]\nprincipals: {header: X-API-Key, known: {secret: {id: alice, tier: gold}}}",
		want:   `3: principals.known[0].tier: is "gold", want one of the tiers (free)`,
		blind:  "the tiers are elsewhere",
	},
	{
		name:   "caller of a tier that no limit names",
		source: "principals: {header: X-API-Key, known: {secret: {id: alice, tier: gold}}}\nlimits: [{name: a, tiers: {free: 5/s}}]",
		want:   `2: principals.known[0].tier: is "gold", want one of the tiers (free)`,
		blind:  "the tiers are elsewhere",
	},
	{
		name:   "caller with an unknown field",
		source: "principals: {header: X-API-Key, known: {secret: {id: alice, teir: free}}}",
		want:   "2: principals.known[0].teir: is unknown, did you mean tier?",
	},

	// tiers.
	{
		name:   "tiers that are empty",
		source: "tiers: []",
		want:   "2: tiers: is empty, want a list of tiers such as [free, pro], or leave it out",
	},
	{
		name:   "tier that is a number",
		source: "tiers: [free, 5]",
		want:   "2: tiers[1]: is 5, want the name of a tier; put it in quotes",
	},
	{
		name:   "tier that is empty",
		source: `tiers: [free, ""]`,
		want:   `2: tiers[1]: is "", want the name of a tier`,
	},
	{
		name:   "tier of all the rest",
		source: `tiers: [free, "*"]`,
		want:   `2: tiers[1]: is "*", want a name: that stands for the rest of the tiers`,
	},
	{
		name:   "tier twice",
		source: "tiers: [free, free]",
		want:   "2: tiers[1]: repeats item 0, want each once",
	},
	{
		name:   "tier with a long name",
		source: "tiers: [aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]",
		want:   "2: tiers[0]: has a name of 65 bytes, want at most 64",
	},
	{
		name:   "default tier that is unknown",
		source: "tiers: [free]\ndefault_tier: gold",
		want:   `3: default_tier: is "gold", want one of the tiers (free)`,
		blind:  "the tiers are elsewhere",
	},
	{
		name:   "default tier that is a list",
		source: "tiers: [free]\ndefault_tier: [free]",
		want:   "3: default_tier: is a list, want the name of a tier",
	},

	// headers.
	{
		name:   "headers that are empty",
		source: "headers: []",
		want:   "2: headers: is empty, want a list of ratelimit, ratelimit-draft-06, x-ratelimit-epoch, x-ratelimit-delta or none",
	},
	{
		name:   "headers that are a word",
		source: "headers: ratelimit",
		want:   `2: headers: is "ratelimit", want a list of ratelimit, ratelimit-draft-06, x-ratelimit-epoch, x-ratelimit-delta or none`,
	},
	{
		name:   "unknown header style",
		source: "headers: [rate-limit]",
		want:   `2: headers[0]: is "rate-limit", did you mean ratelimit? want ratelimit, ratelimit-draft-06, x-ratelimit-epoch, x-ratelimit-delta or none`,
	},
	{
		name:   "header style twice",
		source: "headers: [ratelimit, ratelimit]",
		want:   "2: headers[1]: repeats ratelimit, want each once",
	},
	{
		name:   "two bodies of one header",
		source: "headers: [ratelimit-draft-06, ratelimit]",
		want:   `2: headers[1]: is "ratelimit" beside ratelimit-draft-06, want one of them`,
	},
	{
		name:   "two meanings of one header",
		source: "headers: [x-ratelimit-epoch, x-ratelimit-delta]",
		want:   `2: headers[1]: is "x-ratelimit-delta" beside x-ratelimit-epoch, want one of them`,
	},
	{
		name:   "none beside others",
		source: "headers: [ratelimit, none]",
		want:   `2: headers[1]: is "none" beside ratelimit, want one of them`,
	},

	// exempt.
	{
		name:   "exemption of nothing",
		source: "exempt: [{}]",
		want:   "2: exempt[0]: is empty, want match, ip or principal",
	},
	{
		name:   "exemption that is no mapping",
		source: "exempt: [GET /healthz]",
		want:   `2: exempt[0]: is "GET /healthz", want a mapping of match, ip, principal`,
	},
	{
		name:   "exemption of an empty list of routes",
		source: "exempt: [{match: [], ip: [192.0.2.1]}]",
		want:   "2: exempt[0].match: is empty, want a list of routes, such as [POST /orders]",
	},
	{
		name:   "exemption of no route",
		source: "exempt: [{match: [healthz]}]",
		want:   `2: exempt[0].match[0]: "healthz" has the path "healthz", want one that begins with / such as "GET /orders/{id}"`,
	},
	{
		name:   "exemption of no address",
		source: "exempt: [{ip: [localhost]}]",
		want:   `2: exempt[0].ip[0]: is "localhost", want an address or a network, such as 10.0.0.0/8`,
	},
	{
		name:   "exemption of an empty principal",
		source: `exempt: [{principal: [""]}]`,
		want:   `2: exempt[0].principal[0]: is "", want a principal`,
	},
	{
		name:   "exemption with an unknown field",
		source: "exempt: [{principals: [monitor]}]",
		want:   "2: exempt[0].principals: is unknown, did you mean principal?",
	},

	// names, routes and keys of limits.
	{
		name:   "name left out",
		source: "limits: [{limit: 5/s}]",
		want:   "2: limits[0].name: is missing, want 1 to 64 of A-Z a-z 0-9 _ . : / -",
	},
	{
		name:   "name that is empty",
		source: `limits: [{name: "", limit: 5/s}]`,
		want:   `2: limits[0].name: is "", want a name`,
	},
	{
		name:   "name that is a number",
		source: "limits: [{name: 5, limit: 5/s}]",
		want:   "2: limits[0].name: is 5, want a name; put it in quotes",
	},
	{
		name:   "name with a blank",
		source: "limits: [{name: per ip, limit: 5/s}]",
		want:   `2: limits[0].name: is "per ip", want only A-Z a-z 0-9 _ . : / -`,
	},
	{
		name:   "name too long",
		source: "limits: [{name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, limit: 5/s}]",
		want:   "2: limits[0].name: is 65 characters long, want at most 64",
	},
	{
		name:   "name twice",
		source: "limits:\n  - {name: a, limit: 5/s}\n  - {name: a, limit: 6/s}",
		want:   `4: limits[1].name: is "a", which limits[0] is called too; want unique names`,
		blind:  "names are compared across limits",
	},
	{
		name:   "route without a slash",
		source: "limits: [{name: a, limit: 5/s, match: [orders]}]",
		want:   `2: limits[0].match[0]: "orders" has the path "orders", want one that begins with / such as "GET /orders/{id}"`,
	},
	{
		name:   "route with an unknown method",
		source: "limits: [{name: a, limit: 5/s, match: [FETCH /orders]}]",
		want:   `2: limits[0].match[0]: "FETCH /orders" begins with "FETCH", want a standard method in capitals, such as GET`,
	},
	{
		name:   "route with a small method",
		source: "limits: [{name: a, limit: 5/s, match: [get /orders]}]",
		want:   `2: limits[0].match[0]: "get /orders" begins with "get", want a standard method in capitals, such as GET`,
	},
	{
		name:   "route with a query",
		source: `limits: [{name: a, limit: 5/s, match: ["/orders?x=1"]}]`,
		want:   `2: limits[0].match[0]: "/orders?x=1" has a space, ? or # in its path, want a route`,
	},
	{
		name:   "route with an open brace",
		source: `limits: [{name: a, limit: 5/s, except: ["/orders/{id"]}]`,
		want:   `2: limits[0].except[0]: "/orders/{id": { without }`,
		blind:  "braces are more than a pattern",
	},
	{
		name:   "routes that are empty",
		source: "limits: [{name: a, limit: 5/s, match: []}]",
		want:   "2: limits[0].match: is empty, want a list of routes, such as [POST /orders]",
	},
	{
		name:   "routes that are text",
		source: "limits: [{name: a, limit: 5/s, match: POST /orders}]",
		want:   `2: limits[0].match: is "POST /orders", want a list of routes, such as [POST /orders]`,
	},
	{
		name:   "route in the syntax of Gin and Echo",
		source: `limits: [{name: a, limit: 5/s, match: ["GET /orders/:id"]}]`,
		want:   `2: limits[0].match[0]: "GET /orders/:id": ":id" is how other routers write a parameter, want "/orders/{id}"`,
	},
	{
		name:   "route with a star",
		source: `limits: [{name: a, limit: 5/s, except: [/orders/*]}]`,
		want:   `2: limits[0].except[0]: "/orders/*": "*" is how other routers write a parameter, want "/orders/..."`,
	},
	{
		name:   "route that routers clean",
		source: `limits: [{name: a, limit: 5/s, match: [/x/../y]}]`,
		want:   `2: limits[0].match[0]: "/x/../y": ".." is no segment of a route, want "/y"`,
	},
	{
		name:   "route with dots behind a name",
		source: `limits: [{name: a, limit: 5/s, match: [/a...]}]`,
		want:   `2: limits[0].match[0]: "/a...": "a..." ends in ..., want "a/..." for every route below`,
	},
	{
		name:   "key of the host",
		source: "limits: [{name: a, limit: 5/s, key: header:Host}]",
		want:   "2: limits[0].key: names the header Host, which Go takes out of a request's headers, so that it would never be found; want another header, or in Go code core.ByValue",
	},
	{
		name:   "callers by the host",
		source: "principals: {header: host, known: {}}",
		want:   "2: principals.header: is Host, which Go takes out of a request's headers, want another header",
	},
	{
		name:   "limit without any number",
		source: "limits: [{name: a, key: ip}]",
		want:   "2: limits[0].limit: is missing, want N/period such as 10/s, or a quota for each tier",
	},
	{
		name:   "buckets for one tier",
		source: "limits: [{name: a, algorithm: sliding-window, tiers: {free: 5/s, none: 0, pro: {limit: 5/s, buckets: 6}}}]",
		want:   `2: limits[0].tiers.pro: has buckets and the tier "free" has none, want them for every tier of a limit or for none`,
		blind:  "it compares quotas",
	},
	{
		name:   "route that is null",
		source: "limits: [{name: a, limit: 5/s, match: [~]}]",
		want:   `2: limits[0].match[0]: is empty, want a route such as "GET /orders/{id}"`,
	},
	{
		name:   "route twice",
		source: "limits: [{name: a, limit: 5/s, match: [/a, /a]}]",
		want:   "2: limits[0].match[1]: repeats item 0, want each once",
	},
	{
		name:   "key that is unknown",
		source: "limits: [{name: a, limit: 5/s, key: user}]",
		want:   `2: limits[0].key: is "user", want principal, ip, route, global or header:NAME`,
	},
	{
		name:   "key of a header without a name",
		source: `limits: [{name: a, limit: 5/s, key: "header:"}]`,
		want:   `2: limits[0].key: is "header:", want principal, ip, route, global or header:NAME`,
	},
	{
		name:   "key that is a mapping",
		source: "limits: [{name: a, limit: 5/s, key: {header: X-Tenant}}]",
		want:   "2: limits[0].key: is a mapping, want principal, ip, route, global or header:NAME",
	},
	{
		name:   "key that is empty",
		source: "limits: [{name: a, limit: 5/s, key: []}]",
		want:   "2: limits[0].key: is empty, want principal, ip, route, global or header:NAME, or a list of them",
	},
	{
		name:   "key with a part twice",
		source: "limits: [{name: a, limit: 5/s, key: [ip, ip]}]",
		want:   `2: limits[0].key[1]: repeats "ip", want each part once`,
	},
	{
		name:   "key with an unknown part",
		source: "limits: [{name: a, limit: 5/s, key: [ip, user]}]",
		want:   `2: limits[0].key[1]: is "user", want principal, ip, route, global or header:NAME`,
	},
	{
		name:   "key that is global and more",
		source: "limits: [{name: a, limit: 5/s, key: [global, ip]}]",
		want:   "2: limits[0].key[0]: is global beside other parts, which it would not change; leave it out",
	},
	{
		name:   "key with a header in two spellings",
		source: `limits: [{name: a, limit: 5/s, key: ["header:X-A", "header:x-a"]}]`,
		want:   `2: limits[0].key[1]: repeats "header:x-a", want each part once`,
		blind:  "letters are compared without case",
	},
	{
		name:   "principal in the early stage",
		source: "limits: [{name: a, limit: 5/s, stage: early, key: principal}]",
		want:   "2: limits[0].key: is principal in the early stage, where nobody is authenticated yet; want ip, route, global or header:NAME",
	},
	{
		name:   "no key in the early stage",
		source: "limits: [{name: a, limit: 5/s, stage: early}]",
		want:   "2: limits[0].key: is principal in the early stage, where nobody is authenticated yet; want ip, route, global or header:NAME",
	},

	// rates.
	{
		name:   "rate left out",
		source: "limits: [{name: a}]",
		want:   "2: limits[0].limit: is missing, want N/period such as 10/s, or a quota for each tier",
	},
	{
		name:   "rate left empty",
		source: "limits: [{name: a, limit: }]",
		want:   "2: limits[0].limit: is empty, want N/period such as 10/s, or unlimited",
	},
	{
		name:   "rate that is a number",
		source: "limits: [{name: a, limit: 100}]",
		want:   "2: limits[0].limit: is 100, want N/period such as 10/s, or unlimited",
	},
	{
		name:   "rate that is a list",
		source: "limits: [{name: a, limit: [5/s]}]",
		want:   "2: limits[0].limit: is a list, want N/period such as 10/s, or unlimited",
	},
	{
		name:   "rate without a number",
		source: "limits: [{name: a, limit: /s}]",
		want:   `2: limits[0].limit: is "/s", want a whole number in decimal before the /, such as 10/s`,
	},
	{
		name:   "rate without a period",
		source: "limits: [{name: a, limit: 5/}]",
		want:   `2: limits[0].limit: is "5/", want s, min, h, day, month or a duration such as 10s after the /`,
	},
	{
		name:   "rate below zero",
		source: "limits: [{name: a, limit: -5/s}]",
		want:   `2: limits[0].limit: is "-5/s", want 0 or more before the /`,
	},
	{
		name:   "rate that is not whole",
		source: "limits: [{name: a, limit: 1.5/s}]",
		want:   `2: limits[0].limit: is "1.5/s", want a whole number in decimal before the /, such as 10/s`,
	},
	{
		name:   "rate with a blank",
		source: "limits: [{name: a, limit: 5 / s}]",
		want:   `2: limits[0].limit: is "5 / s", want a whole number in decimal before the /, such as 10/s`,
	},
	{
		name:   "rate with an underscore",
		source: "limits: [{name: a, limit: 1_000/s}]",
		want:   `2: limits[0].limit: is "1_000/s", want a whole number in decimal before the /, such as 10/s`,
	},
	{
		name:   "rate with a leading zero",
		source: "limits: [{name: a, limit: 010/s}]",
		want:   `2: limits[0].limit: is "010/s", want a whole number in decimal before the /, such as 10/s`,
	},
	{
		name:   "rate in another base",
		source: "limits: [{name: a, limit: 0x10/s}]",
		want:   `2: limits[0].limit: is "0x10/s", want a whole number in decimal before the /, such as 10/s`,
	},
	{
		name:   "rate with an exponent",
		source: "limits: [{name: a, limit: 1e3/s}]",
		want:   `2: limits[0].limit: is "1e3/s", want a whole number in decimal before the /, such as 10/s`,
	},
	{
		name:   "rate above an int64",
		source: "limits: [{name: a, limit: 9223372036854775808/s}]",
		want:   `2: limits[0].limit: is "9223372036854775808/s", want at most 9007199254740992 before the /`,
	},
	{
		name:   "rate above what is exact",
		source: "limits: [{name: a, limit: 9007199254740993/s}]",
		want:   `2: limits[0].limit: is "9007199254740993/s", want at most 9007199254740992 before the /`,
		blind:  "it has as many digits as one that is not",
	},
	{
		name:   "rate of 1e400",
		source: "limits: [{name: a, limit: 1e400}]",
		want:   "2: limits[0].limit: is 1e400, want N/period such as 10/s, or unlimited",
	},
	{
		name:   "rate of NaN",
		source: "limits: [{name: a, limit: NaN}]",
		want:   `2: limits[0].limit: is "NaN", want N/period such as 10/s, or unlimited`,
	},
	{
		name:   "rate of not a number",
		source: "limits: [{name: a, limit: .nan}]",
		want:   "2: limits[0].limit: is .nan, want N/period such as 10/s, or unlimited",
	},
	{
		name:   "rate of infinity",
		source: "limits: [{name: a, limit: .inf}]",
		want:   "2: limits[0].limit: is .inf, want N/period such as 10/s, or unlimited",
	},
	{
		name:   "rate of a misspelt unlimited",
		source: "limits: [{name: a, limit: unlimted}]",
		want:   `2: limits[0].limit: is "unlimted", want N/period such as 10/s, or unlimited`,
	},
	{
		name:   "period in a word",
		source: "limits: [{name: a, limit: 5/sec}]",
		want:   `2: limits[0].limit: is "5/sec", did you mean 5/s?`,
	},
	{
		name:   "period of m",
		source: "limits: [{name: a, limit: 5/m}]",
		want:   `2: limits[0].limit: is "5/m", did you mean 5/min?`,
	},
	{
		name:   "period of weeks",
		source: "limits: [{name: a, limit: 5/week}]",
		want:   `2: limits[0].limit: is "5/week", did you mean 5/168h?`,
	},
	{
		name:   "period that is unknown",
		source: "limits: [{name: a, limit: 5/fortnight}]",
		want:   `2: limits[0].limit: is "5/fortnight", want s, min, h, day, month or a duration such as 10s after the /`,
	},
	{
		name:   "period of zero",
		source: "limits: [{name: a, limit: 5/0s}]",
		want:   `2: limits[0].limit: is "5/0s", want a period above 0`,
		blind:  "a pattern does not see that all digits are 0",
	},
	{
		name:   "period below zero",
		source: "limits: [{name: a, limit: 5/-1s}]",
		want:   `2: limits[0].limit: is "5/-1s", want a period above 0`,
	},
	{
		name:   "period of nanoseconds",
		source: "limits: [{name: a, limit: 5/3ns}]",
		want:   "2: limits[0].limit: has a period of 3ns, want whole microseconds",
		blind:  "durations are more than a pattern",
	},
	{
		name:   "period of 300 years",
		source: "limits: [{name: a, limit: 5/2628000h}]",
		want:   `2: limits[0].limit: is "5/2628000h", want a period of at most 400 days`,
		blind:  "durations are more than a pattern",
	},
	{
		name:   "period of 500 days",
		source: "limits: [{name: a, limit: 5/12000h}]",
		want:   `2: limits[0].limit: is "5/12000h", want a period of at most 400 days`,
		blind:  "durations are more than a pattern",
	},
	{
		name:   "month of a token bucket",
		source: "limits: [{name: a, limit: 5/month}]",
		want:   "2: limits[0].limit: counts by the month, want a fixed-window for that, and this is a token-bucket",
	},
	{
		name:   "bucket that takes too long to fill",
		source: "limits: [{name: a, limit: 1/day, burst: 36501}]",
		want:   "2: limits[0].limit: of 1 a 24h0m0s takes more than 100 years to refill 36501 units, want a faster one",
		blind:  "it takes arithmetic",
	},

	// quotas.
	{
		name:   "unknown algorithm",
		source: "limits: [{name: a, limit: 5/s, algorithm: gcra}]",
		want:   `2: limits[0].algorithm: is "gcra", want token-bucket, leaky-bucket, fixed-window, sliding-window, sliding-log or concurrency`,
	},
	{
		name:   "misspelt algorithm",
		source: "limits: [{name: a, limit: 5/s, algorithm: token_bucket}]",
		want:   `2: limits[0].algorithm: is "token_bucket", did you mean token-bucket? want token-bucket, leaky-bucket, fixed-window, sliding-window, sliding-log or concurrency`,
	},
	{
		name:   "burst of zero",
		source: "limits: [{name: a, limit: 5/s, burst: 0}]",
		want:   "2: limits[0].burst: is 0, want a whole number from 1 to 9007199254740992",
	},
	{
		name:   "burst below zero",
		source: "limits: [{name: a, limit: 5/s, burst: -1}]",
		want:   "2: limits[0].burst: is -1, want a whole number from 1 to 9007199254740992",
	},
	{
		name:   "burst of a rate",
		source: "limits: [{name: a, limit: 5/s, burst: 5/s}]",
		want:   `2: limits[0].burst: is "5/s", want a whole number from 1 to 9007199254740992`,
	},
	{
		name:   "burst above an int64",
		source: "limits: [{name: a, limit: 5/s, burst: 9223372036854775808}]",
		want:   "2: limits[0].burst: is 9223372036854775808, want a whole number from 1 to 9007199254740992",
	},
	{
		name:   "burst of a fraction",
		source: "limits: [{name: a, limit: 5/s, burst: 1.5}]",
		want:   "2: limits[0].burst: is 1.5, want a whole number from 1 to 9007199254740992",
	},
	{
		name:   "burst of a window",
		source: "limits: [{name: a, limit: 5/s, burst: 5, algorithm: fixed-window}]",
		want:   "2: limits[0].burst: is for token-bucket only, and this is a fixed-window",
	},
	{
		name:   "burst beside unlimited",
		source: "limits: [{name: a, limit: unlimited, burst: 5}]",
		want:   "2: limits[0].burst: stands beside unlimited, want it left out",
	},
	{
		name:   "burst beside nothing",
		source: "limits: [{name: a, limit: 0/s, burst: 5}]",
		want:   "2: limits[0].burst: is 5 beside a limit of 0, which allows nothing; leave it out",
		blind:  "it takes arithmetic",
	},
	{
		name:   "burst without a limit",
		source: "limits: [{name: a, burst: 5}]",
		want:   "2: limits[0].limit: is missing, want N/period such as 10/s, or unlimited",
	},
	{
		name:   "queue of a token bucket",
		source: "limits: [{name: a, limit: 5/s, queue: 0}]",
		want:   "2: limits[0].queue: is for leaky-bucket only, and this is a token-bucket",
	},
	{
		name:   "queue that waits",
		source: "limits: [{name: a, limit: 5/s, queue: 5, algorithm: leaky-bucket}]",
		want:   "2: limits[0].queue: a leaky-bucket that queues is not supported yet, write exceeded: reject for the meter without waiting",
		blind:  "it is not supported yet",
	},
	{
		name:   "buckets of a token bucket",
		source: "limits: [{name: a, limit: 5/s, buckets: 5}]",
		want:   "2: limits[0].buckets: is for sliding-window only, and this is a token-bucket",
	},
	{
		name:   "one bucket",
		source: "limits: [{name: a, limit: 5/s, buckets: 1, algorithm: sliding-window}]",
		want:   "2: limits[0].buckets: is 1, want a whole number from 2 to 60",
	},
	{
		name:   "log too long",
		source: "limits: [{name: a, limit: 10001/s, algorithm: sliding-log}]",
		want:   "2: limits[0].limit: is 10001, want at most 10000 for a sliding-log, whose memory grows with it",
		blind:  "it takes arithmetic",
	},
	{
		name:   "window of a day and a half",
		source: "limits: [{name: a, limit: 5/36h, algorithm: fixed-window}]",
		want:   "2: limits[0].limit: has a window of 36h0m0s, want whole days above one day",
		blind:  "durations are more than a pattern",
	},
	{
		name:   "time zone that is unknown",
		source: "limits: [{name: a, limit: 5/day, algorithm: fixed-window, timezone: Mars/Olympus}]",
		want:   `2: limits[0].timezone: is "Mars/Olympus", want a zone of the IANA database such as Europe/Berlin that this system knows (a program that imports time/tzdata knows them all)`,
		blind:  "zones are a database",
	},
	{
		name:   "time zone of the machine",
		source: "limits: [{name: a, limit: 5/day, algorithm: fixed-window, timezone: Local}]",
		want:   `2: limits[0].timezone: is "Local", want a zone of the IANA database such as Europe/Berlin: the local one is another on every machine`,
	},
	{
		name:   "time zone that is empty",
		source: `limits: [{name: a, limit: 5/day, algorithm: fixed-window, timezone: ""}]`,
		want:   `2: limits[0].timezone: is "", want a zone of the IANA database such as Europe/Berlin`,
	},
	{
		name:   "time zone that is a number",
		source: "limits: [{name: a, limit: 5/day, algorithm: fixed-window, timezone: 8}]",
		want:   "2: limits[0].timezone: is 8, want a zone of the IANA database such as Europe/Berlin; put it in quotes",
	},
	{
		name:   "time zone of a sliding window",
		source: "limits: [{name: a, limit: 5/day, algorithm: sliding-window, timezone: UTC}]",
		want:   "2: limits[0].timezone: is for fixed-window only, and this is a sliding-window",
	},
	{
		name:   "time zone of an hour",
		source: "limits: [{name: a, limit: 5/h, algorithm: fixed-window, timezone: UTC}]",
		want:   "2: limits[0].timezone: is for windows of a day or more, which no quota of this limit has",
		blind:  "it takes arithmetic",
	},
	{
		name:   "time zone beside align",
		source: "limits: [{name: a, limit: 5/day, algorithm: fixed-window, timezone: UTC, align: first-request}]",
		want:   "2: limits[0].timezone: stands beside align, with which no window begins at midnight; want one of them",
	},
	{
		name:   "align to something else",
		source: "limits: [{name: a, limit: 5/day, algorithm: fixed-window, align: epoch}]",
		want:   `2: limits[0].align: is "epoch", want first-request`,
	},
	{
		name:   "align of a token bucket",
		source: "limits: [{name: a, limit: 5/day, align: first-request}]",
		want:   "2: limits[0].align: is for fixed-window only, and this is a token-bucket",
	},
	{
		name:   "align of a month",
		source: "limits: [{name: a, limit: 5/month, algorithm: fixed-window, align: first-request}]",
		want:   "2: limits[0].align: stands beside a month, want calendar months to begin on the first",
		blind:  "the month may be in any tier",
	},
	{
		name:   "cost of zero",
		source: "limits: [{name: a, limit: 5/s, cost: 0}]",
		want:   "2: limits[0].cost: is 0, want a whole number of 1 or more",
	},
	{
		name:   "cost below zero",
		source: "limits: [{name: a, limit: 5/s, cost: -1}]",
		want:   "2: limits[0].cost: is -1, want a whole number of 1 or more",
	},
	{
		name:   "cost above the burst",
		source: "limits: [{name: a, limit: 10/s, burst: 5, cost: 6}]",
		want:   "2: limits[0].limit: holds at most 5 units, below the cost of 6: no request could ever pass",
		blind:  "it takes arithmetic",
	},
	{
		name:   "cost in a word",
		source: "limits: [{name: a, limit: 10/s, cost: cheap}]",
		want:   `2: limits[0].cost: is "cheap", want a whole number of 1 or more`,
	},
	{
		name:   "concurrency as a rate",
		source: "limits: [{name: a, limit: 5/s, algorithm: concurrency}]",
		want:   `2: limits[0].limit: is "5/s", want a plain number such as 10, or unlimited`,
	},
	{
		name:   "concurrency in quotes",
		source: `limits: [{name: a, limit: "5", algorithm: concurrency}]`,
		want:   `2: limits[0].limit: is "5", want a plain number such as 10, or unlimited`,
	},
	{
		name:   "hold of a token bucket",
		source: "limits: [{name: a, limit: 5/s, hold: 30s}]",
		want:   "2: limits[0].hold: is for concurrency only, and this is a token-bucket",
	},

	// tiers of limits.
	{
		name:   "no quota for a tier",
		source: "tiers: [free, pro]\nlimits: [{name: a, tiers: {free: 5/s}}]",
		want:   `3: limits[0].tiers: has no quota for the tier "pro", want every tier of the list or "*" for the rest`,
		blind:  "the tiers are elsewhere",
	},
	{
		name:   "quota of an unknown tier",
		source: "tiers: [free]\nlimits: [{name: a, tiers: {free: 5/s, fere: 5/s}}]",
		want:   "3: limits[0].tiers.fere: is not in the list of tiers (free)",
		blind:  "the tiers are elsewhere",
	},
	{
		name:   "quota of no tier",
		source: "limits: [{name: a, tiers: {}}]",
		want:   "2: limits[0].tiers: is empty, want a mapping of tiers to quotas, such as {free: 10/s, pro: 100/s}",
	},
	{
		name:   "quotas that are a list",
		source: "limits: [{name: a, tiers: [free]}]",
		want:   "2: limits[0].tiers: is a list, want a mapping of tiers to quotas, such as {free: 10/s, pro: 100/s}",
	},
	{
		name:   "quota that is empty",
		source: "limits: [{name: a, tiers: {free: }}]",
		want:   "2: limits[0].tiers.free: is empty, want N/period such as 10/s, or unlimited",
	},
	{
		name:   "quota that is a number",
		source: "limits: [{name: a, tiers: {free: 5}}]",
		want:   "2: limits[0].tiers.free.limit: is 5, want N/period such as 10/s, or unlimited",
	},
	{
		name:   "quota with a bad period",
		source: "limits: [{name: a, tiers: {free: 5/hour}}]",
		want:   `2: limits[0].tiers.free.limit: is "5/hour", did you mean 5/h?`,
	},
	{
		name:   "quota with an unknown field",
		source: "limits: [{name: a, tiers: {free: {limit: 5/s, brust: 7}}}]",
		want:   "2: limits[0].tiers.free.brust: is unknown, did you mean burst?",
	},
	{
		name:   "quota without a limit",
		source: "limits: [{name: a, tiers: {free: {burst: 7}}}]",
		want:   "2: limits[0].tiers.free.limit: is missing, want N/period such as 10/s, or unlimited",
	},
	{
		name:   "quota with a burst of zero",
		source: "limits: [{name: a, tiers: {free: {limit: 5/s, burst: 0}}}]",
		want:   "2: limits[0].tiers.free.burst: is 0, want a whole number from 1 to 9007199254740992",
	},
	{
		name:   "quota with a burst beside unlimited",
		source: "limits: [{name: a, tiers: {free: {limit: unlimited, burst: 7}}}]",
		want:   "2: limits[0].tiers.free.burst: stands beside unlimited, want it left out",
	},
	{
		name:   "quota twice",
		source: "limits:\n  - name: a\n    tiers:\n      free: 5/s\n      free: 6/s",
		want:   "6: limits[0].tiers.free: is there twice, first on line 5; want it once",
		blind:  "a schema sees the last one only",
	},
	{
		name:   "quota of a tier without a name",
		source: `limits: [{name: a, tiers: {"": 5/s}}]`,
		want:   `2: limits[0].tiers."": has no name, want one`,
	},
	{
		name:   "quota for everybody beside tiers",
		source: "limits: [{name: a, limit: 5/s, tiers: {free: 5/s}}]",
		want:   "2: limits[0].limit: is set beside tiers, want one of them",
	},
	{
		name:   "burst beside tiers",
		source: "limits: [{name: a, burst: 5, tiers: {free: 5/s}}]",
		want:   "2: limits[0].burst: stands beside tiers, want it in each of them",
	},
	{
		name:   "cost above the burst of the rest",
		source: `limits: [{name: a, cost: 6, tiers: {"*": 5/s}}]`,
		want:   "2: limits[0].limit: holds at most 5 units, below the cost of 6: no request could ever pass",
		blind:  "it takes arithmetic",
	},

	// what happens.
	{
		name:   "unknown policy",
		source: "limits: [{name: a, limit: 5/s, store_failure: fail}]",
		want:   `2: limits[0].store_failure: is "fail", want open, closed or local`,
	},
	{
		name:   "unknown action",
		source: "limits: [{name: a, limit: 5/s, exceeded: deny}]",
		want:   `2: limits[0].exceeded: is "deny", want reject, wait, shadow or fallback`,
	},
	{
		name:   "action that is no text",
		source: "limits: [{name: a, limit: 5/s, exceeded: [reject]}]",
		want:   "2: limits[0].exceeded: is a list, want reject, wait, shadow or fallback",
	},
	{
		name:   "waiting",
		source: "limits: [{name: a, limit: 5/s, exceeded: wait}]",
		want:   "2: limits[0].exceeded: wait is not supported yet",
		blind:  "it is not supported yet",
	},
	{
		name:   "waiting at a window",
		source: "limits: [{name: a, limit: 5/s, algorithm: sliding-log, exceeded: wait}]",
		want:   "2: limits[0].exceeded: is wait, want that for token-bucket only, and this is a sliding-log",
	},
	{
		name:   "max_wait without waiting",
		source: "limits: [{name: a, limit: 5/s, max_wait: 1s}]",
		want:   "2: limits[0].max_wait: is 1s without exceeded: wait, want both or neither",
	},
	{
		name:   "max_wait of zero",
		source: "limits: [{name: a, limit: 5/s, max_wait: 0s}]",
		want:   `2: limits[0].max_wait: is "0s", want more than 0`,
	},
	{
		name:   "max_wait without a unit",
		source: "limits: [{name: a, limit: 5/s, max_wait: 1}]",
		want:   "2: limits[0].max_wait: is 1, want a duration such as 50ms, 30s or 1h30m",
	},
	{
		name:   "max_wait of nonsense",
		source: "limits: [{name: a, limit: 5/s, max_wait: soon}]",
		want:   `2: limits[0].max_wait: is "soon", want a duration such as 50ms, 30s or 1h30m`,
	},
	{
		name:   "count of nothing",
		source: "limits: [{name: a, limit: 5/s, count: {}}]",
		want:   "2: limits[0].count.status: is missing, want a list of statuses such as [401, 403]",
	},
	{
		name:   "count of no status",
		source: "limits: [{name: a, limit: 5/s, count: {status: []}}]",
		want:   "2: limits[0].count.status: is empty, want a list of statuses such as [401, 403]",
	},
	{
		name:   "count of an interim status",
		source: "limits: [{name: a, limit: 5/s, count: {status: [101]}}]",
		want:   "2: limits[0].count.status[0]: is 101, want a whole number from 200 to 599",
	},
	{
		name:   "count of a class of statuses",
		source: "limits: [{name: a, limit: 5/s, count: {status: [4xx]}}]",
		want:   `2: limits[0].count.status[0]: is "4xx", want a whole number from 200 to 599`,
	},
	{
		name:   "count of a status twice",
		source: "limits: [{name: a, limit: 5/s, count: {status: [401, 401]}}]",
		want:   "2: limits[0].count.status[1]: repeats 401, want each once",
	},
	{
		name:   "count that is a list",
		source: "limits: [{name: a, limit: 5/s, count: [401]}]",
		want:   "2: limits[0].count: is a list, want a mapping of status",
	},
	{
		name:   "penalty that is empty",
		source: "limits: [{name: a, limit: 5/s, penalty: {}}]",
		want: "2: limits[0].penalty.after: is missing, want a number of denials\n" +
			"2: limits[0].penalty.within: is missing, want a duration such as 1m\n" +
			"2: limits[0].penalty.block: is missing, want a duration such as 15m",
	},
	{
		name:   "penalty after nothing",
		source: "limits: [{name: a, limit: 5/s, penalty: {after: 0, within: 1m, block: 1m}}]",
		want:   "2: limits[0].penalty.after: is 0, want a whole number from 1 to 1000",
	},
	{
		name:   "penalty after too many",
		source: "limits: [{name: a, limit: 5/s, penalty: {after: 1001, within: 1m, block: 1m}}]",
		want:   "2: limits[0].penalty.after: is 1001, want a whole number from 1 to 1000",
	},
	{
		name:   "penalty within nothing",
		source: "limits: [{name: a, limit: 5/s, penalty: {after: 1, within: 0s, block: 1m}}]",
		want:   `2: limits[0].penalty.within: is "0s", want more than 0`,
		blind:  "a pattern does not see that all digits are 0",
	},
	{
		name:   "penalty of two years",
		source: "limits: [{name: a, limit: 5/s, penalty: {after: 1, within: 1m, block: 17520h}}]",
		want:   `2: limits[0].penalty.block: is "17520h", want at most 9600h0m0s`,
		blind:  "durations are more than a pattern",
	},
	{
		name:   "prefetch of all",
		source: "limits: [{name: a, limit: 5/s, prefetch: all}]",
		want:   `2: limits[0].prefetch: is "all", want off or {max_fraction: 0.1}`,
	},
	{
		name:   "prefetch of more than all",
		source: "limits: [{name: a, limit: 5/s, prefetch: {max_fraction: 1.1}}]",
		want:   "2: limits[0].prefetch.max_fraction: is 1.1, want a number above 0 and at most 1, such as 0.2",
	},
	{
		name:   "hidden in a word",
		source: "limits: [{name: a, limit: 5/s, hidden: yes}]",
		want:   `2: limits[0].hidden: is "yes", want true or false`,
	},
	{
		name:   "unknown stage",
		source: "limits: [{name: a, limit: 5/s, stage: late}]",
		want:   `2: limits[0].stage: is "late", want main or early`,
	},
	{
		name:   "unknown charge",
		source: "limits: [{name: a, limit: 5/s, charge: never}]",
		want:   `2: limits[0].charge: is "never", want auto or manual`,
	},
	{
		name:   "unknown field of a limit",
		source: "limits: [{name: a, limit: 5/s, excpet: [/a]}]",
		want:   "2: limits[0].excpet: is unknown, did you mean except?",
	},

	// store.
	{
		name:   "bound of zero",
		source: "store: {memory: {max_keys: 0}}",
		want:   "2: store.memory.max_keys: is 0, want a whole number from 1 to 2147483647",
	},
	{
		name:   "bound above 2^31",
		source: "store: {memory: {max_keys: 2147483648}}",
		want:   "2: store.memory.max_keys: is 2147483648, want a whole number from 1 to 2147483647",
	},
	{
		name:   "bound with an underscore",
		source: "store: {memory: {max_keys: 1_000}}",
		want:   "2: store.memory.max_keys: is 1_000, want a whole number from 1 to 2147483647",
	},
	{
		name:   "unknown policy of the store",
		source: "store: {failure: shut}",
		want:   `2: store.failure: is "shut", want open, closed or local`,
	},
	{
		name:   "redis without an address",
		source: "store: {redis: {prefix: tg}}",
		want:   "2: store.redis.url: is missing, want an address such as redis://127.0.0.1:6379/0",
	},
	{
		name:   "redis at another scheme",
		source: `store: {redis: {url: "http://user:secret@127.0.0.1"}}`,
		want:   "2: store.redis.url: has no scheme that is known, want an address such as redis://127.0.0.1:6379/0, rediss:// for TLS, redis-cluster://h1:6379,h2:6379",
	},
	{
		name:   "redis without a host",
		source: `store: {redis: {url: "redis:///0"}}`,
		want:   "2: store.redis.url: has no host, or one that is no host:port; want an address such as redis://127.0.0.1:6379/0, rediss:// for TLS, redis-cluster://h1:6379,h2:6379",
	},
	{
		name:   "redis at no port",
		source: `store: {redis: {url: "redis://:secret@localhost:port"}}`,
		want:   "2: store.redis.url: has no host, or one that is no host:port; want an address such as redis://127.0.0.1:6379/0, rediss:// for TLS, redis-cluster://h1:6379,h2:6379",
		blind:  "addresses are more than a pattern",
	},
	{
		name:   "redis at a number",
		source: "store: {redis: {url: 6379}}",
		want:   "2: store.redis.url: is no address, want an address such as redis://127.0.0.1:6379/0, rediss:// for TLS, redis-cluster://h1:6379,h2:6379",
	},
	{
		name:   "redis cluster without its second host",
		source: `store: {redis: {url: "redis-cluster://h1:1,"}}`,
		want:   "2: store.redis.url: has no host, or one that is no host:port; want an address such as redis://127.0.0.1:6379/0, rediss:// for TLS, redis-cluster://h1:6379,h2:6379",
		blind:  "addresses are more than a pattern",
	},
	{
		name:   "redis with braces",
		source: `store: {redis: {url: "redis://h", prefix: "{tg}"}}`,
		want:   "2: store.redis.prefix: is \"{tg}\", want 1 to 64 letters, digits or _ . : / -",
	},
	{
		name:   "redis in no time",
		source: `store: {redis: {url: "redis://h", timeout: 0s}}`,
		want:   "2: store.redis.timeout: is \"0s\", want more than 0",
		blind:  "durations are more than a pattern",
	},
	{
		name:   "share of nothing",
		source: "store: {local_fraction: 0}",
		want:   "2: store.local_fraction: is 0, want a number above 0 and at most 1, such as 0.2",
	},
	{
		name:   "share in another word",
		source: "store: {local_fraction: half}",
		want:   `2: store.local_fraction: is "half", want auto`,
	},
	{
		name:   "share of infinity",
		source: "store: {local_fraction: .inf}",
		want:   "2: store.local_fraction: is .inf, want a number above 0 and at most 1, such as 0.2",
	},
	{
		name:   "cap of nothing",
		source: "store: {local_total: 0/s}",
		want:   "2: store.local_total: is \"0/s\", want at least 1, and no calendar month",
	},
	{
		name:   "cap without a period",
		source: "store: {local_total: 200}",
		want:   "2: store.local_total: is 200, want N/period such as 200/s",
	},
	{
		name:   "cap with a bad period",
		source: "store: {local_total: 200/x}",
		want:   "2: store.local_total: is \"200/x\", want s, min, h, day, month or a duration such as 10s after the /",
	},

	// overload.
	{
		name:   "overload",
		source: "overload: {adaptive: {algorithm: goodput, min: 10, max: 1000, initial: 50}, target_latency: 200ms, signals: {cpu: 0.8}, queue: {max: 100, max_wait: 50ms}, weights: {free: 1}, shed_above: 0.8, classes: {critical: [POST /orders], sheddable: [GET /products]}, exempt: [GET /healthz]}",
		want:   "2: overload: is not supported yet, leave it out",
		blind:  "it is not supported yet",
	},
	{
		name:   "unknown law",
		source: "overload: {adaptive: {algorithm: bbr}}",
		want: "2: overload: is not supported yet, leave it out\n" +
			"2: overload.adaptive.algorithm: is \"bbr\", want goodput, aimd, gradient or vegas",
	},
	{
		name:   "floor above the ceiling",
		source: "overload: {adaptive: {min: 10, max: 5}}",
		want: "2: overload: is not supported yet, leave it out\n" +
			"2: overload.adaptive: has min 10 above max 5, want it below",
		blind: "it takes arithmetic",
	},
	{
		name:   "start above the ceiling",
		source: "overload: {adaptive: {max: 5, initial: 6}}",
		want: "2: overload: is not supported yet, leave it out\n" +
			"2: overload.adaptive: has initial 6 outside of min and max, want it between",
		blind: "it takes arithmetic",
	},
	{
		name:   "latency without a unit",
		source: "overload: {target_latency: 200}",
		want: "2: overload: is not supported yet, leave it out\n" +
			"2: overload.target_latency: is 200, want a duration such as 50ms, 30s or 1h30m",
	},
	{
		name:   "signal of more than all",
		source: "overload: {signals: {cpu: 80}}",
		want: "2: overload: is not supported yet, leave it out\n" +
			"2: overload.signals.cpu: is 80, want a number above 0 and at most 1, such as 0.2",
	},
	{
		name:   "weight of zero",
		source: "overload: {weights: {free: 0}}",
		want: "2: overload: is not supported yet, leave it out\n" +
			"2: overload.weights.free: is 0, want a whole number from 1 to 2147483647",
	},
	{
		name:   "weight of an unknown tier",
		source: "tiers: [free]\noverload: {weights: {gold: 5}}",
		want: "3: overload: is not supported yet, leave it out\n" +
			"3: overload.weights.gold: is not in the list of tiers (free)",
		blind: "the tiers are elsewhere",
	},
	{
		name:   "class without a slash",
		source: "overload: {classes: {critical: [orders]}}",
		want: "2: overload: is not supported yet, leave it out\n" +
			"2: overload.classes.critical[0]: \"orders\" has the path \"orders\", want one that begins with / such as \"GET /orders/{id}\"",
	},
	{
		name:   "class that is unknown",
		source: "overload: {classes: {normal: [/orders]}}",
		want: "2: overload: is not supported yet, leave it out\n" +
			"2: overload.classes.normal: is unknown, want critical or sheddable",
	},

	// what YAML has and limits files do not.
	{
		name:   "tab before a field",
		source: "client:\n\tipv6_prefix: 64",
		want:   "3: is not valid YAML: found character '\\t' that cannot start any token (indent with spaces)",
		blind:  "it is no YAML",
	},
	{
		name:   "anchor",
		source: "client: &c {ipv6_prefix: 64}",
		want:   "2: has an anchor (&), which is not supported; write the value out where it is used, or put the text in quotes",
		blind:  "a schema sees what it stands for",
	},
	{
		name:   "alias",
		source: "client: *c",
		want:   "2: has an alias (*), which is not supported; write the value out, and the tier * in quotes",
		blind:  "it is no YAML",
	},
	{
		name:   "merge key",
		source: "client:\n  <<: {ipv6_prefix: 64}",
		want:   "3: has a merge key (<<), which is not supported; write the fields out",
		blind:  "a schema sees what it stands for",
	},
	{
		name:   "tag",
		source: `client: {ipv6_prefix: !!int "64"}`,
		want:   "2: has a tag (!), which is not supported; leave it out, or put the text in quotes",
		blind:  "a schema sees what it stands for",
	},
	{
		name:   "complex key",
		source: "? client\n: {ipv6_prefix: 64}",
		want:   "2: has a complex key (?), which is not supported; write key: value",
		blind:  "a schema sees what it stands for",
	},
	{
		name:   "directive",
		source: "@%YAML 1.2\n---\nversion: 1\nlimits: []",
		want:   "1: has a directive (%), which is not supported; leave it out",
		blind:  "a schema sees what it stands for",
	},
	{
		name:   "two documents",
		source: "limits: []\n---\nversion: 1",
		want:   "3: has a second document, want one in a file",
		blind:  "a schema sees one document",
	},
	{
		name:   "braces without quotes",
		source: "limits: [{name: a, limit: 5/s, match: [GET /orders/{id}]}]",
		want:   "2: is not valid YAML: ',' or ']' must be specified (text with : { } [ ] , * or # in it wants quotes)",
		blind:  "it is no YAML",
	},
	{
		name:   "star without quotes",
		source: "limits: [{name: a, tiers: {*: 5/s}}]",
		want:   "2: has an alias (*), which is not supported; write the value out, and the tier * in quotes",
		blind:  "it is no YAML",
	},
	{
		name:   "quote without an end",
		source: `limits: [{name: "a, limit: 5/s}]`,
		want:   "2: is not valid YAML: could not find end character of double-quoted text",
		blind:  "it is no YAML",
	},
	{
		name:   "bracket without an end",
		source: "limits: [{name: a, limit: 5/s}",
		want:   "2: is not valid YAML: sequence end token ']' not found (text with : { } [ ] , * or # in it wants quotes)",
		blind:  "it is no YAML",
	},
}
