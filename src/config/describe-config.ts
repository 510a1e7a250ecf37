import { maskText } from '../lib/mask.ts';
import { sayDuration, toDurationMs, toSizeBytes } from '../lib/units.ts';
import { Config, usualSchedule } from './config-schema.ts';
import { formatPath, type Path } from './document.ts';
import { describeAt, type JsonSchema, maybeSecret, propertiesOf, toSchema } from './json-schema.ts';

/** One key of the loaded configuration, for people and without secrets. */
export interface DescribedKey {
  key: string;
  value: string;
  /** Whether the value is the default. */
  isDefault: boolean;
  says: string;
}

/** Every key of a configuration, also those that are not set. */
export function describeConfig(config: Config): DescribedKey[] {
  const { $schema: _, ...sections } = describeAt([])?.properties ?? {};
  const presets = Config.parse({});
  const rows = Object.entries(sections).flatMap(([key, schema]) =>
    rowsAt([key], toSchema(schema), partOf(config, key), partOf(presets, key)),
  );
  // Its default depends on another key.
  const usual = usualSchedule(config.receiver);
  return rows.map((row) => (row.key === 'reconcile.schedule' ? { ...row, isDefault: row.value === usual } : row));
}

/** @param usual the default, for a key of every configuration */
function rowsAt(path: Path, schema: JsonSchema = {}, value?: unknown, usual?: unknown): DescribedKey[] {
  if (value instanceof Map && value.size > 0) {
    const named = toSchema(schema.additionalProperties);
    return [...value].flatMap(([name, one]) => rowsAt([...path, String(name)], named, one));
  }
  const known = propertiesOf(shapeFor(schema, value));
  if (known.size === 0 || value === undefined) return [toRow(path, schema, value, usual)];
  const rows = [...known].flatMap(([key, child]) =>
    rowsAt([...path, key], toSchema(child), partOf(value, key), partOf(usual, key)),
  );
  const settings = Object.keys(Object(partOf(value, 'settings'))).filter((key) => !known.has(key));
  return [...rows, ...settings.map((key) => toRow([...path, key], adapterSetting, partOf(value, key)))];
}

/** Only the adapter knows this setting, so it may be a secret. */
const adapterSetting: JsonSchema = { description: 'A setting of the adapter.', secret: true };

/** The shape for the type of the value. */
function shapeFor(schema: JsonSchema, value: unknown): JsonSchema {
  const type = partOf(value, 'type');
  return schema.oneOf?.find(({ properties }) => toSchema(properties?.['type'])?.const === type) ?? schema;
}

/** The name of a loaded duration ends in `Ms`, and the keys for a tool's adapter are in `settings`. */
function partOf(parent: unknown, key: string): unknown {
  if (typeof parent !== 'object' || parent === null) return undefined;
  const known = new Map<string, unknown>(Object.entries(parent));
  return known.get(key) ?? known.get(`${key}Ms`) ?? partOf(known.get('settings'), key);
}

function toRow(path: Path, schema: JsonSchema, value: unknown, usual?: unknown): DescribedKey {
  const { default: preset, description: says = '' } = schema;
  const isSecret = maybeSecret(schema) || maybeSecret(toSchema(schema.items));
  return {
    key: formatPath(path),
    value: isSecret ? toMasked(value) : toText(value, preset),
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
  if (typeof preset === 'string') {
    if (isSame(value, preset)) return preset;
    if (typeof value === 'number' && toDurationMs(preset) !== undefined) return sayDuration(value);
  }
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
