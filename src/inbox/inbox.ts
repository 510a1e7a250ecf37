import type { Appended, NewDelivery } from '../domain/delivery.ts';
import { createGroupCommit } from './group-commit.ts';

/**
 * The inbox promises that what it said it has is there after a crash or a power cut. It stores
 * deliveries byte for byte, once each, and acts on nothing that they mean.
 */
export interface Inbox {
  /**
   * Resolves when the delivery is committed; until then nothing may be answered.
   *
   * @throws AppError `unavailable` when it could not be stored now
   */
  append(delivery: NewDelivery): Promise<Appended>;
  /** Whether deliveries are being stored right now. */
  isBusy(): boolean;
}

interface InboxOptions {
  append(deliveries: readonly NewDelivery[]): Promise<Appended[]>;
  /** Called after each commit. */
  onAppended(): void;
}

const maxGroupSize = 256;
/** One that is being stored, and one that waits at the door so that storing never pauses. */
const maxUnderway = 2;
const maxWaiting = 10_000;

export function createInbox({ append, onAppended }: InboxOptions): Inbox {
  const group = createGroupCommit<NewDelivery, Appended>({
    async commit(deliveries) {
      const appended = await append(deliveries);
      onAppended();
      return appended;
    },
    maxGroupSize,
    maxUnderway,
    maxWaiting,
  });
  return { append: (delivery) => group.add(delivery), isBusy: group.isBusy };
}
