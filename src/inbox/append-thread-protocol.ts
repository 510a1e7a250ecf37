import type { WriteTurns } from '../db/write-turns.ts';
import type { Appended, NewDelivery } from '../domain/delivery.ts';
import type { ErrorCode } from '../domain/errors.ts';

/** The messages between the inbox and the thread that stores for it: one reply for each request. */
export interface AppendThreadData {
  url: string;
  key: Uint8Array;
  writeTurns?: WriteTurns | undefined;
}

export type AppendRequest = { id: number; packed: PackedDeliveries } | 'close';

export type AppendReply = { id: number } & ({ appended: Appended[] } | { code: ErrorCode; message: string });

/** All bodies in one buffer, which is transferred. That is cheaper than copying each. */
export interface PackedDeliveries {
  deliveries: Omit<NewDelivery, 'body'>[];
  bodies: Uint8Array<ArrayBuffer>;
  /** Where each body ends. */
  ends: number[];
}

export function packDeliveries(deliveries: readonly NewDelivery[]): PackedDeliveries {
  const bodies = new Uint8Array(deliveries.reduce((sum, { body }) => sum + body.length, 0));
  const ends: number[] = [];
  let end = 0;
  for (const { body } of deliveries) {
    bodies.set(body, end);
    end += body.length;
    ends.push(end);
  }
  return { deliveries: deliveries.map(({ body: _, ...rest }) => rest), bodies, ends };
}

export function unpackDeliveries({ deliveries, bodies, ends }: PackedDeliveries): NewDelivery[] {
  return deliveries.map((delivery, index) => ({
    ...delivery,
    body: bodies.subarray(ends[index - 1] ?? 0, ends[index]),
  }));
}
