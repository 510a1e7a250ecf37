import type { NewNotice, NoticeTopic } from '../domain/notice.ts';

/**
 * This folder tells people outside of Gangway what they want to know of, each notice once in each
 * channel, however often something breaks in between. Channels never wait for each other, and no
 * address, URL or secret of theirs gets into the database, a log or a metric.
 */

/** Somewhere people are told. Two sends of a message may overlap only where a lease ran out. */
export interface Channel extends ChannelShape {
  /** Sends a message once. Never throws; where it was aborted, nobody knows whether it arrived. */
  send(message: Message, signal: AbortSignal): Promise<MessageResult>;
}

export interface ChannelShape {
  name: string;
  /** How long a notice waits for others to share its message. */
  gatherMs: number;
  /** How many notices a message may have. */
  maxNotices: number;
  /** No send takes longer. */
  longestSendMs: number;
  /** What it is for; all there is unless told. */
  tells?: readonly NoticeTopic[];
}

export interface Message {
  /** The same at every try. */
  id: string;
  /** When the first of its notices was added: the same at every try too. */
  createdAt: string;
  /** None in a trial of the channel. */
  notices: readonly NewNotice[];
}

/**
 * `deferred`: it did not arrive, and may later without anybody changing anything. `refused`: it was
 * not taken, and will not be until somebody changes something. `gone`: nobody wants it any more.
 */
export type MessageResult =
  /** With a failure where it was for several, and some of them did not get it. */
  | { outcome: 'sent'; failure?: string }
  | {
      outcome: 'deferred' | 'refused' | 'gone';
      /** A code and where it came up: nothing that another system wrote. */
      failure: string;
      /** How long it asked to be left alone. */
      retryAfterMs?: number | undefined;
    };
