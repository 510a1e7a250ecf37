/**
 * Every variable that has a meaning. Each can also be given as `<NAME>_FILE`, the path of a file with the
 * value. An empty variable counts as not set.
 */

export interface Variable {
  name: string;
  /** The path of its value. `*` stands for the name of the only install or tool. */
  path: readonly string[];
  /** `list`: separated by commas. */
  kind: 'text' | 'number' | 'list';
  meaning: string;
}

export const variables: readonly Variable[] = [
  row('GANGWAY_TOKEN', 'installs.*.token', 'text', "the install's marketplace token"),
  row('GANGWAY_WEBHOOK_SECRET', 'installs.*.webhookSecrets', 'list', 'its signing secrets'),
  row('GANGWAY_PROJECTS', 'installs.*.projects', 'list', 'the projects it may act on'),
  row('GANGWAY_TOOL_ADAPTER', 'tools.*.adapter', 'text', "the tool's adapter, else roster"),
  row('GANGWAY_TOOL_PATH', 'tools.*.path', 'text', "the roster's file, else ./data/roster.json"),
  row('GANGWAY_TOOL_URL', 'tools.*.url', 'text', "the root of the tool's API"),
  row('GANGWAY_TOOL_TOKEN', 'tools.*.token', 'text', "what the tool's API asks for"),
  row('GANGWAY_TOOL_OFFBOARDING', 'tools.*.offboarding', 'text', 'what a removal does there'),
  row('GANGWAY_MARKETPLACE_URL', 'marketplace.baseUrl', 'text', "the marketplace's API"),
  row('GANGWAY_MANAGED_DOMAINS', 'marketplace.managedDomains', 'list', 'its mail domains'),
  row('GANGWAY_DATABASE_URL', 'database.url', 'text', 'sqlite:<file> or postgres://…'),
  row('GANGWAY_RECEIVER_HOST', 'receiver.host', 'text', 'where the public listener binds'),
  row('GANGWAY_RECEIVER_PORT', 'receiver.port', 'number', 'its port'),
  row('GANGWAY_RECEIVER_DRAIN', 'receiver.drain', 'text', 'how long it drains before it closes'),
  row('GANGWAY_PUBLIC_URL', 'receiver.publicUrl', 'text', 'where the marketplace reaches it'),
  row('GANGWAY_CONSOLE_HOST', 'console.host', 'text', 'where the operator listener binds'),
  row('GANGWAY_CONSOLE_PORT', 'console.port', 'number', 'its port'),
  row('GANGWAY_CONSOLE_TOKEN', 'console.token', 'text', 'what operators present'),
  row('GANGWAY_LOG_LEVEL', 'log.level', 'text', 'the least important messages written'),
];

/** Variables without a path in the document. */
export const otherVariables = {
  GANGWAY_CONFIG: 'the configuration file',
  GANGWAY_INSTALL: 'the name of the one install and its tool, else "default"',
  GANGWAY_API_TOKEN: 'the token that commands with --remote send',
  GANGWAY_CONNECT_TOKEN: 'the platform token that "gangway connect" is to use',
  GANGWAY_SECRET_KEY: '32 bytes that everything secret is encrypted with',
  GANGWAY_SECRET_KEY_PREVIOUS: 'the key before it, for gangway key rotate',
};

/** With a file, only the settings of the server are taken from variables. */
export function overridesFile({ path: [section = ''] }: Variable): boolean {
  return ['database', 'receiver', 'console', 'log'].includes(section);
}

function row(name: string, path: string, kind: Variable['kind'], meaning: string): Variable {
  return { name, path: path.split('.'), kind, meaning };
}
