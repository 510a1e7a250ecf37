import { AppError } from '../domain/errors.ts';
import type { DispatchState } from '../domain/notice.ts';
import { systemClock } from '../lib/clock.ts';
import { type Channel, type Trial, tryChannels } from '../notify/channel.ts';
import { createChannels } from '../notify/create-channels.ts';
import { type ListedDispatch, listDispatches } from '../notify/dispatch-store.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import type { Printed } from './define-command.ts';
import type { Session, StorageSession } from './session.ts';
import { loadCommandConfig } from './with-storage.ts';

/** `gangway notifications`: the notices that were sent to people, and a test of the channels. */

export async function runNotificationsList(
  { state, limit }: { state: DispatchState | undefined; limit: number },
  { storage }: StorageSession,
): Promise<Printed> {
  const notifications = await listDispatches(storage, { state, limit });
  return printNotifications(notifications);
}

export function printNotifications(notifications: readonly ListedDispatch[]): Printed {
  return {
    data: { notifications },
    text: () => formatList(notifications, columns, 'There are no notifications.'),
  };
}

export async function runNotificationsTest(
  { channel }: { channel: string | undefined },
  session: Session,
): Promise<Printed> {
  const uses = channel === undefined ? ['notifications'] : [`notifications.channels.${channel}`];
  const { config } = loadCommandConfig(session, [...uses, 'mail']);
  const channels = createChannels(config, systemClock);
  const trials = await tryChannels(pick(channels, channel), systemClock, session.terminal.signal);
  return printTrials(trials);
}

export function printTrials(trials: readonly Trial[]): Printed {
  return {
    data: { trials },
    text: () => formatList(trials, trialColumns, 'No channel was tried.'),
    status: trials.every(({ outcome, failure }) => outcome === 'sent' && failure === null) ? 0 : 1,
  };
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

const columns: Columns<ListedDispatch> = [
  ['id', ({ id }) => id],
  ['added', ({ createdAt }) => createdAt],
  ['channel', ({ channel }) => channel],
  ['kind', ({ kind }) => kind],
  ['says', sayOf],
  ['install', (one) => subjectOf(one).install],
  ['contract', (one) => subjectOf(one).contract],
  ['state', ({ state }) => state],
  ['tries', ({ attempts }) => attempts],
  ['next', ({ nextAttemptAt }) => nextAttemptAt],
  ['why', ({ failure }) => failure],
];

function sayOf(one: ListedDispatch): string {
  if ('about' in one ? one.isOver : one.kind === 'budget.ok') return 'over';
  return one.isRepeat ? 'reminder' : 'raised';
}

function subjectOf(one: ListedDispatch): { install?: string | undefined; contract?: string | undefined } {
  return 'about' in one ? one.about : { install: one.install, contract: one.contractId };
}

const trialColumns: Columns<Trial> = [
  ['channel', ({ channel }) => channel],
  ['outcome', ({ outcome }) => outcome],
  ['why', ({ failure }) => failure],
];
