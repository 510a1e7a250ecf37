import { configJsonSchema, type JsonSchema } from '../../src/config/json-schema.ts';

/** The part of `docs/configuration.md` that follows from the schema: every key with its default and its meaning. */
export function configurationPage(): string {
  const { properties = {} } = configJsonSchema();
  return Object.entries(properties)
    .filter(([name]) => name !== '$schema')
    .map(([name, schema]) => sectionOf(name, toSchema(schema)))
    .join('\n\n');
}

function sectionOf(name: string, schema: JsonSchema): string {
  const rows = rowsOf(schema, name).map((cells) => `| ${cells.join(' | ')} |`);
  const table = ['| key | default | meaning |', '|---|---|---|', ...rows];
  return [`## \`${name}\``, '', schema.description ?? '', '', ...table].join('\n');
}

type Row = [key: string, preset: string, meaning: string];

function rowsOf(schema: JsonSchema, path: string): Row[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([key, child]) =>
    rowsAt(`${path}.${key}`, toSchema(child), schema.required?.includes(key) === true),
  );
  const named = schema.additionalProperties === undefined ? {} : toSchema(schema.additionalProperties);
  const shapes = named.oneOf?.map(toSchema) ?? (named.properties === undefined ? [] : [named]);
  return [...own, ...shapes.flatMap((shape) => rowsOf(shape, `${path}.<name>`))];
}

function rowsAt(path: string, schema: JsonSchema, isRequired: boolean): Row[] {
  const below = rowsOf(schema, path);
  if (below.length > 0) return below;
  return [[`\`${path}\``, presetOf(schema, isRequired), meaningOf(schema)]];
}

function presetOf(schema: JsonSchema, isRequired: boolean): string {
  if (schema.default !== undefined) return `\`${JSON.stringify(schema.default)}\``;
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  return isRequired ? 'required' : '';
}

function meaningOf(schema: JsonSchema): string {
  const isSecret = JSON.stringify(schema.anyOf ?? toSchema(schema.items).anyOf ?? '').includes('"env"');
  const choices =
    schema.enum === undefined ? '' : ` One of ${schema.enum.map((choice) => `\`${choice}\``).join(', ')}.`;
  return `${schema.description ?? ''}${choices}${isSecret ? ' May be a reference.' : ''}`.replaceAll(/[|<]/g, '\\$&');
}

function toSchema(schema: unknown): JsonSchema {
  return typeof schema === 'object' && schema !== null ? (schema as JsonSchema) : {};
}
