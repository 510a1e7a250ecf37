import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isDocument } from '../../src/config/document.ts';
import { configJsonSchema, type JsonSchema } from '../../src/config/json-schema.ts';
import { loadConfig } from '../../src/config/load-config.ts';

/** Keys that the example does not have, because they are alternatives to others in it. */
const alternatives = [
  '$schema',
  // For an employer's own account.
  'installs.*.source',
  'installs.*.jobs',
  'installs.*.jobs.*',
  'installs.*.guidelines',
  'links',
  'links.*',
  'links.*.timeZone',
  'tools.*.path',
  // A file of the operator's own, instead of the usual text.
  'mail.template',
];

const example: unknown = JSON.parse(readFileSync('config.example.json', 'utf8'));
const keys = keysOf(configJsonSchema());

describe('the schema', () => {
  it.each(keys)('describes $path', ({ path, schema }) => {
    if (!path.includes('*', path.lastIndexOf('.'))) expect(schema.description).toMatch(/^.{10,}\.$/);
  });

  it('has a default for every key with a default in the loaded configuration', () => {
    const required = keys.flatMap(({ path, schema }) => schema.required?.map((key) => `${path}.${key}`) ?? []);
    expect(required).toEqual([
      'console.tokens.*.token',
      'console.tokens.*.role',
      'installs.*.token',
      'installs.*.tool',
      'tools.*.adapter',
      // It is required if the section exists.
      'mail.smtp',
      'mail.from',
      ...['webhook.type', 'webhook.url', 'webhook.secret'].map(inChannels),
      ...['slack.type', 'slack.url', 'mail.type', 'mail.to'].map(inChannels),
    ]);
  });

  it('allows a reference for every secret and for nothing else', () => {
    const secrets = keys.filter(({ schema }) => JSON.stringify(schema.anyOf ?? []).includes('"env"'));
    expect(secrets.map(({ path }) => path)).toEqual([
      'console.token',
      'console.tokens.*.token',
      'database.url',
      'installs.*.token',
      'tools.*.token',
      'mail.smtp',
      ...['webhook.url', 'webhook.secret', 'slack.url'].map(inChannels),
    ]);
    const install = configJsonSchema().properties?.['installs'];
    expect(JSON.stringify(install)).toMatch(/"webhookSecrets":.*"items":.*"env"/);
  });
});

describe('config.example.json', () => {
  it('loads without a warning once its variables are set', () => {
    const env = {
      GANGWAY_CONSOLE_TOKEN: 'console-token',
      ADA_CONSOLE_TOKEN: 'a-token-of-twenty-characters',
      ACME_TOKEN: 'ot_ptk_1',
      ACME_WEBHOOK_SECRET: 'whsec_1',
      LABEL_STUDIO_TOKEN: 'ls-token',
      GANGWAY_SMTP_URL: 'smtps://gangway:secret@smtp.example.com',
      GANGWAY_BILLING_SECRET: `whsec_${Buffer.alloc(32, 'key').toString('base64')}`,
      GANGWAY_SLACK_URL: 'https://hooks.slack.com/services/T0/B0/key',
    };
    const { config, warnings } = loadConfig({ path: 'config.example.json', env });
    expect(warnings).toEqual([]);
    expect(config.installs.get('acme')?.webhookSecrets).toEqual(['whsec_1']);
    expect(config.tools.get('studio')?.settings.token).toBe('ls-token');
  });

  it('has every key of the schema, except the listed alternatives', () => {
    const missing = keys.map(({ path }) => path).filter((path) => !stands(example, path.split('.')));
    expect(missing).toEqual(expect.arrayContaining(alternatives));
    expect(missing.filter((path) => !alternatives.includes(path))).toEqual([]);
  });

  it('shows the default of every key whose default is not empty', () => {
    for (const { path, schema } of keys.filter(isLeafWithDefault)) {
      if (!alternatives.includes(path)) expect([path, valueAt(example, path)]).toEqual([path, schema.default]);
    }
  });
});

interface Key {
  path: string;
  schema: JsonSchema;
}

/** Every key at every level; `*` is a name that the operator chooses, `*:x` one of type x. */
function keysOf(schema: JsonSchema, prefix = ''): Key[] {
  const { properties = {}, additionalProperties } = schema;
  const children = Object.entries(properties);
  if (typeof additionalProperties === 'object' && 'type' in additionalProperties) {
    children.push(['*', additionalProperties]);
  }
  for (const shape of shapesOf(additionalProperties)) {
    children.push([`*:${typeNamedIn(shape)}`, shape]);
  }
  return children.flatMap(([name, child]) => {
    if (typeof child === 'boolean') return [];
    const path = `${prefix}${name}`;
    return [{ path, schema: child }, ...keysOf(child, `${path}.`)];
  });
}

function shapesOf(schema: JsonSchema['additionalProperties']): JsonSchema[] {
  return typeof schema === 'object' ? ((schema.oneOf ?? []) as JsonSchema[]) : [];
}

function typeNamedIn({ properties }: JsonSchema): unknown {
  const type = properties?.['type'];
  return typeof type === 'object' ? type.const : undefined;
}

function inChannels(path: string): string {
  return `notifications.channels.*:${path}`;
}

function isLeafWithDefault({ schema }: Key): boolean {
  const preset = schema.default;
  return preset !== undefined && !isDocument(preset) && JSON.stringify(preset) !== '[]';
}

function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>(childOf, value);
}

function childOf(value: unknown, key: string): unknown {
  if (!isDocument(value)) return undefined;
  if (key === '*') return Object.values(value)[0];
  if (!key.startsWith('*:')) return value[key];
  const type = key.slice('*:'.length);
  return Object.values(value).find((child) => isDocument(child) && child['type'] === type);
}

function stands(value: unknown, path: string[]): boolean {
  return valueAt(value, path.join('.')) !== undefined;
}
