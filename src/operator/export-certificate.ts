import type { By } from '../db/audit-store.ts';
import type { Database } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { AccessHistory } from '../journal/access-history.ts';
import { writeCertificate } from '../journal/certificate.ts';
import type { InstallReading, Period } from '../journal/install-reading.ts';
import { createJournalStore } from '../journal/journal-store.ts';
import type { SigningKey } from '../journal/signing-key.ts';

/** What a certificate says, for the one who asked for it. */
export interface ExportedCertificate extends Period {
  accesses: number;
  /** Those that were read only in part are not certified. */
  installs: InstallReading[];
  publicKey: string;
}

/**
 * Writes an access certificate line by line.
 *
 * @param asked without a beginning from the begin of the journal on, without an end until now
 * @throws AppError `invalid` for a period that lies before the journal or in the future
 */
export async function exportCertificate(
  { database, key, by: { actor, at } }: { database: Database; key: SigningKey; by: Pick<By, 'actor' | 'at'> },
  asked: Partial<Period>,
  write: (lines: AsyncIterable<string>) => Promise<void>,
): Promise<ExportedCertificate> {
  const journal = createJournalStore(database);
  const since = await journal.since();
  const { from = since, to = at } = asked;
  if (from > to) throw new AppError('invalid', 'The period must begin before it ends');
  if (to > at) throw new AppError('invalid', 'The period ends in the future: only what has been can be certified');
  if (from < since) {
    throw new AppError('invalid', `The evidence journal begins at ${since}: nothing is certified of before`);
  }
  await journal.sealAll();
  const head = { type: 'certificate', format: 1, from, to, madeAt: at, madeBy: actor } as const;
  let history: AccessHistory | undefined;
  await write(
    writeCertificate(journal, head, key, (stated) => {
      history = stated;
    }),
  );
  const { stretches = [], installs = [] } = history ?? {};
  return { from, to, accesses: stretches.length, installs, publicKey: key.publicKey };
}
