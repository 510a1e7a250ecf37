import { z } from 'zod';
import { Config } from './config-schema.ts';
import type { Path } from './document.ts';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The JSON Schema of `gangway.config.json`, for editors and for people. */
export function configJsonSchema(): JsonSchema {
  return {
    title: 'Gangway configuration',
    ...z.toJSONSchema(Config, { io: 'input', override: ({ jsonSchema }) => allowReference(jsonSchema) }),
  };
}

/**
 * The schema of the value at `path`, if there is one. A secret has the mark `secret`. Only this part is converted, because
 * converting everything takes as long as loading a configuration.
 */
export function describeAt(path: Path): JsonSchema | undefined {
  const part = path.reduce<z.core.$ZodType | undefined>(childOf, Config);
  if (part === undefined) return undefined;
  const { $schema: _, ...described } = z.toJSONSchema(part, { io: 'input' });
  return described;
}

/** The key may be of any shape of the object. */
function childOf(parent: z.core.$ZodType | undefined, key: PropertyKey): z.core.$ZodType | undefined {
  if (parent === undefined) return undefined;
  const { def } = (parent as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'pipe':
      return childOf(def.in, key);
    case 'optional':
    case 'default':
    case 'prefault':
      return childOf(def.innerType, key);
    case 'object':
      if (Object.hasOwn(def.shape, key)) return def.shape[String(key)];
      return def.catchall?._zod.def.type === 'unknown' ? def.catchall : undefined;
    case 'record':
      return def.valueType;
    case 'array':
      return def.element;
    case 'union':
      return def.options.map((shape) => childOf(shape, key)).findLast((child) => child !== undefined);
    // Only the adapter knows the parts of its settings.
    case 'unknown':
      return parent;
    default:
      return undefined;
  }
}

/** Whether the value is marked as secret, or only an adapter knows whether it is one. */
export function maybeSecret(schema: JsonSchema | undefined): boolean {
  return schema !== undefined && (schema['secret'] === true || isUnknown(schema));
}

/** The keys of an object, of all its shapes. */
export function propertiesOf(schema: JsonSchema): Map<string, unknown> {
  const shapes = [schema, ...(schema.oneOf ?? [])];
  return new Map(shapes.flatMap(({ properties = {} }) => Object.entries(properties)));
}

/** The settings of an adapter may be anything. */
function isUnknown(schema: JsonSchema): boolean {
  return Object.keys(schema).length === 0;
}

export function toSchema(schema: unknown): JsonSchema | undefined {
  return typeof schema === 'object' && schema !== null ? (schema as JsonSchema) : undefined;
}

/** A secret may also be a reference, which is resolved before validation. */
function allowReference(schema: JsonSchema): void {
  if (schema['secret'] !== true) return;
  const { pattern = '' } = schema;
  delete schema['secret'];
  delete schema.type;
  delete schema.pattern;
  schema.anyOf = [
    { type: 'string', pattern, description: 'The value itself; better one of the other forms.' },
    reference('env', 'The name of the environment variable that has the value.'),
    reference('file', 'The file that has the value, relative to the configuration.'),
  ];
}

function reference(key: 'env' | 'file', description: string): JsonSchema {
  return {
    type: 'object',
    properties: { [key]: { type: 'string', minLength: 1, description } },
    required: [key],
    additionalProperties: false,
  };
}
