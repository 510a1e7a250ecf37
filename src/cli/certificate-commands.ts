import { open } from 'node:fs/promises';
import { AppError } from '../domain/errors.ts';
import type { InstallReading } from '../journal/install-reading.ts';
import { createSigningKey } from '../journal/signing-key.ts';
import { type CertificateVerdict, verifyCertificate } from '../journal/verify-certificate.ts';
import { type ExportedCertificate, exportCertificate } from '../operator/export-certificate.ts';
import type { Printed } from './define-command.ts';
import type { StorageSession } from './session.ts';
import { decidedBy } from './with-storage.ts';

/** `gangway audit export` and `gangway audit verify`: who could get into which project when, signed. */

export interface Export {
  file: string;
  from: string | undefined;
  to: string | undefined;
}

export async function runAuditExport({ file, from, to }: Export, session: StorageSession): Promise<Printed> {
  const { database, secretKey } = session.storage;
  const deps = { database, key: createSigningKey(secretKey), by: decidedBy() };
  const asked = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  return printExported(file, await exportCertificate(deps, asked, (lines) => writeNew(file, lines)));
}

export function printExported(file: string, exported: ExportedCertificate): Printed {
  const { from, to, accesses, installs, publicKey } = exported;
  const uncertified = installs.filter(({ isCertified }) => !isCertified);
  return {
    data: { from, to, file, accesses, installs, publicKey },
    text: () =>
      [
        `${file}: ${accesses} accesses between ${from} and ${to}.`,
        `Whoever checks it needs the public key, from you and not with the file: ${publicKey}`,
      ].join('\n'),
    problems: uncertified.map(sayUncertified),
    status: uncertified.length > 0 ? 1 : 0,
  };
}

function sayUncertified({ install, unread }: InstallReading): string {
  const times = unread.map(({ from, until, why }) => `${from} to ${until} (${why.replace('_', ' ')})`);
  return `${install} is not certified, as it was read only in part: ${times.join(', ')}`;
}

/** A file of that name stays as it is. */
export async function writeNew(file: string, lines: AsyncIterable<string> | Iterable<string>): Promise<void> {
  try {
    const handle = await open(file, 'wx', 0o600);
    try {
      for await (const line of lines) await handle.write(line);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    const reason = (error as NodeJS.ErrnoException).code === 'EEXIST' ? 'there is one already' : 'it cannot be written';
    throw new AppError('invalid', `${file}: ${reason}`, { cause: error });
  }
}

interface Verify {
  file: string;
  key: string | undefined;
}

export async function runAuditVerify({ file, key }: Verify): Promise<Printed> {
  const verdict = await readCertificate(file, key);
  const { faults, head, publicKey, uncertified } = verdict;
  return {
    data: verdict,
    text: () => (faults.length > 0 || head === undefined ? `${file} is not to be believed.` : sayGood(verdict, key)),
    problems: [
      ...faults,
      ...(faults.length === 0 && key === undefined
        ? [`whose key signed it is not checked: pass it with --key, if it is ${publicKey}`]
        : []),
      ...uncertified.map((install) => `it does not certify ${install}, which was read only in part`),
    ],
    status: faults.length > 0 ? 1 : 0,
  };
}

function sayGood({ head, rows }: CertificateVerdict, key: string | undefined): string {
  const by = key === undefined ? '' : ', by the key that you passed';
  return `It is as it was signed${by}: from ${head?.from} to ${head?.to}, ${rows} rows, made at ${head?.madeAt} by ${head?.madeBy}.`;
}

async function readCertificate(file: string, key: string | undefined): Promise<CertificateVerdict> {
  const handle = await open(file).catch((error: unknown) => {
    throw new AppError('not_found', `${file} cannot be read`, { cause: error });
  });
  try {
    return await verifyCertificate(handle.readLines({ encoding: 'utf8' }), key);
  } finally {
    await handle.close();
  }
}
