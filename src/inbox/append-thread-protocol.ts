import type { Appended, NewDelivery } from '../domain/delivery.ts';
import type { ErrorCode } from '../domain/errors.ts';

/** What passes between the inbox and the thread that stores for it: one request, one reply. */
export interface AppendThreadData {
  url: string;
  key: Uint8Array;
}

export type AppendRequest = readonly NewDelivery[] | 'close';

export type AppendReply = { appended: Appended[] } | { code: ErrorCode; message: string };
