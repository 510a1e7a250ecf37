import { describe, expect, it } from 'vitest';
import { faultsOf as faultsIn, loadWritten } from './workspace.ts';

const secret = `whsec_${Buffer.alloc(32, 'key').toString('base64')}`;
const chatUrl = 'https://hooks.slack.com/services/T0/B0/key';
const env = { HOOK_SECRET: secret, CHAT_URL: chatUrl, SMTP_URL: 'smtps://smtp.example.com' };
const mail = { smtp: { env: 'SMTP_URL' }, from: 'studio@example.com' };
const billing = { type: 'webhook', url: 'https://billing.example.com/in/?x=1', secret: { env: 'HOOK_SECRET' } };

function load(notifications: object, more: object = {}) {
  return loadWritten({ notifications, ...more }, env);
}

function faultsOf(channel: unknown, more: object = {}): string[] {
  const faults = faultsIn(() => load({ channels: { ops: channel } }, more));
  return faults.map((fault) => fault.replace('notifications.channels.', ''));
}

describe('the section notifications', () => {
  it('becomes channels by name, with their secrets', () => {
    const channels = {
      billing,
      chat: { type: 'slack', url: { env: 'CHAT_URL' } },
      ops: { type: 'mail', to: ['ops@example.com'], tells: ['alerts'] },
    };
    const { config, warnings } = load({ repeat: '2d', channels }, { mail });
    const tells = ['budgets', 'alerts'];
    expect(config.notifications).toEqual({
      repeatMs: 2 * 86_400_000,
      channels: new Map<string, object>([
        ['billing', { ...billing, secret, tells }],
        ['chat', { type: 'slack', url: chatUrl, tells }],
        ['ops', { type: 'mail', to: ['ops@example.com'], tells: ['alerts'] }],
      ]),
    });
    expect(warnings).toEqual([]);
  });

  it('warns about secrets that are written out, and about plain http', () => {
    const { warnings } = load({
      channels: {
        billing: { ...billing, url: 'http://billing.example.com', secret },
        chat: { type: 'slack', url: 'http://chat.example.com/hooks/key' },
        here: { ...billing, url: 'http://localhost:8080/in' },
      },
    });
    const written = 'the secret is written out; {"env": "NAME"} or {"file": "path"} keeps it out of the file';
    const plain = 'over plain http what is sent can be read on the way';
    expect(warnings).toEqual([
      `notifications.channels.billing.secret: ${written}`,
      `notifications.channels.chat.url: ${written}`,
      `notifications.channels.billing.url: ${plain}`,
      `notifications.channels.chat.url: ${plain}`,
    ]);
  });

  const noUrl = 'ops.url: write an http(s) URL without credentials and fragment';
  const noSecret =
    'ops.secret: write "whsec_" and 24 to 64 bytes in base64: make one with: echo "whsec_$(openssl rand -base64 32)"';
  const noType = 'ops.type: must have a type: "webhook", "slack" or "mail"';
  const inBase64 = (bytes: number) => Buffer.alloc(bytes, 1).toString('base64');

  it.each([
    [{}, [noType]],
    [{ type: 'sms' }, [noType]],
    [{ ...billing, url: 'ftp://billing.example.com' }, [noUrl]],
    [{ ...billing, url: 'https://user:password@billing.example.com' }, [noUrl]],
    [{ ...billing, url: 'https://billing.example.com/#here' }, [noUrl]],
    [{ ...billing, url: 'https://billing.example.com/a b' }, [noUrl]],
    [{ ...billing, secret: 'secret' }, [noSecret]],
    [{ ...billing, secret: `whsec_${inBase64(23)}` }, [noSecret]],
    [{ ...billing, secret: `whsec_${inBase64(65)}` }, [noSecret]],
    [{ ...billing, secret: `whsec_${inBase64(32)}x` }, [noSecret]],
    [{ ...billing, secret: `whsec_${inBase64(32)}` }, []],
    [{ ...billing, secrets: [] }, ['ops.secrets: unknown key (did you mean "secret"?)']],
    [
      { type: 'slack' },
      [
        'ops.url: is missing. The URL of the incoming webhook. It is a secret, because it gives the right to write there.',
      ],
    ],
    [{ type: 'slack', url: { env: 'NONE' } }, ['ops.url: the variable NONE is not set']],
    [{ type: { env: 'CHAT_URL' } }, [noType]],
  ])('says what is wrong with %j', (channel, faults) => {
    expect(faultsOf(channel)).toEqual(faults);
  });

  it.each([
    [[], ['ops.to: name at least one']],
    [['ops'], ['ops.to[0]: write an address: "ops@example.com"']],
    [['Ops <ops@example.com>'], ['ops.to[0]: write an address: "ops@example.com"']],
    [['a@example.com, b@example.com'], ['ops.to[0]: write an address: "ops@example.com"']],
  ])('requires addresses for mail: %j', (to, faults) => {
    expect(faultsOf({ type: 'mail', to }, { mail })).toEqual(faults);
  });

  it('requires a mail server for a mail channel', () => {
    expect(faultsOf({ type: 'mail', to: ['ops@example.com'] })).toEqual([
      'ops: needs the section "mail": the server that sends mail, and the sender',
    ]);
  });

  it('never quotes a secret', () => {
    const said = faultsOf({ ...billing, secret: 'whsec_much-too-secret', url: 'x:very-secret' });
    expect(said).toHaveLength(2);
    expect(said.join()).not.toMatch(/much-too|very-secret/);
  });
});
