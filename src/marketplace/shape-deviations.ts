import type { Deviation } from './contract-canary.ts';
import type { RecordShape, Shape } from './relied-on.ts';
import type { SchemaReader, Variant } from './schema-variants.ts';

interface SchemaPath {
  /** Such as `contracts[].status`; empty for the whole answer. */
  where: string;
  /** Whether it is part of a request. */
  isSent: boolean;
  /** Whether a change is only information. */
  isLoose?: boolean;
}

/** The JSON types that a shape may have. */
const typesOf: Record<Shape['is'], readonly string[]> = {
  text: ['string'],
  word: ['string'],
  id: ['string', 'integer', 'number'],
  number: ['number', 'integer', 'string'],
  flag: ['boolean'],
  list: ['array'],
  record: ['object'],
};

/** The JSON type that is sent. */
const sentTypesOf: Record<Shape['is'], readonly string[]> = {
  ...typesOf,
  id: ['string'],
  number: ['number', 'integer'],
};

/** Compares what Gangway relies on with a schema. One variant that fits is enough. */
export function compareShape(schemas: SchemaReader, shape: Shape, schema: unknown, path: SchemaPath): Deviation[] {
  const all = schemas.variantsOf(schema);
  const variants = all.filter(({ types }) => types === null || [...types].some(isNoNull));
  if (variants.every(saysNothing)) return [toDeviation(path, 'it is not described', false)];
  const types = (path.isSent ? sentTypesOf : typesOf)[shape.is];
  const fitting = variants.filter((variant) => mayBe(variant, types));
  if (fitting.length === 0) {
    const described = new Set(variants.flatMap((variant) => [...(variant.types ?? [])]));
    const now = [...described].filter(isNoNull).join(' or ') || 'nothing';
    return [toDeviation(path, `it is ${now}, no longer ${types.join(' or ')}`)];
  }
  switch (shape.is) {
    case 'record':
      return compareRecord(schemas, shape, fitting, path);
    case 'list': {
      const within = { ...path, where: `${path.where}[]` };
      return compareAny(schemas, shape.of, fitting.flatMap(itemsOf), within);
    }
    case 'word':
      return compareWords(shape.words, fitting, path);
    case 'number':
      return compareMost(shape.atMost ?? 0, fitting, path);
    default:
      return [];
  }
}

function compareMost(atMost: number, variants: Variant[], path: SchemaPath): Deviation[] {
  const most = Math.max(...variants.map(({ maximum }) => maximum ?? Number.POSITIVE_INFINITY));
  if (!path.isSent || most >= atMost) return [];
  return [toDeviation(path, `it may be ${most} at most, and ${atMost} is sent`)];
}

function compareRecord(
  schemas: SchemaReader,
  { firm, loose }: RecordShape,
  variants: Variant[],
  path: SchemaPath,
): Deviation[] {
  const described = variants.filter(({ properties }) => properties !== null);
  const unmet = path.isSent ? findUnmet(variants, firm) : [];
  const demands = unmet.map((name) =>
    toDeviation({ ...path, where: join(path, name) }, 'it is required now, and not always sent'),
  );
  if (described.length === 0) {
    return [...demands, toDeviation(path, 'what is in it is not described', false)];
  }
  const fields = [
    ...Object.entries(firm).map(([name, shape]) => ({ name, shape, isLoose: false })),
    ...Object.entries(loose).map(([name, shape]) => ({ name, shape, isLoose: !path.isSent })),
  ];
  const compared = fields.flatMap(({ name, shape, isLoose }) => {
    const within = { ...path, where: join(path, name) };
    const at = { ...within, isLoose: path.isLoose === true || isLoose };
    const given = described.flatMap(({ properties }) => properties?.get(name) ?? []);
    if (given.length === 0) return [toDeviation(at, 'it is no longer there')];
    return compareAny(schemas, shape, given, at);
  });
  return [...demands, ...compared];
}

/** What every variant of a request requires, but not every request has. */
function findUnmet(variants: Variant[], firm: RecordShape['firm']): string[] {
  const [first, ...others] = variants.map(({ required }) => required);
  return [...(first ?? [])].filter(
    (name) => !Object.hasOwn(firm, name) && others.every((required) => required.has(name)),
  );
}

function compareWords(words: readonly string[], variants: Variant[], path: SchemaPath): Deviation[] {
  // If one variant leaves it open, any word may come.
  if (variants.some((variant) => variant.words === null)) return [];
  const known = new Set(variants.flatMap((variant) => [...(variant.words ?? [])]));
  const gone = words.filter((word) => !known.has(word));
  if (gone.length === 0) return [];
  return [toDeviation(path, `it no longer knows ${gone.map((word) => `"${word}"`).join(', ')}`)];
}

/** Several alternative schemas are one schema with `anyOf`. */
function compareAny(schemas: SchemaReader, shape: Shape, given: unknown[], path: SchemaPath): Deviation[] {
  return compareShape(schemas, shape, given.length === 1 ? given[0] : { anyOf: given }, path);
}

function itemsOf({ items }: Variant): unknown[] {
  return items === null ? [] : [items];
}

function saysNothing({ types, words, properties, items }: Variant): boolean {
  return types === null && words === null && properties === null && items === null;
}

function mayBe({ types }: Variant, wanted: readonly string[]): boolean {
  return types === null || wanted.some((type) => types.has(type));
}

function isNoNull(type: string): boolean {
  return type !== 'null';
}

function join({ where }: SchemaPath, name: string): string {
  return where === '' ? name : `${where}.${name}`;
}

function toDeviation({ where, isLoose = false }: SchemaPath, says: string, isGrave = true): Deviation {
  return { where, says, isFailure: isGrave && !isLoose };
}
