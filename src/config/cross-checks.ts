import { suggestNearest } from '../lib/text.ts';
import { isLoopback, isPlainBeyondLoopback } from '../lib/url.ts';
import type { Config } from './config-schema.ts';
import { type ConfigFault, type Document, isDocument } from './document.ts';
import { describeAt } from './json-schema.ts';

/**
 * Checks what one part of a configuration requires of another. It reads the unvalidated document, so that its faults are
 * reported together with those of the schema, and ignores values of a wrong shape.
 */
export function crossFaults(document: Document): ConfigFault[] {
  const tools = new Map(namedIn(document, 'tools'));
  const installs = namedIn(document, 'installs');
  const users = Map.groupBy(installs, ([, install]) => install['tool']);
  const faults = [...portFaults(document), ...consoleFaults(document)];
  for (const [name, install] of installs) {
    const { tool, projects, source } = install;
    for (const key of ['jobs', 'guidelines'].filter((one) => source !== 'employer' && install[one])) {
      const message = 'is only for your own account: write "source": "employer" beside it';
      faults.push({ path: ['installs', name, key], message });
    }
    if (typeof tool !== 'string') continue;
    if (!tools.has(tool)) {
      const message = `no tool has the name "${tool}"${suggestNearest(tool, tools.keys())}`;
      faults.push({ path: ['installs', name, 'tool'], message });
    }
    if (projects === undefined && (users.get(tool)?.length ?? 0) > 1) {
      const message = `is required, because other installs use the tool "${tool}" too: name the projects that are this customer's`;
      faults.push({ path: ['installs', name, 'projects'], message });
    }
  }
  return [...faults, ...channelFaults(document)];
}

/** A mail channel needs a mail server. */
function channelFaults(document: Document): ConfigFault[] {
  if (document['mail'] !== undefined) return [];
  return namedIn(sectionOf(document, 'notifications'), 'channels')
    .filter(([, channel]) => channel['type'] === 'mail')
    .map(([name]) => ({
      path: ['notifications', 'channels', name],
      message: 'needs the section "mail": the server that sends mail, and the sender',
    }));
}

function namedIn(document: Document, section: string): [string, Document][] {
  const entries = Object.entries(sectionOf(document, section));
  return entries.filter((entry): entry is [string, Document] => isDocument(entry[1]));
}

function sectionOf(document: Document, section: string): Document {
  const value = document[section];
  return isDocument(value) ? value : {};
}

function portFaults(document: Document): ConfigFault[] {
  const { port = describeAt(['receiver', 'port'])?.default } = sectionOf(document, 'receiver');
  const { port: other = describeAt(['console', 'port'])?.default } = sectionOf(document, 'console');
  if (port !== other || port === 0) return [];
  return [{ path: ['console', 'port'], message: 'must differ from receiver.port' }];
}

/** The console is only for operators. */
function consoleFaults(document: Document): ConfigFault[] {
  const { host, token } = sectionOf(document, 'console');
  if (typeof host !== 'string' || isLoopback(host) || token !== undefined) return [];
  const message =
    'is required, because console.host opens this listener to the network: make one with "openssl rand -hex 32", or listen on 127.0.0.1';
  return [{ path: ['console', 'token'], message }];
}

/** What is allowed, but probably a mistake. */
export function warningsOf({ receiver, marketplace, mail, notifications }: Config): string[] {
  const isClear = mail !== undefined && !mail.smtp.isEncrypted && !isLoopback(mail.smtp.host);
  const begun = 'smtp:// begins in the clear and is encrypted only then; write smtps:// where the server has it';
  const channels = [...notifications.channels].flatMap(([name, channel]) =>
    channel.type === 'mail'
      ? []
      : exposed(
          `notifications.channels.${name}.url`,
          channel.url,
          'over plain http what is sent can be read on the way',
        ),
  );
  const tokens = 'over plain http the tokens can be read on the way';
  return [
    ...exposed('receiver.publicUrl', receiver.publicUrl, 'the marketplace delivers to https only, except on localhost'),
    ...exposed('marketplace.baseUrl', marketplace.baseUrl, tokens),
    ...exposed('marketplace.employerBaseUrl', marketplace.employerBaseUrl, tokens),
    ...(isClear ? [`mail.smtp: ${begun}`] : []),
    ...channels,
  ];
}

function exposed(key: string, url: string | undefined, warning: string): string[] {
  return url !== undefined && isPlainBeyondLoopback(url) ? [`${key}: ${warning}`] : [];
}
