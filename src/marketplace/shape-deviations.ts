import type { Deviation } from './contract-canary.ts';
import type { RecordShape, Shape } from './relied-on.ts';
import type { SchemaReader, Variant } from './schema-variants.ts';

interface SchemaPath {
  /** `contracts[].status`; empty for the whole of an answer. */
  where: string;
  /** Whether it is part of a request. */
  isSent: boolean;
  /** Whether a change is no more than worth knowing. */
  isLoose?: boolean;
}

/** JSON's names for what may stand for a shape. */
const typesOf: Record<Shape['is'], readonly string[]> = {
  text: ['string'],
  word: ['string'],
  id: ['string', 'integer', 'number'],
  number: ['number', 'integer', 'string'],
  flag: ['boolean'],
  list: ['array'],
  record: ['object'],
};

/** What is sent is as it is. */
const sentTypesOf: Record<Shape['is'], readonly string[]> = {
  ...typesOf,
  id: ['string'],
  number: ['number', 'integer'],
};

/** Compares what is relied on with a schema. Where any of its variants will do, that is enough. */
export function compareShape(schemas: SchemaReader, shape: Shape, schema: unknown, place: SchemaPath): Deviation[] {
  const all = schemas.variantsOf(schema);
  const variants = all.filter(({ types }) => types === null || [...types].some(isNoNull));
  if (variants.every(saysNothing)) return [toDeviation(place, 'it is not described', false)];
  const types = (place.isSent ? sentTypesOf : typesOf)[shape.is];
  const fitting = variants.filter((variant) => mayBe(variant, types));
  if (fitting.length === 0) {
    const told = new Set(variants.flatMap((variant) => [...(variant.types ?? [])]));
    const now = [...told].filter(isNoNull).join(' or ') || 'nothing';
    return [toDeviation(place, `it is ${now}, no longer ${types.join(' or ')}`)];
  }
  switch (shape.is) {
    case 'record':
      return compareRecord(schemas, shape, fitting, place);
    case 'list': {
      const within = { ...place, where: `${place.where}[]` };
      return compareAny(schemas, shape.of, fitting.flatMap(itemsOf), within);
    }
    case 'word':
      return compareWords(shape.words, fitting, place);
    case 'number':
      return compareMost(shape.atMost ?? 0, fitting, place);
    default:
      return [];
  }
}

function compareMost(atMost: number, variants: Variant[], place: SchemaPath): Deviation[] {
  const most = Math.max(...variants.map(({ maximum }) => maximum ?? Number.POSITIVE_INFINITY));
  if (!place.isSent || most >= atMost) return [];
  return [toDeviation(place, `it may be ${most} at most, and ${atMost} is sent`)];
}

function compareRecord(
  schemas: SchemaReader,
  { firm, loose }: RecordShape,
  variants: Variant[],
  place: SchemaPath,
): Deviation[] {
  const described = variants.filter(({ properties }) => properties !== null);
  const unmet = place.isSent ? findUnmet(variants, firm) : [];
  const demands = unmet.map((name) =>
    toDeviation({ ...place, where: join(place, name) }, 'it is required now, and not always sent'),
  );
  if (described.length === 0) {
    return [...demands, toDeviation(place, 'what is in it is not described', false)];
  }
  const fields = [
    ...Object.entries(firm).map(([name, shape]) => ({ name, shape, isLoose: false })),
    ...Object.entries(loose).map(([name, shape]) => ({ name, shape, isLoose: !place.isSent })),
  ];
  const compared = fields.flatMap(({ name, shape, isLoose }) => {
    const within = { ...place, where: join(place, name) };
    const at = { ...within, isLoose: place.isLoose === true || isLoose };
    const given = described.flatMap(({ properties }) => properties?.get(name) ?? []);
    if (given.length === 0) return [toDeviation(at, 'it is no longer there')];
    return compareAny(schemas, shape, given, at);
  });
  return [...demands, ...compared];
}

/** What every variant of a request demands, and not every request has. */
function findUnmet(variants: Variant[], firm: RecordShape['firm']): string[] {
  const [first, ...others] = variants.map(({ required }) => required);
  return [...(first ?? [])].filter(
    (name) => !Object.hasOwn(firm, name) && others.every((required) => required.has(name)),
  );
}

function compareWords(words: readonly string[], variants: Variant[], place: SchemaPath): Deviation[] {
  // Where one of them leaves it open, any word may come.
  if (variants.some((variant) => variant.words === null)) return [];
  const known = new Set(variants.flatMap((variant) => [...(variant.words ?? [])]));
  const gone = words.filter((word) => !known.has(word));
  if (gone.length === 0) return [];
  return [toDeviation(place, `it no longer knows ${gone.map((word) => `"${word}"`).join(', ')}`)];
}

/** Several schemas of which any may hold are one with alternatives. */
function compareAny(schemas: SchemaReader, shape: Shape, given: unknown[], place: SchemaPath): Deviation[] {
  return compareShape(schemas, shape, given.length === 1 ? given[0] : { anyOf: given }, place);
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
