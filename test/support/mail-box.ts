import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { onTestFinished } from 'vitest';
import type { MailServer } from '../../src/config/messages-schema.ts';

/** A real mail server on loopback that keeps all mails. */
export interface MailBox {
  server: MailServer;
  url: string;
  /** What it has taken, in order. */
  mails: ReceivedMail[];
  /** Closes it for good: no server listens there any more. */
  close(): Promise<void>;
}

export interface ReceivedMail {
  to: string[];
  /** By their names in lower case, decoded. */
  headers: Map<string, string>;
  text: string;
}

export async function openMailBox(
  options: SMTPServerOptions = {},
  { port = 0, isEncrypted = false }: { port?: number; isEncrypted?: boolean } = {},
): Promise<MailBox> {
  const mails: ReceivedMail[] = [];
  const smtp = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    logger: false,
    disabledCommands: isEncrypted ? [] : ['STARTTLS'],
    secure: isEncrypted,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const to = session.envelope.rcptTo.map(({ address }) => address);
        mails.push({ to, ...readMail(Buffer.concat(chunks).toString('utf8')) });
        done();
      });
    },
    ...options,
  });
  // A client that hangs up, or does not trust the certificate.
  smtp.on('error', () => undefined);
  await new Promise<void>((resolve) => void smtp.listen(port, '127.0.0.1', resolve));
  const { port: taken } = smtp.server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= new Promise<void>((resolve) => smtp.close(() => resolve()));
    return closing;
  };
  onTestFinished(close);
  const scheme = isEncrypted ? 'smtps' : 'smtp';
  return {
    server: { host: '127.0.0.1', port: taken, isEncrypted, login: null },
    url: `${scheme}://127.0.0.1:${taken}`,
    mails,
    close,
  };
}

/** What the server answers with a code, as `onRcptTo` and its like have it. */
export function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

/** As much of RFC 5322 and its kin as a mail of one text needs. */
function readMail(raw: string): Pick<ReceivedMail, 'headers' | 'text'> {
  const [head = '', ...rest] = raw.split('\r\n\r\n');
  const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at).toLowerCase(), decodeWords(line.slice(at + 1).trim())];
    }),
  );
  const body = rest.join('\r\n\r\n');
  const encoding = headers.get('content-transfer-encoding');
  return { headers, text: decodeBody(body, encoding).replaceAll('\r\n', '\n') };
}

function decodeBody(body: string, encoding: string | undefined): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8');
  return encoding === 'quoted-printable' ? decodeQuoted(body.replace(/=\r\n/g, '')) : body;
}

function decodeWords(value: string): string {
  return value
    .replace(/\?= =\?/g, '?==?')
    .replace(/=\?utf-8\?([bq])\?(.*?)\?=/gi, (_, kind: string, text: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64').toString('utf8')
        : decodeQuoted(text.replaceAll('_', ' ')),
    );
}

function decodeQuoted(text: string): string {
  const bytes = text.replace(/=([\dA-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
