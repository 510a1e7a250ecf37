import type { Exchange } from './exchange.ts';

/** A description in `openapi.json`, as far as it is looked at. */
interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
}

interface Described {
  responses?: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}

export interface Description {
  paths: Record<string, Record<string, Described>>;
}

/** Any list may have them (A 8). */
const paging = ['nextCursor', 'hasMore'];

/** What a description says otherwise than an exchange. */
export function compareDescription({ paths }: Description, { ask, status, expected }: Exchange): string[] {
  const [method = '', path = ''] = ask.replace(/\?.*/, '').split(' ');
  const isAt = (template: string) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
  const template = path in paths ? path : (Object.keys(paths).find(isAt) ?? '');
  const operation = paths[template]?.[method.toLowerCase()];
  if (operation === undefined) return [`${method} ${path} is not described`];
  const response = operation.responses?.[status];
  if (response === undefined) return [`${method} ${template} has no answer with ${status}`];
  const whole = response.content?.['application/json']?.schema;
  return Object.entries(expected.fields ?? {}).flatMap(([at, names]) => {
    const described = Object.keys(propertiesOf(at.split('.').reduce(step, whole)));
    if (described.length === 0) return [];
    const written = names.split(' ');
    const missing = written.filter((name) => !described.includes(name)).map((name) => `lacks ${name}`);
    const others = described.filter((name) => ![...written, ...paging].includes(name)).map((name) => `adds ${name}`);
    return [...missing, ...others].map((difference) => `${method} ${template} ${status} ${at} ${difference}`);
  });
}

function step(schema: Schema | undefined, name: string): Schema | undefined {
  if (name === '') return schema;
  return /^\d+$/.test(name) ? schema?.items : propertiesOf(schema)[name];
}

function propertiesOf(schema: Schema | undefined): Record<string, Schema> {
  const all = [schema, ...(schema?.anyOf ?? [])];
  return all.find((one) => one?.properties !== undefined)?.properties ?? {};
}
