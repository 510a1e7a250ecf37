import { Command, InvalidArgumentError, Option } from 'commander';
import { type DeliveryState, deliveryStates } from '../domain/delivery.ts';
import { AppError } from '../domain/errors.ts';
import type { ListedDelivery } from '../inbox/inbox-store.ts';
import { systemClock, toInstant } from '../lib/clock.ts';
import { stripControl } from '../lib/strip-control.ts';
import { print, withStorage } from './command-context.ts';
import { toCount, toRowNumber } from './count-option.ts';
import { refuseUnknownInstall } from './pick-install.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/** `gangway deliveries`: what was received, and what became of it. */
export function createDeliveriesCommand(terminal: Terminal): Command {
  return new Command('deliveries')
    .description('what was received, and what became of it')
    .addCommand(createListCommand(terminal), { isDefault: true })
    .addCommand(createShowCommand(terminal))
    .addCommand(createReplayCommand(terminal));
}

interface ListOptions {
  install?: string;
  state?: DeliveryState;
  limit: number;
  json?: true;
}

function createListCommand(terminal: Terminal): Command {
  return new Command('list')
    .description('list deliveries, the newest first')
    .option('--install <name>', 'only those for one install')
    .option('--state <state>', `only those in one state: ${deliveryStates.join(', ')}`, toState)
    .option('--limit <count>', 'how many at most', toCount, 50)
    .option('--json', 'print one JSON object instead of a table')
    .action(({ install, state, limit, json }: ListOptions, command: Command) =>
      withStorage(command, async (storage, config) => {
        const deliveries = await storage.inbox.list({ install, state, limit });
        if (deliveries.length === 0) await refuseUnknownInstall(command, storage, config, install);
        print(terminal, json, { deliveries: deliveries.map(toShown) }, () => toTable(deliveries));
      }),
    );
}

interface ShowOptions {
  raw?: true;
  json?: true;
}

function createShowCommand(terminal: Terminal): Command {
  const raw = new Option('--raw', 'print its body as it came in, and nothing else');
  return new Command('show')
    .description('show one delivery; its body, which names people, only with --raw')
    .argument('<id>', 'its number in the list', toRowNumber)
    .addOption(raw.conflicts('json'))
    .option('--json', 'print one JSON object instead of text')
    .action((id: number, options: ShowOptions, command: Command) =>
      withStorage(command, async ({ inbox }) => {
        if (options.raw) terminal.stdout.write(found(id, await inbox.findBody(id)));
        else showDelivery(terminal, found(id, await inbox.find(id)), options);
      }),
    );
}

function found<T>(id: number, value: T | undefined): T {
  if (value === undefined) throw new AppError('not_found', `There is no delivery ${id}`);
  return value;
}

function showDelivery(terminal: Terminal, delivery: ListedDelivery, { json }: ShowOptions): void {
  const shown = toShown(delivery);
  print(terminal, json, shown, () =>
    Object.entries(shown)
      .map(([name, value]) => `${name.padEnd(13)} ${toLine(value)}`)
      .join('\n'),
  );
}

interface ReplayOptions {
  failed?: true;
  json?: true;
}

function createReplayCommand(terminal: Terminal): Command {
  return new Command('replay')
    .description('look at deliveries again, as if they had just come in')
    .argument('[ids...]', 'their numbers in the list', addRowNumber)
    .option('--failed', 'all that could not be handled')
    .option('--json', 'print one JSON object instead of text')
    .action(async (ids: number[], { failed, json }: ReplayOptions, command: Command) => {
      if (ids.length === 0 && !failed) {
        command.error('error: name deliveries by their numbers, or use --failed');
      }
      await withStorage(command, async ({ inbox }) => {
        for (const id of ids) found(id, await inbox.find(id));
        const now = toInstant(systemClock.now());
        const named = ids.length > 0 ? await inbox.replay(ids, now) : 0;
        const replayed = named + (failed ? await inbox.replayFailed(now) : 0);
        print(terminal, json, { replayed }, () => toReplayed(replayed, ids.length - named));
      });
    });
}

function toReplayed(replayed: number, left: number): string {
  const text = `${replayed} to be looked at again.`;
  if (left === 0) return text;
  return `${text} ${left} left as they are: of a type that nothing uses, whose body was not kept.`;
}

function addRowNumber(value: string, before: number[] = []): number[] {
  return [...before, toRowNumber(value)];
}

function toState(value: string): DeliveryState {
  const state = deliveryStates.find((known) => known === value);
  if (state === undefined) throw new InvalidArgumentError(`one of: ${deliveryStates.join(', ')}`);
  return state;
}

function toShown({ bodySha256, headers, ...delivery }: ListedDelivery) {
  return {
    ...delivery,
    bodySha256: bodySha256.toString('hex'),
    headers: JSON.parse(headers) as Record<string, string>,
  };
}

function toLine(value: unknown): string {
  if (value === null) return '-';
  return stripControl(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

function toTable(deliveries: ListedDelivery[]): string {
  if (deliveries.length === 0) return 'There are no deliveries.';
  return formatTable(
    ['id', 'received', 'install', 'type', 'state', 'tries', 'why'],
    deliveries.map((delivery) => [
      delivery.id,
      delivery.receivedAt,
      delivery.install,
      delivery.eventType ?? '',
      delivery.state,
      delivery.attempts,
      delivery.failure ?? '',
    ]),
  );
}
