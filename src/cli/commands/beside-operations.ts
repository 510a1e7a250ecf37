import { defineCommand, defineGroup } from '../define-command.ts';
import { argument, flag, option } from '../options.ts';
import * as inputs from './inputs.ts';

/** Commands that are no operations: they set up and run a bridge, work with files, or ask at the terminal. */

export const initCommand = defineCommand({
  name: 'init',
  description: 'Write a configuration to start from',
  options: inputs.initOptions,
  misuse: ({ install, employer }) =>
    employer && install !== undefined && '--install is for a customer: connect your own account by command',
  json: 'Say what was written as JSON',
  run: async () => (await import('../init-command.ts')).runInit,
  local: 'it writes a file here',
});

export const connectCommand = defineCommand({
  name: 'connect',
  description: 'Connect a customer, or your own account: from a token to people in your tool',
  arguments: inputs.connectArguments,
  options: inputs.connectOptions,
  notes: `The command asks for the token without showing it, or takes it from --token-file or
GANGWAY_CONNECT_TOKEN. It is stored encrypted in the database. It is harmless to run this again. With
another token it connects a customer again who has disconnected. A personal token needs the scopes
payments:read, messages:read, participant_work_email:read and webhooks:manage; what it may do beyond that
is said before it is stored. Exit status: as of gangway reconcile.`,
  misuse: ({ register, tokenFile, job }) =>
    register && (tokenFile !== undefined || job.length > 0) && '--register goes without --token-file and --job',
  opens: 'services',
  uses: () => ['installs', 'tools'],
  run: async () => (await import('../connect-command.ts')).runConnect,
  remote: async () => (await import('../connect-command.ts')).askConnect,
});

export const startCommand = defineCommand({
  name: 'start',
  description: 'Receive deliveries and keep the tools in line, until stopped',
  options: inputs.startOptions,
  json: 'Print the addresses as one JSON object on stdout',
  run: async () => (await import('../start-command.ts')).runStart,
  local: 'it runs an instance here',
});

export const tryCommand = defineCommand({
  name: 'try',
  description: 'See Gangway work: a simulated marketplace, the bridge, and a roster as the tool',
  options: inputs.tryOptions,
  json: 'Print one JSON object after a successful tour, instead of text',
  run: async () => (await import('../try-command.ts')).runTry,
  local: 'it runs an instance here',
});

/** What `npm start` runs in a checkout: `start` if anything looks like a configuration, else `try`. */
export const autoCommand = defineCommand({
  name: 'auto',
  description: 'Start with a configuration, try without one',
  options: { exit: flag('Stop after the tour of `try`') },
  run: async () => (await import('../start-command.ts')).runAuto,
  local: 'it runs an instance here',
});

export const doctorCommand = defineCommand({
  name: 'doctor',
  description: 'Look at configuration, tools, marketplace, database and clocks, and say what to do',
  options: inputs.doctorOptions,
  misuse({ rehearse, tool, group, upgrade }) {
    const isComplete = tool !== undefined && group !== undefined;
    if (rehearse && upgrade) return '--upgrade looks at the database only: leave --rehearse out';
    if (rehearse && !isComplete) return '--rehearse needs --tool <name> and --group <id>';
    return !rehearse && (tool !== undefined || group !== undefined) && '--tool and --group are for --rehearse';
  },
  run: async () => (await import('../doctor-command.ts')).runDoctor,
  remote: async () => (await import('../doctor-command.ts')).askDoctor,
});

export const openCommand = defineCommand({
  name: 'open',
  description: 'Open the console in a browser, and print its address',
  json: 'Print one JSON object instead, and open nothing',
  notes: 'Without a terminal or a browser, the address is only printed.',
  run: async () => (await import('../open-command.ts')).runOpen,
  local: 'the console of another machine is at an address of its own',
});

export const keyCommand = defineGroup('key', 'The key that everything secret is sealed with', [
  defineCommand({
    name: 'show',
    description: 'Print the fingerprint of the key, which tells it from others and nothing else',
    run: async () => (await import('../database-commands.ts')).runKeyShow,
    local: 'the key is kept beside the database',
  }),
  defineCommand({
    name: 'rotate',
    description: 'Seal everything anew: with GANGWAY_SECRET_KEY, or with a new key file; stop every instance first',
    run: async () => (await import('../database-commands.ts')).runKeyRotate,
    local: 'the key is kept beside the database',
  }),
]);

