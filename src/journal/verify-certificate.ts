import { createHash } from 'node:crypto';
import { addRow, historyOf, type KnownByRows, nothingKnown } from './access-history.ts';
import { type CertificateEnd, type CertificateHead, statementsOf } from './certificate.ts';
import { CertificateLine } from './certificate-schema.ts';
import { type ChainHead, emptyChain, faultOf } from './chain.ts';
import { isSignedBy } from './signing-key.ts';

export interface CertificateVerdict {
  /** What is wrong, with the number of the line; at most 20. Empty for a certificate that is as it was signed. */
  faults: string[];
  /** What it is about, as far as that can be read. */
  head: CertificateHead | undefined;
  rows: number;
  /** Who signed it, in base64. */
  publicKey: string | undefined;
  /** The installs that it does not certify. */
  uncertified: string[];
}

const mostFaults = 20;

/** What was read of a certificate up to a line. */
interface Reading extends CertificateVerdict {
  line: number;
  chain: ChainHead;
  known: KnownByRows;
  digest: ReturnType<typeof createHash>;
  /** What must follow; undefined while rows come. */
  expected: string[] | undefined;
  end: CertificateEnd | undefined;
}

/**
 * Checks a certificate by itself: each row against the one before it, each statement against the rows, the signature
 * against the whole.
 *
 * @param lines without their ends
 * @param signer the public key that must have signed it, in base64; any if undefined
 */
export async function verifyCertificate(
  lines: AsyncIterable<string> | Iterable<string>,
  signer?: string,
): Promise<CertificateVerdict> {
  const reading: Reading = {
    faults: [],
    head: undefined,
    rows: 0,
    publicKey: undefined,
    uncertified: [],
    line: 0,
    chain: emptyChain,
    known: nothingKnown(),
    digest: createHash('sha256'),
    expected: undefined,
    end: undefined,
  };
  for await (const text of lines) {
    reading.line += 1;
    const fault = readLine(reading, text);
    if (fault !== null) reading.faults.push(`line ${reading.line}: ${fault}`);
    if (reading.faults.length >= mostFaults) break;
  }
  const fault = faultOfEnd(reading, signer);
  if (fault !== null && reading.faults.length < mostFaults) reading.faults.push(fault);
  const { faults, head, rows, publicKey, uncertified } = reading;
  return { faults, head, rows, publicKey, uncertified };
}

/** @returns what is wrong with the line */
function readLine(reading: Reading, text: string): string | null {
  if (reading.end !== undefined) return 'nothing may follow the signature';
  const line = parseLine(text);
  if (line?.type !== 'end') reading.digest.update(`${text}\n`);
  if (line === undefined) return 'this is no line of a certificate';
  if ((line.type === 'certificate') !== (reading.line === 1)) return 'a certificate begins with its head, and has one';
  switch (line.type) {
    case 'certificate':
      reading.head = line;
      return null;
    case 'row':
      return readRow(reading, line);
    case 'end':
      reading.end = line;
      reading.publicKey = line.publicKey;
      return (expectedOf(reading)?.length ?? 0) === 0 ? null : 'statements that follow from the rows are missing';
    default:
      return readStatement(reading, text);
  }
}

function parseLine(text: string): CertificateLine | undefined {
  try {
    return CertificateLine.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function readRow(reading: Reading, row: Extract<CertificateLine, { type: 'row' }>): string | null {
  if (reading.expected !== undefined) return 'a row stands behind the statements';
  const fault = faultOf(reading.chain, row);
  reading.chain = row;
  reading.rows += 1;
  if (fault !== null) return fault;
  try {
    addRow(reading.known, row);
    return null;
  } catch {
    return `row ${row.seq} cannot be read`;
  }
}

/** The statements that follow from the rows and have not come yet; undefined where the rows are not right. */
function expectedOf(reading: Reading): string[] | undefined {
  if (reading.head === undefined || reading.faults.length > 0) return undefined;
  if (reading.expected === undefined) {
    const history = historyOf(reading.known, reading.head);
    reading.expected = [...statementsOf(history)].map((statement) => JSON.stringify(statement));
    reading.uncertified = history.installs.flatMap(({ install, isCertified }) => (isCertified ? [] : [install]));
  }
  return reading.expected;
}

function readStatement(reading: Reading, text: string): string | null {
  const expected = expectedOf(reading);
  return expected === undefined || expected.shift() === text ? null : 'this does not follow from the rows';
}

function faultOfEnd({ end, digest, rows }: Reading, signer: string | undefined): string | null {
  if (end === undefined) return 'it has no signature: it was cut off';
  if (end.rows > rows) return `row ${rows + 1} is missing: it was signed with ${end.rows} rows, and has ${rows}`;
  if (end.rows < rows) return `row ${end.rows + 1} was added: it was signed with ${end.rows} rows, and has ${rows}`;
  if (end.digest !== digest.digest('hex')) return 'it is not what was signed';
  if (!isSignedBy(end.publicKey, end.digest, end.signature)) return 'its signature is wrong';
  if (signer !== undefined && signer !== end.publicKey) return `it was signed by another key: ${end.publicKey}`;
  return null;
}
