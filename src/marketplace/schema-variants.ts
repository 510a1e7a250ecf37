/** One way to satisfy a JSON Schema, as far as it says; null is what it leaves open. */
export interface Variant {
  types: ReadonlySet<string> | null;
  words: ReadonlySet<unknown> | null;
  /** By name; what stands there is a schema. */
  properties: ReadonlyMap<string, unknown> | null;
  required: ReadonlySet<string>;
  items: unknown;
  /** Of a number. */
  maximum: number | null;
}

/** Reads the schemas of one served document, of which nothing is taken for granted. */
export interface SchemaReader {
  /** `$ref` within the document followed, anything else as it is; undefined where it leads nowhere. */
  resolve(node: unknown): unknown;
  /** At least one; a schema that says nothing, or cannot be followed, is one that leaves all open. */
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

/** More than any honest schema has; beyond it nothing is said. */
const maxVariants = 64;
const maxRefs = 20;

export function createSchemaReader(document: object): SchemaReader {
  /** Also of those that are still being read: a schema within itself says nothing more. */
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

/** Every one with every other: what satisfies both. */
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

/** What a schema says itself, without those that it names. */
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

/** A JSON pointer into the document, as `#/components/schemas/Contract`. */
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
