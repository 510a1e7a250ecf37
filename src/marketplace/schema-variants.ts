/** One way to satisfy a JSON Schema. Null means that the schema leaves it open. */
export interface Variant {
  types: ReadonlySet<string> | null;
  words: ReadonlySet<unknown> | null;
  /** By name; the values are schemas. */
  properties: ReadonlyMap<string, unknown> | null;
  required: ReadonlySet<string>;
  items: unknown;
  /** The maximum of a number. */
  maximum: number | null;
}

/** Reads the schemas of one served document, which may be invalid in any way. */
export interface SchemaReader {
  /** Follows a `$ref` within the document; other values stay. Undefined if it leads nowhere. */
  resolve(node: unknown): unknown;
  /** At least one variant. A schema that is empty or cannot be followed gives one that leaves everything open. */
  variantsOf(schema: unknown): readonly Variant[];
}

type Node = Record<string, unknown>;

const open: Variant = {
  types: null,
  words: null,
  properties: null,
  required: new Set<string>(),
  items: null,
  maximum: null,
};

/** More than any reasonable schema has. Beyond it everything is left open. */
const maxVariants = 64;
const maxRefs = 20;

export function createSchemaReader(document: object): SchemaReader {
  /** Also while a schema is being read: a schema that contains itself adds nothing. */
  const read = new Map<object, readonly Variant[]>();

  function resolve(node: unknown): unknown {
    let target = node;
    for (let count = 0; count < maxRefs; count += 1) {
      if (!isNode(target) || typeof target['$ref'] !== 'string') return target;
      target = followPointer(document, target['$ref']);
    }
    return undefined;
  }

  function variantsOf(schema: unknown): readonly Variant[] {
    if (!isNode(schema)) return [open];
    const known = read.get(schema);
    if (known !== undefined) return known;
    read.set(schema, [open]);
    const { $ref, allOf, anyOf, oneOf } = schema;
    const alternatives = [anyOf, oneOf].filter((one) => Array.isArray(one) && one.length > 0);
    const parts = [
      [toVariant(schema)],
      ...($ref === undefined ? [] : [variantsOf(resolve(schema))]),
      ...toList(allOf).map(variantsOf),
      ...alternatives.map((one) => toList(one).flatMap((part) => [...variantsOf(part)])),
    ];
    const variants = parts.reduce(combine);
    read.set(schema, variants);
    return variants;
  }

  return { resolve, variantsOf };
}

/** Combines each variant of one with each of the other: what satisfies both. */
function combine(a: readonly Variant[], b: readonly Variant[]): readonly Variant[] {
  if (a.length * b.length > maxVariants) return [open];
  return a.flatMap((one) => b.map((other) => merge(one, other)));
}

function merge(a: Variant, b: Variant): Variant {
  return {
    types: intersect(a.types, b.types),
    words: intersect(a.words, b.words),
    properties: mergeProperties(a.properties, b.properties),
    required: new Set([...a.required, ...b.required]),
    items: both(a.items, b.items),
    maximum: a.maximum === null ? b.maximum : Math.min(a.maximum, b.maximum ?? a.maximum),
  };
}

function intersect<T>(a: ReadonlySet<T> | null, b: ReadonlySet<T> | null) {
  if (a === null || b === null) return a ?? b;
  return new Set([...a].filter((one) => b.has(one)));
}

function mergeProperties(a: Variant['properties'], b: Variant['properties']) {
  if (a === null || b === null) return a ?? b;
  const merged = new Map(a);
  for (const [name, schema] of b) merged.set(name, both(merged.get(name), schema));
  return merged;
}

function both(a: unknown, b: unknown): unknown {
  return a && b ? { allOf: [a, b] } : (a ?? b);
}

/** What a schema says itself, without the schemas that it refers to. */
function toVariant({ type, nullable, properties, required, items, ...schema }: Node): Variant {
  const types = (Array.isArray(type) ? type : [type]).filter((one) => typeof one === 'string');
  const words = 'const' in schema ? [schema['const']] : schema['enum'];
  return {
    types: types.length === 0 ? null : new Set(nullable === true ? [...types, 'null'] : types),
    words: Array.isArray(words) ? new Set<unknown>(words) : null,
    properties: isNode(properties) ? new Map(Object.entries(properties)) : null,
    required: new Set(toList(required).filter((name) => typeof name === 'string')),
    items: items ?? null,
    maximum: typeof schema['maximum'] === 'number' ? schema['maximum'] : null,
  };
}

/** A JSON pointer into the document, such as `#/components/schemas/Contract`. */
function followPointer(document: object, ref: string): unknown {
  if (!ref.startsWith('#/')) return undefined;
  const names = ref.slice(2).split('/');
  return names.reduce<unknown>((at, name) => {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
    return isNode(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }, document);
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function toList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
