import { Command, InvalidArgumentError } from 'commander';
import type { Services } from '../app/services.ts';
import { readConnectToken, toToken } from '../config/connect-token.ts';
import type { Environment } from '../config/document.ts';
import { name, projectPattern } from '../config/values-schema.ts';
import { AppError } from '../domain/errors.ts';
import { exitStatusOf } from '../domain/run.ts';
import { createInstallStore } from '../installs/install-store.ts';
import { ensureEndpoint } from '../installs/subscription/ensure-endpoint.ts';
import { maskText } from '../lib/mask.ts';
import { type Connected, type Connecting, connectInstall } from '../operator/connect/connect-install.ts';
import { settleDestination } from '../operator/connect/settle-destination.ts';
import { askSecret, confirm } from './ask.ts';
import { toCheckText } from './check-text.ts';
import { decidedBy, print, toQuery } from './command-context.ts';
import { waitOption } from './duration-option.ts';
import { endWith } from './ending.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { createProgress, type Opened, withWorks } from './with-works.ts';

interface ConnectOptions {
  tokenFile?: string;
  tool?: string;
  projects?: string[];
  yes?: true;
  move?: true;
  acceptOrphans?: true;
  acceptOtherCustomer?: true;
  wait: number;
  json?: true;
}

/** `gangway connect`: from a customer's token to a working installation. */
export function createConnectCommand(terminal: Terminal): Command {
  return new Command('connect')
    .description('connect a customer: from their platform token to people in your tool')
    .argument('[install]', 'your name for the customer', toInstallName, 'default')
    .option('--token-file <file>', 'where the token is, instead of being asked for it')
    .option('--tool <name>', 'the tool of the configuration that gets the people')
    .option('--projects <patterns>', 'the projects that are theirs: ids or prefix*, by commas', toPatterns)
    .option('--yes', 'agree to what it would ask: to link projects again')
    .option('--move', 'let events be delivered here that are delivered elsewhere now')
    .option('--accept-orphans', 'go on although people in a tool are no longer led to: they are kept')
    .option(
      '--accept-other-customer',
      'go on although the install was another customer, whose people are then taken out in time',
    )
    .addOption(waitOption('for how long at most to wait for the tool'))
    .option('--json', 'print one JSON object instead of text')
    .addHelpText(
      'after',
      `
The token is asked for, and not shown; or it is taken from --token-file or GANGWAY_CONNECT_TOKEN.
It is stored encrypted in the database. To run this again is harmless; with another token it
connects a customer again who has disconnected. Exit status: as of gangway reconcile.`,
    )
    .action((install: string, options: ConnectOptions, command: Command) =>
      withWorks(terminal, command, false, async (works, opened) => {
        const { env } = toQuery(command);
        const wish = await toWish(terminal, install, { ...options, env }, opened);
        const connected = await connect(terminal, works, opened, wish, options);
        print(terminal, options.json, toData(connected), () => toText(connected));
        if (connected.failure !== null) {
          terminal.stderr.write(`gangway: ${install}: ${maskText(connected.failure)}\n`);
        }
        endWith(exitStatusOf([connected.outcome]));
      }),
    );
}

/** What the configuration says of an install is not asked for, and not said twice. */
async function toWish(
  terminal: Terminal,
  install: string,
  { tokenFile, tool, projects, env, ...options }: ConnectOptions & { env: Environment },
  { config, registry, storage }: Opened,
): Promise<Connecting> {
  const accepts = {
    acceptsOrphans: options.acceptOrphans === true,
    acceptsOtherCustomer: options.acceptOtherCustomer === true,
  };
  const configured = config.installs.get(install);
  if (configured !== undefined) {
    if (tokenFile === undefined && tool === undefined && projects === undefined) {
      return { install, token: configured.token, destination: null, ...accepts };
    }
    throw new AppError('invalid', `${install} stands in the configuration: change its token, tool or projects there`);
  }
  const others = [...registry.installs].filter(([other]) => other !== install);
  const destination = settleDestination(
    { ...(tool !== undefined && { tool }), ...(projects !== undefined && { projects }) },
    {
      before: registry.installs.get(install),
      others: others.map(([, other]) => other),
      tools: [...config.tools.keys()],
    },
  );
  const stored = await createInstallStore(storage.database, storage.box).find(install);
  const handed = readConnectToken(tokenFile, env);
  const token = handed ?? (await findToken(terminal, install, stored?.token));
  return { install, token, destination, ...accepts };
}

async function findToken(terminal: Terminal, install: string, stored: string | undefined): Promise<string> {
  if (terminal.stdin.isTTY === true) {
    const keeps = stored === undefined ? '' : ' (nothing keeps the one it has)';
    const typed = await askSecret(terminal, `Platform token of ${install}${keeps}: `);
    if (typed !== '') return toToken(typed);
  }
  if (stored !== undefined) return stored;
  throw new AppError(
    'invalid',
    `There is no token for ${install}: give it with --token-file, or in GANGWAY_CONNECT_TOKEN`,
  );
}

async function connect(
  terminal: Terminal,
  works: Services,
  { storage, registry, adapters }: Opened,
  wish: Connecting,
  { yes, move, wait: waitMs }: ConnectOptions,
): Promise<Connected> {
  const { database, box } = storage;
  const { subscription } = works;
  const canBeReached = subscription.publicUrl !== undefined;
  const deps = {
    ...works,
    registry,
    adapters,
    by: decidedBy(),
    installStore: createInstallStore(database, box),
    ensureEndpoint: canBeReached
      ? (install: string, signal: AbortSignal) =>
          ensureEndpoint(subscription, install, { mayMove: move === true, signal })
      : null,
    confirm: async (question: string) => yes === true || (await confirm(terminal, question)),
    onStep: (check: Parameters<typeof toCheckText>[0]) => void terminal.stderr.write(`${toCheckText(check)}\n`),
  };
  const patience = { waitMs, signal: terminal.signal, onProgress: createProgress(terminal) };
  return await connectInstall(deps, wish, patience);
}

function toData({ failure: _, ...connected }: Connected) {
  return connected;
}

function toText(connected: Connected): string {
  const { install, links, relinked, missing, plan } = connected;
  const { added, removed, held, failed } = connected;
  return [
    `${install} is connected: ${added} added, ${removed} removed, ${held} held, ${failed} failed.`,
    ...(relinked.length > 0 ? [`Linked again: ${relinked.join(', ')}.`] : []),
    ...(missing.length > 0
      ? [
          'Linked before, and not now:',
          formatTable(
            ['project', 'because'],
            missing.map(({ project, why }) => [project, why]),
          ),
        ]
      : []),
    ...(links === 0 ? ['No project is linked yet: gangway links add <project> --job <id>'] : []),
    ...(plan === null ? [] : [`Removals are held: gangway plans show ${plan}`]),
    'Keep it running with: gangway start',
  ].join('\n');
}

function toInstallName(text: string): string {
  return checked(name.safeParse(text), text);
}

function toPatterns(text: string): string[] {
  const patterns = text.split(',').map((pattern) => pattern.trim());
  return patterns.map((pattern) => checked(projectPattern.safeParse(pattern), pattern));
}

type Parsed = { success: true; data: string } | { success: false; error: { issues: { message: string }[] } };

function checked(parsed: Parsed, text: string): string {
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(`"${text}": ${parsed.error.issues[0]?.message}`);
}
