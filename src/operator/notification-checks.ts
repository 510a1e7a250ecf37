import type { Config } from '../config/config-schema.ts';
import { type Check, ok } from './doctor-checks.ts';

type Notifications = Config['notifications'];
type Channel = Notifications['channels'] extends Map<string, infer Value> ? Value : never;

const hourMs = 3_600_000;

/** Where people are told, as configured: nothing is sent. */
export function checkChannels({ channels, repeatMs }: Notifications): Check[] {
  if (channels.size === 0) return [];
  const says = `channels: ${channels.size}; a budget that stays as it is, is told of again after ${repeatMs / hourMs} h`;
  return [ok('notifications', says), ...[...channels].map(([name, channel]) => ok(`channel ${name}`, say(channel)))];
}

/** Of a URL only the host: the rest may be what lets somebody write there. */
function say(channel: Channel): string {
  const how = 'is well-formed; "gangway notifications test" sends something';
  if (channel.type === 'mail') return `mail to ${channel.to.length} by mail.smtp ${how}`;
  return `${channel.type} at ${new URL(channel.url).host} ${how}`;
}
