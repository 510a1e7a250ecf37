import type { NoticeTopic } from '../domain/notice.ts';
import type { Clock } from '../lib/clock.ts';
import type { SendMail } from '../mail/send-mail.ts';
import type { Channel } from './channel.ts';
import { createMailChannel, type MailSender, type MailSettings } from './mail-channel.ts';
import { createSlackChannel, type SlackSettings } from './slack-channel.ts';
import { createWebhookChannel, type WebhookSettings } from './webhook-channel.ts';

export type ChannelSettings = (WebhookSettings | SlackSettings | MailSettings) & {
  tells: readonly NoticeTopic[];
};

export interface ChannelsDeps {
  /** By name, as configured. */
  channels: ReadonlyMap<string, ChannelSettings>;
  /** Undefined where no mail is configured: then no channel is of that type. */
  mail: { sender: MailSender; send: SendMail } | undefined;
  clock: Clock;
}

export function createChannels({ channels, mail, clock }: ChannelsDeps): Channel[] {
  const create = (name: string, settings: ChannelSettings): Channel | undefined => {
    if (settings.type === 'webhook') return createWebhookChannel(name, settings, clock);
    if (settings.type === 'slack') return createSlackChannel(name, settings);
    return mail && createMailChannel(name, settings, mail.sender, mail.send);
  };
  return [...channels].flatMap(([name, settings]) => {
    const channel = create(name, settings);
    return channel === undefined ? [] : [{ ...channel, tells: settings.tells }];
  });
}
