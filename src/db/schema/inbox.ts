import type { DeliveryState } from '../../domain/delivery.ts';
import { bigint, bytes, counter, instant, integer, sealed, table, text } from '../columns.ts';
import { bodyContext } from '../seal-contexts.ts';

export const inbox = {
  delivery: table(
    {
      id: counter(),
      install: text(),
      /** What identifies the body for its install: `toBodyKey`. */
      bodySha256: bytes(),
      deliveryId: text().nullable(),
      eventType: text().nullable(),
      /** The contract, link or install that the event is about; null if that is not known. */
      subjectId: text().nullable(),
      receivedAt: instant(),
      state: text<DeliveryState>(),
      attempts: integer().default(0),
      /** When to handle it (again); null when there is nothing to do. */
      nextAttemptAt: instant().nullable(),
      /** Why it is not handled, in a few words. */
      failure: text().nullable(),
      /** The version of the event reader that read it. */
      readerVersion: integer(),
      headers: text(),
      /** The span of its receiving, or the trace that the sender named; null where there is neither. */
      /** Empty if it was not kept; an encrypted body is never empty. */
      body: sealed(bodyContext),
    },
    {
      unique: ['install', 'bodySha256'],
      indexes: {
        turn: { on: ['install', 'id', 'nextAttemptAt'], where: 'next_attempt_at is not null' },
        trouble: { on: ['id'], where: 'failure is not null' },
        subject: { on: ['subjectId', 'id'], where: 'subject_id is not null' },
        byInstall: ['install', 'id'],
        byType: ['eventType', 'id'],
        ignored: { on: ['install', 'id'], where: `state = 'ignored'` },
        troubled: { on: ['state', 'id'], where: 'failure is not null' },
      },
    },
  ),

  /** How much an install has stored: the sum of its rows. */
  installStorage: table(
    {
      install: text(),
      part: integer(),
      bytes: bigint(),
    },
    { key: ['install', 'part'] },
  ),
};
