import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { listInstances, lockInstances } from '../db/instance-store.ts';
import { readSetting, writeSetting } from '../db/setting-store.ts';
import { AppError } from '../domain/errors.ts';
import { isInstanceRunning } from '../domain/instance.ts';
import type { Clock } from '../lib/clock.ts';
import { pageSealedValues, replaceSealedValue, type SealedColumn, sealedColumns } from './sealed-value-store.ts';
import { createSecretBox, type SecretBox } from './secret-box.ts';
import { wrongKey } from './secret-key.ts';

interface RotateDeps {
  database: Database;
  oldKey: Uint8Array;
  newKey: Uint8Array;
  /** False if another process holds the lock of a SQLite database. */
  isAlone: boolean;
  clock: Clock;
  signal: AbortSignal;
  onProgress(progress: Progress): void;
}

export interface Progress {
  /** The column that is being sealed again, as `table.column`. */
  column: string;
  /** How many of its values were read so far. */
  seen: number;
}

export interface RotatedKey {
  /** How many values were sealed with the new key. */
  resealed: number;
  /** How many values the old key does not open. They stay as they are. */
  unopened: number;
}

interface Boxes {
  old: SecretBox;
  next: SecretBox;
}

const chunkSize = 50;

/**
 * Seals everything with the new key, in one transaction: after a crash the database opens with the old key alone. If it
 * opens with the new key already, nothing is done.
 *
 * @throws AppError `conflict` while another process uses the database, or if it opens with neither key
 */
export async function rotateKey(deps: RotateDeps): Promise<RotatedKey> {
  const { database } = deps;
  const boxes = { old: createSecretBox(deps.oldKey), next: createSecretBox(deps.newKey) };
  return await inTransaction(
    database,
    async (tx) => {
      await lockInstances(tx, database.dialect);
      await refuseOthers(deps, tx);
      const rotated = { resealed: 0, unopened: 0 };
      const known = await readSetting(tx, 'key_fingerprint');
      if (known === boxes.next.fingerprint) return rotated;
      if (known !== undefined && known !== boxes.old.fingerprint) throw wrongKey(known, boxes.old.fingerprint);
      for (const column of sealedColumns) await resealColumn(deps, tx, column, boxes, rotated);
      await writeSetting(tx, 'key_fingerprint', boxes.next.fingerprint);
      return rotated;
    },
    { isDurable: true },
  );
}

async function refuseOthers({ isAlone, clock }: RotateDeps, tx: Transaction): Promise<void> {
  const running = (await listInstances(tx)).filter((instance) => isInstanceRunning(instance, clock.now()));
  if (running.length === 0 && isAlone) return;
  const names = running.map(({ name }) => name).join(', ');
  const says =
    names === ''
      ? 'Another gangway process uses the database: wait until it has ended'
      : `Gangway is running (${names}): stop it`;
  throw new AppError(
    'conflict',
    `${says}, then run this again (an instance that was killed counts as running for half a minute)`,
  );
}

async function resealColumn(
  { signal, onProgress }: RotateDeps,
  tx: Transaction,
  column: SealedColumn,
  { old, next }: Boxes,
  rotated: RotatedKey,
): Promise<void> {
  let seen = 0;
  for (let after: readonly (string | number)[] | null = null; ; ) {
    signal.throwIfAborted();
    const page = await pageSealedValues(tx, column, after, chunkSize);
    for (const value of page) {
      const plain = tryOpen(old, value);
      if (plain === undefined) {
        rotated.unopened += 1;
        continue;
      }
      const digest = column.digest && next.digest(column.digest.textOf(plain));
      await replaceSealedValue(tx, column, value.key, { sealed: next.seal(plain, value.context), digest });
      rotated.resealed += 1;
    }
    seen += page.length;
    onProgress({ column: `${column.table}.${column.column}`, seen });
    if (page.length < chunkSize) return;
    after = page.at(-1)?.key ?? null;
  }
}

/** A value that cannot be opened was broken before, and must not stop the rotation. */
function tryOpen(box: SecretBox, { sealed, context }: { sealed: Buffer; context: string }): Buffer | undefined {
  try {
    return box.open(sealed, context);
  } catch {
    return undefined;
  }
}
