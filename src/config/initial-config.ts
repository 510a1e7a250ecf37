import { AppError } from '../domain/errors.ts';
import { httpUrl, name } from './values-schema.ts';

export interface InitialConfig {
  document: Record<string, unknown>;
  variables: { name: string; meaning: string }[];
}

/** The settings of a tool without its token, by built-in adapter. */
const toolSettings = new Map<string, Record<string, unknown>>([
  ['roster', { path: './data/roster.json' }],
  ['label-studio', { url: 'http://localhost:8080' }],
  ['cvat', { url: 'http://localhost:8080', organization: 'my-organization' }],
  ['doccano', { url: 'http://localhost:8000' }],
  ['scim', { url: 'https://tool.example.com/scim/v2' }],
  ['http', { url: 'https://tool.example.com/api', ...exampleRequests() }],
]);

/** An example, because every tool has other requests. */
function exampleRequests(): Record<string, unknown> {
  const path = '/projects/{group}/members';
  const pages = { by: 'page', query: 'page', total: 'meta.total' };
  return {
    member: { id: 'id', email: 'email' },
    requests: {
      check: { path: '/me' },
      list: { path, items: 'data', pages },
      add: { path, body: { email: '{email}', name: '{displayName}' }, item: 'data' },
      remove: { path: `${path}/{memberId}` },
    },
  };
}

/** What a removal may do in a tool. */
export interface Offboarding {
  name: string;
  means: string;
  /** The settings that this choice needs. */
  settings?: Record<string, string>;
}

/** By adapter, if there is a choice. The first is the default, and locks people out if the tool can. */
const offboardings = new Map<string, readonly Offboarding[]>(
  Object.entries({
    'label-studio': [
      {
        name: 'delete_user',
        means: 'locks people out: it deletes the account that they made for Gangway, and their work loses their name',
      },
      {
        name: 'membership',
        means: 'does not lock out: the account stays, and an open session or the password lets them in again',
      },
    ],
    scim: [
      {
        name: 'deactivate',
        means: 'locks people out: it deactivates the account that Gangway made, once nobody needs it',
      },
      { name: 'group', means: 'does not lock out: they leave the group, and can still sign in' },
    ],
    http: [
      {
        name: 'membership_only',
        means: 'promises nothing: Gangway warns that whoever was removed may still get in',
        settings: { offboardingReason: 'it is not known yet whether a removal locks people out' },
      },
      { name: 'locks_out', means: 'promises that your requests lock people out: choose it once they do' },
    ],
  }),
);

/** Empty if there is no choice. */
export function offboardingsOf(adapter: string): readonly Offboarding[] {
  return offboardings.get(adapter) ?? [];
}

interface InitialOptions {
  adapter: string;
  /** One of `offboardingsOf(adapter)`, if there are any. */
  offboarding?: Offboarding | undefined;
  /** The name of an install in the file. Others are connected by command. */
  install?: string | undefined;
  publicUrl?: string | undefined;
  /** Another marketplace, such as a sandbox: its address, or the root of one of its APIs. */
  marketplaceUrl?: string | undefined;
  /** Whether the operator hires with an account of their own. */
  isEmployer?: boolean | undefined;
}

/** Beside the configuration. */
export const consoleTokenFile = 'gangway.console-token';

/**
 * A configuration to start from: one tool, and the install if one is given, with every secret as a reference.
 *
 * @throws AppError `invalid` for a name or a URL that `start` would refuse
 */
export function initialConfig(options: InitialOptions): InitialConfig {
  const { adapter, offboarding, install, publicUrl, marketplaceUrl, isEmployer = false } = options;
  refuseUnusable('--install', name, install);
  refuseUnusable('--public-url', httpUrl, publicUrl);
  refuseUnusable('--marketplace-url', httpUrl, marketplaceUrl);
  const settings = toolSettings.get(adapter);
  const tool = settings === undefined ? 'tool' : adapter;
  const own = install === undefined ? [] : variablesOf(install, tool);
  const [token, webhookSecret] = own.map(({ name: env }) => ({ env }));
  const toolToken = { name: `${toWord(tool)}_TOKEN`, meaning: `what ${adapter} asks for` };
  const removal = offboarding && { offboarding: offboarding.name, ...offboarding.settings };
  const hasToken = settings !== undefined && adapter !== 'roster';
  return {
    document: {
      $schema: './gangway.schema.json',
      ...(publicUrl !== undefined && { receiver: { publicUrl } }),
      ...(marketplaceUrl !== undefined && { marketplace: toMarketplace(marketplaceUrl, isEmployer) }),
      console: { tokens: { admin: { token: { file: `./${consoleTokenFile}` }, role: 'operator' } } },
      database: { url: 'sqlite:./data/gangway.db' },
      ...(install !== undefined && {
        installs: { [install]: { token, webhookSecrets: [webhookSecret], tool, projects: ['*'] } },
      }),
      tools: {
        [tool]: { adapter, ...settings, ...(hasToken && { token: { env: toolToken.name } }), ...removal },
      },
    },
    variables: hasToken ? [...own, toolToken] : own,
  };
}

function toMarketplace(url: string, isEmployer: boolean): Record<string, string> {
  const root = url.replace(/\/$/, '');
  if (new URL(root).pathname !== '/') return isEmployer ? { employerBaseUrl: root } : { baseUrl: root };
  return { baseUrl: `${root}/api/partner/v1`, employerBaseUrl: `${root}/api/public/v1` };
}

function refuseUnusable(option: string, schema: typeof name | typeof httpUrl, text: string | undefined): void {
  const fault = text === undefined ? undefined : schema.safeParse(text).error;
  if (fault !== undefined) throw new AppError('invalid', `${option}: ${fault.issues[0]?.message}`);
}

function variablesOf(install: string, tool: string): InitialConfig['variables'] {
  const prefix = variablePrefix(install, tool);
  return [
    { name: `${prefix}_TOKEN`, meaning: "the install's platform token" },
    { name: `${prefix}_WEBHOOK_SECRET`, meaning: 'the signing secret of its webhook endpoint' },
  ];
}

/** It must be a valid name in a shell, and have no other meaning. */
function variablePrefix(install: string, tool: string): string {
  const word = toWord(install);
  return /^\d|^GANGWAY_/.test(word) || word === toWord(tool) ? `INSTALL_${word}` : word;
}

function toWord(text: string): string {
  return text.toUpperCase().replaceAll('-', '_');
}
