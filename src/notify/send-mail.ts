import type { MailServer } from '../config/messages-schema.ts';
import { isLoopback } from '../lib/url.ts';

/**
 * This folder mails trainers how they get in. It mails no trainer who is to be out by now, keeps what it mails only
 * until the mail server has it, and never logs an address or a link.
 */

export interface Mail {
  /** An address, or `Name <address>`. */
  from: string;
  replyTo?: string | undefined;
  /** One address, or several. */
  to: string | readonly string[];
  subject: string;
  /** Plain text. */
  text: string;
  /** The same whenever the same mail is sent again. */
  messageId: string;
  date: Date;
}

/**
 * `sent`: the server has it. `refused`: it will never accept this mail. `deferred`: not now. `unusable`: it accepts
 * nothing from us, or cannot be reached.
 */
export type MailResult =
  /** `refused`: how many of several addresses it did not accept. */
  | { outcome: 'sent'; refused?: number }
  /** `failure` is a code and the step that failed: no address, and no text of the server. */
  | { outcome: 'refused' | 'deferred' | 'unusable'; failure: string };

/** Hands one mail to the server. Never throws. Where it was aborted, it is not known whether the server has it. */
export type SendMail = (mail: Mail, signal: AbortSignal) => Promise<MailResult>;

/** Each for one step; `longestSendMs` is for the whole. */
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
        // An object is not searched for further addresses.
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
  /** Nodemailer's code: EENVELOPE, EAUTH … */
  code?: string;
  command?: string;
  responseCode?: number;
  /** The server's text, which may quote the address. */
  response?: string;
}

function toUnsent({ code = 'EUNKNOWN', command = '', responseCode, response }: SmtpError): MailResult {
  if (responseCode === undefined) {
    // An envelope that is refused before sending is itself at fault.
    return { outcome: code === 'EENVELOPE' ? 'refused' : 'unusable', failure: code };
  }
  const detail = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response ?? '')?.[1];
  const failure = [responseCode, detail, 'at', command || code].filter(Boolean).join(' ');
  const isAboutIt = command === 'RCPT TO' || command === 'DATA';
  if (!isAboutIt) return { outcome: 'unusable', failure };
  return { outcome: responseCode >= 500 ? 'refused' : 'deferred', failure };
}
