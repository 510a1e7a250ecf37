import type { Appended, NewDelivery } from '../domain/delivery.ts';
import { createGroupCommit } from './group-commit.ts';

/**
 * The inbox keeps every delivery that it has confirmed, also after a crash or a power cut. It stores
 * deliveries byte for byte, once each, and does not act on their meaning.
 */
export interface Inbox {
  /**
   * Resolves when the delivery is committed. The request must not be answered before.
   *
   * @throws AppError `unavailable` if it cannot be stored now
   */
  append(delivery: NewDelivery): Promise<Appended>;
  /** Whether many deliveries are being stored right now. */
  isBusy(): boolean;
}

interface InboxOptions {
  append(deliveries: readonly NewDelivery[]): Promise<Appended[]>;
  /** Called after each commit. */
  onAppended(): void;
}

const maxGroupSize = 256;
/** One that is being stored, and one that is ready to follow, so that storing never pauses. */
const maxUnderway = 2;
const maxWaiting = 10_000;
/** A few at a time are no flood: each waits for the disk, and the thread is free meanwhile. */
const busyFrom = 16;

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
  return { append: (delivery) => group.add(delivery), isBusy: () => group.count() >= busyFrom };
}
