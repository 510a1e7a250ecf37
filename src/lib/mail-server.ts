/** The mail server that takes the mail. */
export interface MailServer {
  host: string;
  port: number;
  /** TLS from the first byte. Otherwise STARTTLS, which is required unless the server is on this machine. */
  isEncrypted: boolean;
  /** Null if the server needs none. */
  login: { user: string; password: string } | null;
}

const usualPorts = { encrypted: 465, plain: 587 };

/** @param url `smtps://user:password@host:465` @returns undefined for any other text */
export function toMailServer(url: string): MailServer | undefined {
  if (!/^smtps?:\/\/[^\s/?#]+\/?$/.test(url) || !URL.canParse(url)) return undefined;
  const { protocol, hostname, port, username, password } = new URL(url);
  const isEncrypted = protocol === 'smtps:';
  const [user, secret] = [decode(username), decode(password)];
  if (hostname === '' || user === undefined || secret === undefined) return undefined;
  const usualPort = isEncrypted ? usualPorts.encrypted : usualPorts.plain;
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? usualPort : Number(port),
    isEncrypted,
    login: user === '' ? null : { user, password: secret },
  };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
