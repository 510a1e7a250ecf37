import { maskText } from '../lib/mask.ts';
import { toDurationMs, toSizeBytes } from '../lib/units.ts';
import { Config, usualSchedule } from './config-schema.ts';
import { formatPath, type Path } from './document.ts';
import { configJsonSchema, type JsonSchema } from './json-schema.ts';
import { maySecretStandAt } from './secret-paths.ts';

/** One key of the configuration as it was loaded, for people. No secret is in it. */
export interface DescribedKey {
  key: string;
  value: string;
  /** Whether the value is the one that it has when nothing is written. */
  isDefault: boolean;
  says: string;
}

/** Every key of a configuration, with those that are not set where the schema knows them. */
export function describeConfig(config: Config): DescribedKey[] {
  const presets = Config.parse({});
  const { $schema: _, ...properties } = configJsonSchema().properties ?? {};
  const rows = Object.entries(properties).flatMap(([key, schema]) =>
    rowsAt([key], toSchema(schema), partOf(config, key), partOf(presets, key)),
  );
  // Its default depends on another key.
  const usual = usualSchedule(config.receiver);
  return rows.map((row) => (row.key === 'reconcile.schedule' ? { ...row, isDefault: row.value === usual } : row));
}

/** @param usual the value when nothing is written, where the configuration has the key without any name in it */
function rowsAt(path: Path, schema: JsonSchema, value: unknown, usual?: unknown): DescribedKey[] {
  const shape = shapeFor(schema, value);
  if (value instanceof Map) {
    if (value.size === 0) return [toRow(path, schema, value, usual)];
    const named = toSchema(schema.additionalProperties);
    return [...value].flatMap(([name, one]) => rowsAt([...path, String(name)], named, one));
  }
  if (shape.properties === undefined || maySecretStandAt(path) || value === undefined) {
    return [toRow(path, schema, value, usual)];
  }
  const known = Object.entries(shape.properties);
  const rows = known.flatMap(([key, child]) =>
    rowsAt([...path, key], toSchema(child), partOf(value, key), partOf(usual, key)),
  );
  return [...rows, ...furtherRows(path, new Set(known.map(([key]) => key)), value)];
}

/** What only the adapter of a tool knows may be a secret. */
function furtherRows(path: Path, known: ReadonlySet<string>, value: unknown): DescribedKey[] {
  const { settings } = value as { settings?: object };
  return Object.keys(settings ?? {})
    .filter((key) => !known.has(key))
    .map((key) => toRow([...path, key], { description: 'A setting of the adapter.' }, partOf(settings, key)));
}

/** Of several shapes, the one with the type of the value. */
function shapeFor(schema: JsonSchema, value: unknown): JsonSchema {
  const type = partOf(value, 'type');
  const shapes = (schema.oneOf ?? []).map(toSchema);
  return shapes.find(({ properties }) => toSchema(properties?.['type']).const === type) ?? schema;
}

/** Durations have another name once they are loaded, and what a tool's adapter reads is in its settings. */
function partOf(parent: unknown, key: string): unknown {
  if (typeof parent !== 'object' || parent === null) return undefined;
  const known = new Map<string, unknown>(Object.entries(parent));
  return known.get(key) ?? known.get(`${key}Ms`) ?? partOf(known.get('settings'), key);
}

function toRow(path: Path, schema: JsonSchema, value: unknown, usual?: unknown): DescribedKey {
  const { default: preset, description: says = '' } = schema;
  return {
    key: formatPath(path),
    value: maySecretStandAt(path) || maySecretStandAt([...path, 0]) ? toMasked(value) : toText(value, preset),
    isDefault: isSame(value, usual) || isSame(value, preset),
    says,
  };
}

function toMasked(value: unknown): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return 'not set';
  return 'set, and not shown';
}

function toText(value: unknown, preset: unknown): string {
  if (value === undefined) return 'not set';
  if (value instanceof Map) return 'none';
  if (isSame(value, preset) && typeof preset === 'string') return preset;
  if (typeof value === 'number' && isDuration(preset)) return toDuration(value);
  const text = Array.isArray(value) ? value.join(', ') : String(value);
  return maskText(text === '' || value === null ? 'none' : text);
}

function isSame(value: unknown, preset: unknown): boolean {
  if (value instanceof Map) return true;
  if (value === undefined || preset === undefined) return value === preset;
  if (typeof preset === 'string' && typeof value === 'number') {
    return toDurationMs(preset) === value || toSizeBytes(preset) === value;
  }
  return JSON.stringify(value) === JSON.stringify(preset);
}

function isDuration(preset: unknown): boolean {
  return typeof preset === 'string' && toDurationMs(preset) !== undefined;
}

function toDuration(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
  ] as const;
  const [unit, unitMs] = units.find(([, size]) => ms >= size && ms % size === 0) ?? ['ms', 1];
  return `${ms / unitMs}${unit}`;
}

function toSchema(schema: unknown): JsonSchema {
  return typeof schema === 'object' && schema !== null ? (schema as JsonSchema) : {};
}
