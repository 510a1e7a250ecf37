import { AppError } from '../domain/errors.ts';
import { name } from './values-schema.ts';

/** A configuration to start from, and the variables it refers to. */
export interface InitialConfig {
  document: Record<string, unknown>;
  variables: { name: string; meaning: string }[];
}

/** What a tool's settings are besides its token, for the adapters that are built in. */
const toolSettings = new Map<string, Record<string, unknown>>([
  ['roster', { path: './data/roster.json' }],
  ['label-studio', { url: 'http://localhost:8080', offboarding: 'delete_user' }],
  ['cvat', { url: 'http://localhost:8080', organization: 'my-organization' }],
  ['doccano', { url: 'http://localhost:8000' }],
  ['scim', { url: 'https://tool.example.com/scim/v2' }],
  ['http', { url: 'https://tool.example.com/api' }],
]);

export interface InitialWishes {
  adapter: string;
  /** The name of an install to keep in the file; without one, installs are connected by command. */
  install?: string | undefined;
  publicUrl?: string | undefined;
  /** The root of another marketplace's API than the usual one: a sandbox. */
  marketplaceUrl?: string | undefined;
}

/** One tool, and the install that was asked for, with every secret as a reference. */
export function initialConfig({
  adapter,
  install,
  publicUrl,
  marketplaceUrl,
}: InitialWishes): InitialConfig {
  const settings = toolSettings.get(adapter);
  const tool = settings === undefined ? 'tool' : adapter;
  const own = install === undefined ? [] : variablesOf(install, tool);
  const [token, webhookSecret] = own.map(({ name: env }) => ({ env }));
  const toolToken = { name: `${toWord(tool)}_TOKEN`, meaning: `what ${adapter} asks for` };
  const hasToken = settings !== undefined && adapter !== 'roster';
  return {
    document: {
      $schema: './gangway.schema.json',
      ...(publicUrl !== undefined && { receiver: { publicUrl } }),
      ...(marketplaceUrl !== undefined && { marketplace: { baseUrl: marketplaceUrl } }),
      database: { url: 'sqlite:./data/gangway.db' },
      ...(install !== undefined && {
        installs: { [install]: { token, webhookSecrets: [webhookSecret], tool, projects: ['*'] } },
      }),
      tools: {
        [tool]: { adapter, ...settings, ...(hasToken && { token: { env: toolToken.name } }) },
      },
    },
    variables: hasToken ? [...own, toolToken] : own,
  };
}

/** @throws AppError `invalid` on a bad name */
function variablesOf(install: string, tool: string): InitialConfig['variables'] {
  const checked = name.safeParse(install);
  if (!checked.success) {
    throw new AppError('invalid', `--install: ${checked.error.issues[0]?.message}`);
  }
  const prefix = variablePrefix(install, tool);
  return [
    { name: `${prefix}_TOKEN`, meaning: "the install's platform token" },
    { name: `${prefix}_WEBHOOK_SECRET`, meaning: 'the signing secret of its webhook endpoint' },
  ];
}

/** Must be a name for a shell, and not the name of a variable that means something else. */
function variablePrefix(install: string, tool: string): string {
  const word = toWord(install);
  return /^\d|^GANGWAY_/.test(word) || word === toWord(tool) ? `INSTALL_${word}` : word;
}

function toWord(text: string): string {
  return text.toUpperCase().replaceAll('-', '_');
}
