import type { MailServer } from '../config/messages-schema.ts';
import { isLoopback } from '../lib/url.ts';

export interface Mail {
  /** An address, or `Name <address>`. */
  from: string;
  replyTo?: string | undefined;
  to: string | readonly string[];
  subject: string;
  /** Plain text. */
  text: string;
  /** The same when the mail is sent again. */
  messageId: string;
  date: Date;
}

/**
 * `sent`: the server accepted the mail. `refused`: it will never accept it. `deferred`: it may accept it later.
 * `unusable`: the server cannot be reached, or accepts no mail from Gangway.
 */
export type MailResult =
  /** `refused`: how many of several addresses the server did not accept. */
  | { outcome: 'sent'; refused?: number }
  /** `failure` is a code and the step that failed. It contains no address, and no text of the server. */
  | { outcome: 'refused' | 'deferred' | 'unusable'; failure: string };

/** Hands one mail to the server. Never throws. If it was aborted, the server may have accepted the mail. */
export type SendMail = (mail: Mail, signal: AbortSignal) => Promise<MailResult>;

/** Time-outs of single steps. `longestSendMs` covers all of them. */
const timeouts = { dnsTimeout: 10_000, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };
export const longestSendMs = 30_000;

export function createSendMail({ host, port, isEncrypted, login }: MailServer): SendMail {
  const isHere = isLoopback(host);
  let opening: ReturnType<typeof openTransport> | undefined;

  /** Loaded with the first mail, because most instances send none. */
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
    // The envelope was refused before anything was sent, so this mail is at fault.
    return { outcome: code === 'EENVELOPE' ? 'refused' : 'unusable', failure: code };
  }
  const detail = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response ?? '')?.[1];
  const failure = [responseCode, detail, 'at', command || code].filter(Boolean).join(' ');
  const isAboutMail = command === 'RCPT TO' || command === 'DATA';
  if (!isAboutMail) return { outcome: 'unusable', failure };
  return { outcome: responseCode >= 500 ? 'refused' : 'deferred', failure };
}
