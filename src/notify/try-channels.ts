import { randomUUID } from 'node:crypto';
import { type Clock, toInstant } from '../lib/clock.ts';
import type { Channel, MessageResult } from './channel.ts';

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
