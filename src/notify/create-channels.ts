import type { Config } from '../config/config-schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Channel } from './channel.ts';
import { createMailChannel } from './mail-channel.ts';
import { createSendMail } from './send-mail.ts';
import { createSlackChannel } from './slack-channel.ts';
import { createWebhookChannel } from './webhook-channel.ts';

/** The channels of a configuration. Creating them sends nothing. */
export function createChannels({ notifications, mail }: Config, clock: Clock): Channel[] {
  const send = mail && createSendMail(mail.smtp);
  return [...notifications.channels].flatMap(([name, settings]) => {
    if (settings.type === 'webhook') return createWebhookChannel(name, settings, clock);
    if (settings.type === 'slack') return createSlackChannel(name, settings);
    // Where no mail is configured, no channel is of this type.
    return mail && send ? createMailChannel(name, settings, mail, send) : [];
  });
}
