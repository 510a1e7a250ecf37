import { createHash } from 'node:crypto';
import { type AccessHistory, addRow, historyOf, nothingKnown } from './access-history.ts';
import type { JournalRow } from './chain.ts';
import type { Period } from './install-reading.ts';
import type { JournalStore } from './journal-store.ts';
import type { SigningKey } from './signing-key.ts';

/**
 * An access certificate: lines of JSON. The first says what it is, then every row of the journal up to the end of the
 * period, then what follows from them, and at last the signature over all before it. So one who has the file alone can
 * check each statement (`verify-certificate.ts`).
 */
export interface CertificateHead extends Period {
  type: 'certificate';
  format: 1;
  madeAt: string;
  madeBy: string;
}

export interface CertificateEnd {
  type: 'end';
  rows: number;
  /** SHA-256 over the bytes of all lines before, in hexadecimal. */
  digest: string;
  publicKey: string;
  /** Ed25519 over the digest, in base64. */
  signature: string;
}

const rowsAtOnce = 1000;

/** @param onHistory called with what the certificate states, before its last line */
export async function* writeCertificate(
  journal: Pick<JournalStore, 'list' | 'positionAt'>,
  head: CertificateHead,
  key: SigningKey,
  onHistory: (history: AccessHistory) => void,
): AsyncGenerator<string> {
  const digest = createHash('sha256');
  const toLine = (content: object) => {
    const line = `${JSON.stringify(content)}\n`;
    digest.update(line);
    return line;
  };
  yield toLine(head);
  const known = nothingKnown();
  let rows = 0;
  for await (const row of rowsUntil(journal, await journal.positionAt(head.to))) {
    addRow(known, row);
    rows += 1;
    yield toLine({ type: 'row', ...row });
  }
  const history = historyOf(known, head);
  for (const statement of statementsOf(history)) yield toLine(statement);
  onHistory(history);
  const hex = digest.digest('hex');
  const end: CertificateEnd = {
    type: 'end',
    rows,
    digest: hex,
    publicKey: key.publicKey,
    signature: key.sign(hex),
  };
  yield `${JSON.stringify(end)}\n`;
}

/** What the rows come to, one line each. */
export function* statementsOf({ installs, stretches, acts }: AccessHistory): Generator<object> {
  for (const install of installs) yield { type: 'install', ...install };
  for (const stretch of stretches) yield { type: 'access', ...stretch };
  for (const act of acts) yield { type: 'act', ...act };
}

async function* rowsUntil({ list }: Pick<JournalStore, 'list'>, last: number): AsyncGenerator<JournalRow> {
  let after = 0;
  while (after < last) {
    const rows = await list(after, Math.min(rowsAtOnce, last - after));
    if (rows.length === 0) return;
    yield* rows;
    after = rows.at(-1)?.seq ?? last;
  }
}
