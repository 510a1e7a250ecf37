import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { createLockStore } from '../db/lock-store.ts';
import { settleKey } from '../db/setting-store.ts';
import { AppError } from '../domain/errors.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import {
  createSealedValueStore,
  type Renewed,
  type SealedColumn,
  type SealedValue,
  sealedColumns,
} from './sealed-value-store.ts';
import { createSealerStore } from './sealer-store.ts';
import type { SecretBox } from './secret-box.ts';

/**
 * Replaces the key that everything is sealed with, while instances that know both keys run. At every
 * moment each value can be opened with a key that is kept.
 */
export interface RotateDeps {
  database: Database;
  /** Seals with the new key, and opens with the old one too. */
  box: SecretBox;
  clock: Clock;
  signal: AbortSignal;
  onProgress(progress: Progress): void;
}

export interface Progress {
  /** The column that is being resealed, as `table.column`. */
  column: string;
  /** How many of its values were seen so far. */
  seen: number;
}

export interface RotatedKey {
  /** How many values were sealed with the new key. */
  resealed: number;
  /** How many values no key opens. They stay as they are. */
  unopened: number;
}

const chunkSize = 50;
const maxBatchBytes = 1024 * 1024;
/** A pause between two chunks, so that other processes can write. */
const restMs = 5;
const leaseMs = 30_000;

/**
 * Seals everything with the first key of the box, and then makes that the key of the database. It may
 * stop at any point: an instance with both keys can open everything, and the next run skips what is
 * done.
 *
 * @throws AppError `conflict` while an instance runs that seals with another key
 */
export async function rotateKey(deps: RotateDeps): Promise<RotatedKey> {
  const { database, clock } = deps;
  const locks = createLockStore(database);
  const token = randomUUID();
  const name = 'key_rotation';
  const holdLock = async () => {
    const [now, leasedUntil] = [toInstant(clock.now()), instantIn(clock, leaseMs)];
    if (await locks.hold(name, token, now, leasedUntil)) return;
    throw new AppError('conflict', 'The key is being replaced by another process already');
  };

  await holdLock();
  try {
    const rotated = { resealed: 0, unopened: 0 };
    for (const column of sealedColumns) {
      await resealColumn(deps, column, rotated, holdLock);
    }
    await inTransaction(
      database,
      async (tx) => {
        await refuseOthers(deps, tx);
        await settleKey(tx, deps.box.fingerprint);
      },
      { isDurable: true },
    );
    return rotated;
  } finally {
    await locks.release(name, token);
  }
}

async function resealColumn(
  deps: RotateDeps,
  column: SealedColumn,
  rotated: RotatedKey,
  holdLock: () => Promise<void>,
): Promise<void> {
  const { database, signal, onProgress } = deps;
  const values = createSealedValueStore(database);
  let seen = 0;
  for (let after: SealedValue['key'] | null = null; ; ) {
    await holdLock();
    const page: SealedValue[] = await values.page(column, after, chunkSize);
    const { renewed, unopened } = renew(deps.box, column, page);
    for (const batch of toBatches(renewed)) {
      rotated.resealed += await inTransaction(database, async (tx) => {
        await refuseOthers(deps, tx);
        let count = 0;
        for (const [value, seal] of batch) {
          if (await values.replace(tx, column, value, seal)) count += 1;
        }
        return count;
      });
    }
    rotated.unopened += unopened;
    seen += page.length;
    onProgress({ column: `${column.table}.${column.column}`, seen });
    if (page.length < chunkSize) return;
    after = page.at(-1)?.key ?? null;
    await wait(restMs, undefined, { signal });
  }
}

type Renewal = readonly [SealedValue, Renewed];

/** Usually one batch. Bodies may be large, and no transaction should write much. */
function* toBatches(renewed: readonly Renewal[]): Generator<Renewal[]> {
  let batch: Renewal[] = [];
  let bytes = 0;
  for (const renewal of renewed) {
    const [, { sealed }] = renewal;
    if (batch.length > 0 && bytes + sealed.length > maxBatchBytes) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(renewal);
    bytes += sealed.length;
  }
  yield batch;
}

function renew(box: SecretBox, { digest }: SealedColumn, page: SealedValue[]) {
  const renewed: Renewal[] = [];
  let unopened = 0;
  for (const value of page.filter(({ sealed }) => !box.isCurrent(sealed))) {
    const plain = tryOpen(box, value);
    if (plain === undefined) {
      unopened += 1;
      continue;
    }
    const sealed = box.seal(plain, value.context);
    renewed.push([value, digest ? { sealed, digest: box.digest(digest.textOf(plain)) } : { sealed }]);
  }
  return { renewed, unopened };
}

/** A value that cannot be opened was broken before, and must not stop the rotation. */
function tryOpen(box: SecretBox, { sealed, context }: SealedValue): Buffer | undefined {
  try {
    return box.open(sealed, context);
  } catch {
    return undefined;
  }
}

async function refuseOthers({ database, box, clock }: RotateDeps, tx: Transaction): Promise<void> {
  const now = toInstant(clock.now());
  const [other] = await createSealerStore(database).listOthers(tx, box.fingerprint, now);
  if (other === undefined) return;
  throw new AppError(
    'conflict',
    `A running Gangway still seals with another key (fingerprint ${other}): restart it so that it has both, then run this again (one that was killed is forgotten after half a minute)`,
  );
}