export const mcpCommand = defineCommand({
  name: 'mcp',
  description: 'Let a model read a running instance (--remote): tools of the Model Context Protocol over stdio',
  json: 'Changes nothing: what is printed is the protocol',
  notes: `It needs the package @modelcontextprotocol/sdk beside Gangway. Every tool only reads; give it the token of a
viewer.`,
  run: async () => (await import('../mcp-command.ts')).runMcp,
  remote: async () => (await import('../mcp-command.ts')).askMcp,
});

export const migrateCommand = defineCommand({
  name: 'migrate',
  description: "Bring the database to this version's tables, or move it to another one",
  options: { to: option('<url>', 'A new, empty database that gets every row: postgres://… or sqlite:…') },
  notes: `It is harmless to repeat. With --to, stop every instance first; the old database stays as it is.`,
  run: async () => (await import('../database-commands.ts')).runMigrate,
  local: 'an instance migrates its database when it starts',
});

export const backupCommand = defineCommand({
  name: 'backup',
  description: 'Write every row to a new file, sealed with the key, beside running instances',
  arguments: { file: argument('<file>', 'The file to write') },
  notes: `The file is read back after it is written. It opens only with the same key, which is not in it.`,
  opens: 'storage',
  run: async () => (await import('../database-commands.ts')).runBackup,
  local: 'it writes a file here',
});

export const restoreCommand = defineCommand({
  name: 'restore',
  description: 'Fill a new database from a backup; the next start reads every install before it acts',
  arguments: { file: argument('<file>', 'A file that gangway backup wrote') },
  notes: `The configured database must be new: move an older one away first. SQLite and PostgreSQL take each other's
backups.`,
  run: async () => (await import('../database-commands.ts')).runRestore,
  local: 'the database is here',
});

export const adapterCommand = defineGroup('adapter', 'Write an adapter for a tool of your own, and test it', [
  defineCommand({
    name: 'new',
    description: 'Write an adapter to start from, and a test that runs the suite that every adapter must pass',
    arguments: { file: argument('<file>', 'The TypeScript file to write; the test is written beside it') },
    misuse: ({ file }) => !/[^/\\]\.ts$/.test(file) && '<file> must end with .ts',
    json: 'Print the files that were written as one JSON object',
    run: async () => (await import('../adapter-command.ts')).runAdapterNew,
    local: 'it writes files here',
  }),
  defineCommand({
    name: 'test',
    description: 'Run the suite that every adapter must pass against a tool, with made-up people',
    arguments: inputs.testArguments,
    options: inputs.testOptions,
    json: 'Print one JSON object instead of a line for each case',
    run: async () => (await import('../adapter-command.ts')).runAdapterTest,
    local: 'it tries code that is here',
  }),
]);

export const importCommand = defineCommand({
  name: 'import',
  description: 'Take in work from a file, for a tool that cannot be asked about it',
  arguments: inputs.importArguments,
  options: inputs.importOptions,
  notes: `A file counts whole or not at all. Of the same person, contract or project, and day, each count is that of
the latest file that has it.
Exit status: 0 done, 1 failed or something in the file is wrong, 2 not confirmed, 64 used wrongly.`,
  misuse: ({ file }) => !/\.(csv|ndjson|jsonl)$/i.test(file) && 'the file must be a .csv or an .ndjson',
  opens: 'services',
  run: async () => (await import('../usage-import-command.ts')).runUsageImport,
  remote: async () => (await import('../usage-import-command.ts')).askUsageImport,
});

export const templateCommand = defineCommand({
  name: 'template',
  description: 'Print a file to start an import from: every column, and two example lines',
  options: { ndjson: flag('As one JSON object a line instead of CSV') },
  json: 'Print one JSON object with the file in it',
  run: async () => (await import('../usage-import-command.ts')).runUsageTemplate,
  local: 'it asks nobody',
});
