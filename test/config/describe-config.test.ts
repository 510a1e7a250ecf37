import { describe, expect, it } from 'vitest';
import { Config } from '../../src/config/config-schema.ts';
import { describeConfig } from '../../src/config/describe-config.ts';

const secrets = [
  'the-token',
  'the-webhook-secret',
  'the-tool-token',
  'in-the-header',
  'of-the-mail-server',
  'in-the-url',
];

const config = Config.parse({
  receiver: { drain: '90s' },
  removals: { grace: '20m' },
  console: { tokens: { vera: { token: 'vera-may-see-everything', role: 'viewer' } } },
  installs: { acme: { token: 'the-token', webhookSecrets: ['the-webhook-secret'], tool: 'list' } },
  tools: {
    list: { adapter: 'http', token: 'the-tool-token', headers: { own: 'in-the-header' }, protected: ['ann@x.example'] },
  },
  mail: { smtp: 'smtps://user:of-the-mail-server@mail.example:465', from: 'studio@x.example' },
  notifications: { channels: { team: { type: 'slack', url: 'https://chat.example/in-the-url' } } },
});

describe('the description of a configuration', () => {
  const rows = new Map(describeConfig(config).map(({ key, ...row }) => [key, row]));

  it('has every key with its value, its meaning, and whether it is the default', () => {
    expect(rows.get('receiver.drain')).toMatchObject({ value: '90s', isDefault: false });
    expect(rows.get('removals.grace')).toMatchObject({ value: '20m', isDefault: false });
    expect(rows.get('removals.revokedGrace')).toMatchObject({ value: '24h', isDefault: true });
    expect(rows.get('receiver.limits.storedBytes')).toMatchObject({ value: '1GiB', isDefault: true });
    expect(rows.get('marketplace.baseUrl')).toMatchObject({ isDefault: true });
    expect(rows.get('reconcile.schedule')).toMatchObject({ value: '* * * * *', isDefault: true });
    expect(rows.get('tools.list.timeout')).toMatchObject({ value: '15s', isDefault: true });
    expect(rows.get('installs.acme.tool')).toMatchObject({ value: 'list', isDefault: false });
    expect([...rows].filter(([, { says }]) => says === '').map(([key]) => key)).toEqual([]);
  });

  it('has no secret and no full address', () => {
    const text = JSON.stringify([...rows]);
    for (const secret of [...secrets, 'vera-may-see-everything', 'ann@', 'studio@']) expect(text).not.toContain(secret);
    for (const key of ['installs.acme.token', 'tools.list.token', 'tools.list.headers', 'mail.smtp']) {
      expect([key, rows.get(key)?.value]).toEqual([key, 'set, and not shown']);
    }
    expect(rows.get('console.token')?.value).toBe('not set');
  });
});
