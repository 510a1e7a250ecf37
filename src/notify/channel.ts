import { randomUUID } from 'node:crypto';
import type { NewNotice } from '../domain/notice.ts';
import { type Clock, toInstant } from '../lib/clock.ts';

/**
 * This folder sends notices out of Gangway, each notice once per channel, however often something breaks in between.
 * Channels never wait for each other. No address, URL or secret of a channel gets into the database, a log or a
 * metric.
 */

/** Sends notices to people. Two sends of one message overlap only where a lease ran out. */
export interface Channel {
  name: string;
  /** How many notices a message may have. */
  maxNotices: number;
  /** No send takes longer. */
  longestSendMs: number;
  /** Sends a message once. Never throws. Where the send was aborted, it is not known whether it arrived. */
  send(message: Message, signal: AbortSignal): Promise<MessageResult>;
}

/** How long a notice waits for others to share its message, by the type of the channel. */
export const gatherMsOf = { webhook: 0, slack: 60_000, mail: 60_000 };

export interface Message {
  /** The same at every try. */
  id: string;
  /** When the first of its notices was added. The same at every try. */
  createdAt: string;
  /** Empty in a trial of the channel. */
  notices: readonly NewNotice[];
}

/**
 * `deferred`: it did not arrive, and a later try may succeed. `refused`: it was not accepted, and will not be until
 * someone changes a setting. `gone`: the receiver does not want it any more.
 */
export type MessageResult =
  /** With a failure where there were several receivers and some did not get it. */
  | { outcome: 'sent'; failure?: string }
  | {
      outcome: 'deferred' | 'refused' | 'gone';
      /** A code and the step that failed: no text of another system. */
      failure: string;
      /** How long the receiver asked to wait. */
      retryAfterMs?: number | undefined;
    };

/** The outcome of a trial message. */
export interface Trial {
  channel: string;
  outcome: MessageResult['outcome'];
  failure: string | null;
}

/** Sends a message without notices to each channel, all at the same time, without retries. */
export async function tryChannels(channels: readonly Channel[], clock: Clock, signal: AbortSignal): Promise<Trial[]> {
  const createdAt = toInstant(clock.now());
  return await Promise.all(
    channels.map(async ({ name, send }) => {
      const message = { id: `msg_${randomUUID()}`, createdAt, notices: [] };
      const { outcome, failure = null } = await send(message, signal);
      return { channel: name, outcome, failure };
    }),
  );
}
