import type { DeliveryState } from '../domain/delivery.ts';
import { AppError } from '../domain/errors.ts';
import { digestOf } from '../inbox/body-key.ts';
import { type ListedDelivery, listDeliveries } from '../inbox/delivery-list-store.ts';
import { findBody, findDelivery } from '../inbox/inbox-store.ts';
import { stripControl } from '../lib/strip-control.ts';
import { replayDeliveries } from '../operator/replay-deliveries.ts';
import type { Printed } from './define-command.ts';
import { refuseUnknownInstall } from './pick-install.ts';
import type { StorageSession } from './session.ts';
import { type Columns, formatList } from './table.ts';
import { decidedBy } from './with-storage.ts';

/** `gangway deliveries`: the deliveries that were received, and how they were handled. */

export interface DeliveryFilter {
  install: string | undefined;
  state: DeliveryState | undefined;
  limit: number;
}

export async function runDeliveriesList(
  { install, state, limit }: DeliveryFilter,
  session: StorageSession,
): Promise<Printed> {
  const deliveries = await listDeliveries(session.storage.database.kysely, { install, state, limit });
  if (deliveries.length === 0) await refuseUnknownInstall(session, install);
  return printDeliveries(deliveries.map(toShown));
}

export type ShownDelivery = ReturnType<typeof toShown>;

export function printDeliveries(deliveries: readonly ShownDelivery[]): Printed {
  return { data: { deliveries }, text: () => formatList(deliveries, columns, 'There are no deliveries.') };
}

const columns: Columns<ShownDelivery> = [
  ['id', ({ id }) => id],
  ['received', ({ receivedAt }) => receivedAt],
  ['install', ({ install }) => install],
  ['type', ({ eventType }) => eventType],
  ['state', ({ state }) => state],
  ['tries', ({ attempts }) => attempts],
  ['why', ({ failure }) => failure],
];

export async function runDeliveriesShow(
  { id, raw }: { id: number; raw: boolean },
  { terminal, storage }: StorageSession,
): Promise<Printed | undefined> {
  if (raw) {
    terminal.stdout.write(found(id, await findBody(storage, id)));
    return undefined;
  }
  return printDelivery(toShown(found(id, await findDelivery(storage, id))));
}

export function printDelivery(shown: ShownDelivery): Printed {
  const lines = Object.entries(shown).map(([name, value]) => `${name.padEnd(13)} ${toLine(value)}`);
  return { data: shown, text: () => lines.join('\n') };
}

function found<T>(id: number, value: T | undefined): T {
  if (value === undefined) throw new AppError('not_found', `There is no delivery ${id}`);
  return value;
}

export async function runDeliveriesReplay(
  { ids, failed }: { ids: number[]; failed: boolean },
  { storage }: StorageSession,
): Promise<Printed> {
  for (const id of ids) found(id, await findDelivery(storage, id));
  const { replayed, left } = await replayDeliveries(storage, decidedBy(), { ids, failed });
  return printReplayed(replayed.length, left.length);
}

export function printReplayed(replayed: number, left: number): Printed {
  return { data: { replayed }, text: () => toReplayed(replayed, left) };
}

function toReplayed(replayed: number, left: number): string {
  const text = `${replayed} to be looked at again.`;
  if (left === 0) return text;
  return `${text} ${left} left as they are: of a type that nothing uses, whose body was not kept.`;
}

function toShown({ bodySha256, headers, ...delivery }: ListedDelivery) {
  return {
    ...delivery,
    bodySha256: digestOf(bodySha256).toString('hex'),
    headers: JSON.parse(headers) as Record<string, string>,
  };
}

function toLine(value: unknown): string {
  if (value === null) return '-';
  return stripControl(typeof value === 'object' ? JSON.stringify(value) : String(value));
}
