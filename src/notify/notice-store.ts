import type { Transaction } from '../db/database.ts';
import type { AlertNotice, BudgetNotice, NoticeTopic } from '../domain/notice.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { ChannelShape } from './channel.ts';

/** The SQL that adds notices: in the transaction that found them, or not at all. */
export interface NoticeStore {
  /** For each channel that takes budget notices; stores nothing where there is none. */
  add(tx: Transaction, notice: BudgetNotice): Promise<void>;
  /** For each channel that takes alerts, but not for a channel that the alert is about: it could not arrive there. */
  addAlert(tx: Transaction, notice: AlertNotice): Promise<void>;
}

type AddressedChannel = Pick<ChannelShape, 'name' | 'gatherMs'> & Partial<Pick<ChannelShape, 'tells'>>;

export function createNoticeStore(channels: readonly AddressedChannel[], clock: Clock): NoticeStore {
  /** A channel takes all notices unless its configuration names kinds. */
  const channelsFor = (topic: NoticeTopic) =>
    channels.filter(({ tells }) => tells === undefined || tells.includes(topic));

  async function dispatch(tx: Transaction, noticeId: number, addressed: readonly AddressedChannel[]): Promise<void> {
    const createdAt = toInstant(clock.now());
    const dispatches = addressed.map(({ name, gatherMs }) => ({
      noticeId,
      channel: name,
      createdAt,
      nextAttemptAt: instantIn(clock, gatherMs),
    }));
    await tx.insertInto('dispatch').values(dispatches).execute();
  }

  return {
    async add(tx, { kind, install, contractId, occurredAt, isRepeat, budget }) {
      const addressed = channelsFor('budgets');
      if (addressed.length === 0) return;
      const { id } = await tx
        .insertInto('notice')
        .values({ kind, install, contractId, occurredAt, isRepeat, budget: JSON.stringify(budget) })
        .returning('id')
        .executeTakeFirstOrThrow();
      await dispatch(tx, id, addressed);
    },

    async addAlert(tx, { kind, occurredAt, isRepeat, ...alert }) {
      const { about } = alert;
      const addressed = channelsFor('alerts').filter(({ name }) => name !== about['channel']);
      if (addressed.length === 0) return;
      const { id } = await tx
        .insertInto('notice')
        .values({
          kind,
          install: about['install'] ?? '',
          contractId: about['contract'] ?? '',
          occurredAt,
          isRepeat,
          budget: '{}',
          alert: JSON.stringify(alert),
        })
        .returning('id')
        .executeTakeFirstOrThrow();
      await dispatch(tx, id, addressed);
    },
  };
}
