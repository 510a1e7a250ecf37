import { z } from 'zod';
import { Config } from './config-schema.ts';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The JSON Schema of `gangway.config.json`, for editors and for people. */
export function configJsonSchema(): JsonSchema {
  return {
    title: 'Gangway configuration',
    ...z.toJSONSchema(Config, {
      io: 'input',
      override: ({ jsonSchema }) => allowReference(jsonSchema),
    }),
  };
}

/** The part of the schema for the value at `path`, or undefined. */
export function describeAt(path: readonly PropertyKey[]): JsonSchema | undefined {
  return path.reduce<JsonSchema | undefined>(childOf, configJsonSchema());
}

function childOf(parent: JsonSchema | undefined, key: PropertyKey): JsonSchema | undefined {
  if (parent === undefined) return undefined;
  const properties = new Map(Object.entries(parent.properties ?? {}));
  const child = properties.get(String(key)) ?? parent.additionalProperties ?? parent.items;
  return typeof child === 'object' && !Array.isArray(child) ? withAllProperties(child) : undefined;
}

/** If there are several shapes, the keys of all of them. */
function withAllProperties(schema: JsonSchema): JsonSchema {
  const shapes = schema.oneOf ?? [];
  if (shapes.length === 0) return schema;
  const entries = shapes.flatMap((shape) => Object.entries(propertiesOf(shape)));
  return { ...schema, properties: Object.fromEntries(entries) };
}

function propertiesOf(schema: JsonSchema | boolean) {
  return typeof schema === 'object' ? (schema.properties ?? {}) : {};
}

/** A value that the zod schema marks as secret may also be a reference, which is resolved before. */
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
