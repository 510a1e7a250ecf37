import { Command, InvalidArgumentError } from 'commander';
import { createConfiguredChannels } from '../app/services.ts';
import { AppError } from '../domain/errors.ts';
import { type DispatchState, dispatchStates } from '../domain/notice.ts';
import { systemClock } from '../lib/clock.ts';
import type { Channel } from '../notify/channel.ts';
import { createDispatchStore, type ListedDispatch } from '../notify/dispatch-store.ts';
import { type Trial, tryChannels } from '../notify/try-channels.ts';
import { loadCommandConfig, print, withStorage } from './command-context.ts';
import { toCount } from './count-option.ts';
import { endWith } from './ending.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/** `gangway notifications`: what people outside were told of, and whether they can be told. */
export function createNotificationsCommand(terminal: Terminal): Command {
  return new Command('notifications')
    .description('what people outside were told of, and whether they can be told')
    .addCommand(createListCommand(terminal), { isDefault: true })
    .addCommand(createTestCommand(terminal));
}

interface ListOptions {
  state?: DispatchState;
  limit: number;
  json?: true;
}

function createListCommand(terminal: Terminal): Command {
  return new Command('list')
    .description('list notices by channel, the newest first')
    .option('--state <state>', `only those in one state: ${dispatchStates.join(', ')}`, toState)
    .option('--limit <count>', 'how many at most', toCount, 50)
    .option('--json', 'print one JSON object instead of a table')
    .action(({ state, limit, json }: ListOptions, command: Command) =>
      withStorage(command, async ({ database }) => {
        const notifications = await createDispatchStore(database).list({ state, limit });
        print(terminal, json, { notifications }, () => toTable(notifications));
      }),
    );
}

interface TestOptions {
  channel?: string;
  json?: true;
}

function createTestCommand(terminal: Terminal): Command {
  return new Command('test')
    .description('send a test notice now, and say what came of it; status 1 where one failed')
    .option('--channel <name>', 'only to this channel')
    .option('--json', 'print one JSON object instead of a table')
    .action(async ({ channel, json }: TestOptions, command: Command) => {
      const { config } = loadCommandConfig(command);
      const channels = createConfiguredChannels({ config, clock: systemClock });
      const trials = await tryChannels(pick(channels, channel), systemClock, terminal.signal);
      print(terminal, json, { trials }, () => toTrialTable(trials));
      endWith(trials.every(({ outcome, failure }) => outcome === 'sent' && failure === null) ? 0 : 1);
    });
}

function pick(channels: Channel[], name: string | undefined): Channel[] {
  if (channels.length === 0) {
    throw new AppError('not_found', 'No channel is configured: add one to notifications.channels');
  }
  const picked = channels.filter((channel) => name === undefined || channel.name === name);
  if (picked.length > 0) return picked;
  const known = channels.map((channel) => channel.name).join(', ');
  throw new AppError('not_found', `There is no channel "${name}"; there is: ${known}`);
}

function toState(value: string): DispatchState {
  const state = dispatchStates.find((known) => known === value);
  if (state === undefined) throw new InvalidArgumentError(`one of: ${dispatchStates.join(', ')}`);
  return state;
}

function toTable(notifications: ListedDispatch[]): string {
  if (notifications.length === 0) return 'There are no notifications.';
  return formatTable(
    ['id', 'added', 'channel', 'kind', 'install', 'contract', 'state', 'tries', 'next', 'why'],
    notifications.map((one) => [
      one.id,
      one.createdAt,
      one.channel,
      one.kind,
      ...toSubject(one),
      one.state,
      one.attempts,
      one.nextAttemptAt ?? '',
      one.failure ?? '',
    ]),
  );
}

/** The install and the contract. */
function toSubject(one: ListedDispatch): [string, string] {
  if (!('about' in one)) return [one.install, one.contractId];
  const { install = '', contract = '' } = one.about;
  return [install, contract];
}

function toTrialTable(trials: Trial[]): string {
  return formatTable(
    ['channel', 'outcome', 'why'],
    trials.map(({ channel, outcome, failure }) => [channel, outcome, failure ?? '']),
  );
}
