import { isLoopback } from '../lib/loopback.ts';
import type { MailServer } from '../lib/mail-server.ts';

/**
 * This folder tells people by mail how they get in. It mails nobody who is to be out by now, keeps
 * what it mails no longer than until the mail server has it, and never logs an address or a link.
 */

export interface Mail {
  /** An address, or `Name <address>`. */
  from: string;
  replyTo?: string | undefined;
  /** An address alone, or some. */
  to: string | readonly string[];
  subject: string;
  /** Plain text. */
  text: string;
  /** The same whenever the same mail is handed in again. */
  messageId: string;
  date: Date;
}

/**
 * `sent`: the server has it. `refused`: it will never take this mail. `deferred`: not now.
 * `unusable`: it takes nothing from us, or cannot be reached.
 */
export type Sent =
  /** `refused`: how many of several addresses it did not take. */
  | { outcome: 'sent'; refused?: number }
  /** `failure` is a code and where it came up: no address and nothing that the server wrote. */
  | { outcome: 'refused' | 'deferred' | 'unusable'; failure: string };

/** Hands one mail in. Never throws; where it was aborted, nobody knows whether it was handed in. */
export type SendMail = (mail: Mail, signal: AbortSignal) => Promise<Sent>;

/** Each for a step of its own; `longestSendMs` is the whole. */
const timeouts = { dnsTimeout: 10_000, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };
export const longestSendMs = 30_000;

export function createSendMail({ host, port, isEncrypted, login }: MailServer): SendMail {
  const isHere = isLoopback(host);
  let opening: ReturnType<typeof openTransport> | undefined;

  /** Loaded with the first mail: most who have no mail to send never need it. */
  async function openTransport() {
    const { createTransport } = await import('nodemailer');
    return createTransport({
      host,
      port,
      ...timeouts,
      secure: isEncrypted,
      ...(isHere && !isEncrypted ? { ignoreTLS: true } : { requireTLS: true }),
      ...(login !== null && { auth: { user: login.user, pass: login.password } }),
      disableFileAccess: true,
      disableUrlAccess: true,
      logger: false,
    });
  }

  return async ({ to, ...mail }, signal) => {
    try {
      opening ??= openTransport();
      const transport = await opening;
      const { rejected } = await transport.sendMail({
        ...mail,
        // As an object it is not searched for further addresses.
        to: [to].flat().map((address) => ({ name: '', address })),
        headers: { 'Auto-Submitted': 'auto-generated' },
        xMailer: false,
        disableFileAccess: true,
        disableUrlAccess: true,
        signal: AbortSignal.any([signal, AbortSignal.timeout(longestSendMs)]),
      });
      return { outcome: 'sent', ...(rejected.length > 0 && { refused: rejected.length }) };
    } catch (error) {
      return toUnsent(error as SmtpError);
    }
  };
}

interface SmtpError {
  /** Of nodemailer: EENVELOPE, EAUTH … */
  code?: string;
  command?: string;
  responseCode?: number;
  /** What the server wrote, which may quote the address. */
  response?: string;
}

function toUnsent({ code = 'EUNKNOWN', command = '', responseCode, response }: SmtpError): Sent {
  if (responseCode === undefined) {
    // An envelope that is not even sent is at fault itself.
    return { outcome: code === 'EENVELOPE' ? 'refused' : 'unusable', failure: code };
  }
  const detail = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response ?? '')?.[1];
  const failure = [responseCode, detail, 'at', command || code].filter(Boolean).join(' ');
  const isAboutIt = command === 'RCPT TO' || command === 'DATA';
  if (!isAboutIt) return { outcome: 'unusable', failure };
  return { outcome: responseCode >= 500 ? 'refused' : 'deferred', failure };
}
