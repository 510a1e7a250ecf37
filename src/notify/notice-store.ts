import type { Transaction } from '../db/database.ts';
import type { NewNotice } from '../domain/notice.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { ChannelShape } from './channel.ts';

/** The SQL of adding notices: with the transaction that found them, or not at all. */
export interface NoticeStore {
  /** For each configured channel; where there is none, nothing is stored. */
  add(tx: Transaction, notice: NewNotice): Promise<void>;
}

export function createNoticeStore(
  channels: readonly Pick<ChannelShape, 'name' | 'gatherMs'>[],
  clock: Clock,
): NoticeStore {
  return {
    async add(tx, { kind, install, contractId, occurredAt, isRepeat, budget }) {
      if (channels.length === 0) return;
      const { id } = await tx
        .insertInto('notice')
        .values({
          ...{ kind, install, contractId, occurredAt, isRepeat: isRepeat ? 1 : 0 },
          budget: JSON.stringify(budget),
        })
        .returning('id')
        .executeTakeFirstOrThrow();
      const createdAt = toInstant(clock.now());
      const dispatches = channels.map(({ name, gatherMs }) => ({
        ...{ noticeId: id, channel: name, createdAt },
        nextAttemptAt: instantIn(clock, gatherMs),
      }));
      await tx.insertInto('dispatch').values(dispatches).execute();
    },
  };
}
