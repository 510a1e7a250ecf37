/**
 * Every variable that has a meaning. Each can also be given as `<NAME>_FILE`, the path of a file with the
 * value. An empty variable counts as not set.
 */

export interface Variable {
  name: string;
  /** The path of its value. `*` stands for the name of the only install or tool. */
  path: readonly string[];
}

const paths = {
  GANGWAY_TOKEN: 'installs.*.token',
  GANGWAY_WEBHOOK_SECRET: 'installs.*.webhookSecrets',
  GANGWAY_PROJECTS: 'installs.*.projects',
  GANGWAY_TOOL_ADAPTER: 'tools.*.adapter',
  GANGWAY_TOOL_PATH: 'tools.*.path',
  GANGWAY_TOOL_URL: 'tools.*.url',
  GANGWAY_TOOL_TOKEN: 'tools.*.token',
  GANGWAY_TOOL_OFFBOARDING: 'tools.*.offboarding',
  GANGWAY_MARKETPLACE_URL: 'marketplace.baseUrl',
  GANGWAY_MANAGED_DOMAINS: 'marketplace.managedDomains',
  GANGWAY_DATABASE_URL: 'database.url',
  GANGWAY_RECEIVER_HOST: 'receiver.host',
  GANGWAY_RECEIVER_PORT: 'receiver.port',
  GANGWAY_RECEIVER_DRAIN: 'receiver.drain',
  GANGWAY_PUBLIC_URL: 'receiver.publicUrl',
  GANGWAY_CONSOLE_HOST: 'console.host',
  GANGWAY_CONSOLE_PORT: 'console.port',
  GANGWAY_CONSOLE_TOKEN: 'console.token',
  GANGWAY_LOG_LEVEL: 'log.level',
  GANGWAY_LOG_FORMAT: 'log.format',
};

export const variables: readonly Variable[] = Object.entries(paths).map(([name, path]) => ({
  name,
  path: path.split('.'),
}));

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
