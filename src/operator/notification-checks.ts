import type { Config } from '../config/config-schema.ts';
import { type Check, ok } from './doctor-checks.ts';

type Notifications = Config['notifications'];
type Channel = Notifications['channels'] extends Map<string, infer Value> ? Value : never;

const hourMs = 3_600_000;

/** The channels as configured; nothing is sent. */
export function checkChannels({ channels, repeatMs }: Notifications): Check[] {
  if (channels.size === 0) return [];
  const says = `channels: ${channels.size}; a budget that stays as it is gets another notice after ${repeatMs / hourMs} h`;
  return [ok('notifications', says), ...[...channels].map(([name, channel]) => ok(`channel ${name}`, say(channel)))];
}

/** Only the host of a URL: the rest may be a secret that allows to post there. */
function say(channel: Channel): string {
  const how = 'is well-formed; "gangway notifications test" sends something';
  if (channel.type === 'mail') return `mail to ${channel.to.length} by mail.smtp ${how}`;
  return `${channel.type} at ${new URL(channel.url).host} ${how}`;
}
