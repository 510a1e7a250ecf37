import { builtInAdapters } from '../../adapters/built-in-adapters.ts';
import { configFileName } from '../../config/find-configuration.ts';
import { nameRule, projectRule } from '../../config/text-rules.ts';
import { defineCommand, defineGroup } from '../define-command.ts';
import {
  argument,
  flag,
  keepsTo,
  option,
  repeatedOption,
  toDomain,
  toWholeNumber,
  wait,
  withDefault,
} from '../options.ts';

/** What sets a bridge up, runs it and looks after it. */

export const init = defineCommand({
  name: 'init',
  description: 'write a configuration to start from',
  options: {
    config: withDefault('<file>', 'the file to write', configFileName),
    install: option('<name>', 'write an install of this name into it, rather than to connect it by command'),
    publicUrl: option('<url>', 'where the marketplace reaches this machine'),
    marketplaceUrl: option('<url>', "the root of the marketplace's API, such as a sandbox's"),
    tool: withDefault('<adapter>', `${builtInAdapters.join(', ')}, a file or a package`, 'roster'),
    offboarding: option('<choice>', 'what a removal does in it, where there is a choice'),
    force: flag('replace a configuration that is already there'),
  },
  json: 'say what was written as JSON',
  run: async () => (await import('../init-command.ts')).initialize,
});

export const connect = defineCommand({
  name: 'connect',
  description: 'connect a customer: from their platform token to people in your tool',
  arguments: {
    install: withDefault('[install]', 'your name for the customer', 'default', keepsTo(nameRule)),
  },
  options: {
    tokenFile: option('<file>', 'where the token is, instead of being asked for it'),
    tool: option('<name>', 'the tool of the configuration that gets the people'),
    projects: option('<patterns>', 'the projects that are theirs: ids or prefix*, by commas', toPatterns),
    yes: flag('agree to what it would ask: to link projects again'),
    move: flag('let events be delivered here that are delivered elsewhere now'),
    acceptOrphans: flag('go on although people in a tool are no longer led to: they are kept'),
    acceptOtherCustomer: flag(
      'go on although the install was another customer, whose people are then taken out in time',
    ),
    wait: wait('for how long at most to wait for the tool'),
  },
  notes: `The token is asked for, and not shown; or it is taken from --token-file or GANGWAY_CONNECT_TOKEN.
It is stored encrypted in the database. To run this again is harmless; with another token it
connects a customer again who has disconnected. Exit status: as of gangway reconcile.`,
  opens: 'services',
  callsTools: true,
  run: async () => (await import('../connect-command.ts')).connect,
});

function toPatterns(text: string): string[] {
  return text.split(',').map((pattern) => keepsTo(projectRule)(pattern.trim()));
}

export const start = defineCommand({
  name: 'start',
  description: 'receive deliveries and keep the tools in line, until stopped',
  options: {
    acceptOrphans: flag('start although the configuration no longer leads to people who are in a tool: they are kept'),
    restored: flag('the database comes from a backup: ask the marketplace before acting on what lies in it'),
  },
  json: 'print the addresses as one JSON object on stdout',
  run: async () => (await import('../start-command.ts')).start,
});

/** `gangway try` */
export const tryOut = defineCommand({
  name: 'try',
  description: 'see it work: a simulated marketplace, the bridge, and a roster as the tool',
  options: { exit: flag('stop after the tour, with status 0 if it went well') },
  json: 'print one JSON object, when the tour has gone well, instead of text',
  run: async () => (await import('../try-command.ts')).tryOut,
});

/**
 * What `npm start` runs in a checkout: `start` where anything looks like a configuration, else `try`.
 * Nothing else falls back to `try`, least of all the image.
 */
export const auto = defineCommand({
  name: 'auto',
  description: 'start with a configuration, try without one',
  options: { exit: flag('stop after the tour of `try`') },
  run: async () => (await import('../auto-command.ts')).startOrTry,
});

export const doctor = defineCommand({
  name: 'doctor',
  description: 'look at configuration, tools, marketplace, database and clocks, and say what to do',
  options: {
    rehearse: flag('add a made-up person to a group of a tool, and remove them again'),
    tool: option('<name>', 'the tool to rehearse with'),
    group: option('<id>', 'the group to rehearse in'),
    emailDomain: withDefault('<domain>', 'where the made-up address is', 'example.com', toDomain),
  },
  misuse({ rehearse, tool, group }) {
    const isComplete = tool !== undefined && group !== undefined;
    if (rehearse && !isComplete) return '--rehearse needs --tool <name> and --group <id>';
    return !rehearse && (tool !== undefined || group !== undefined) && '--tool and --group are for --rehearse';
  },
  run: async () => (await import('../doctor-command.ts')).examineAll,
});

export const key = defineGroup('key', 'the key that everything secret is sealed with', [
  defineCommand({
    name: 'show',
    description: 'print the fingerprint of the key, which tells it from others and nothing else',
    run: async () => (await import('../key-command.ts')).showKey,
  }),
  defineCommand({
    name: 'rotate',
    description: 'seal everything anew: with GANGWAY_SECRET_KEY, or with a new key file',
    run: async () => (await import('../key-command.ts')).replaceKey,
  }),
]);

export const migrate = defineCommand({
  name: 'migrate',
  description: "bring the database to this version's tables; harmless to repeat",
  run: async () => (await import('../migrate-command.ts')).migrate,
});

export const adapter = defineGroup('adapter', 'try an adapter out', [
  defineCommand({
    name: 'test',
    description: 'run the suite that every adapter must pass against a tool, with made-up people',
    arguments: { file: argument('[file]', 'an adapter in a file, instead of a configured tool') },
    options: {
      tool: option('<name>', 'a tool of the configuration'),
      settings: option('<file>', 'JSON: what would stand under "tools.<name>", for the file'),
      group: repeatedOption('<id>', 'a group to add them to; name two that exist'),
      crowd: option('<people>', 'add so many at once: more than the tool shows on a page', toCrowd),
      emailDomain: withDefault('<domain>', 'where their addresses are', 'example.com', toDomain),
      yes: flag('do it: without this it says what it would do'),
    },
    json: 'print one JSON object instead of a line for each case',
    run: async () => (await import('../adapter-command.ts')).testAdapter,
  }),
]);

/** How many made-up people a tool is asked to take. */
function toCrowd(text: string): number {
  return toWholeNumber(text, 2, 2000);
}
