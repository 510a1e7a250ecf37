import { describe, expect, it } from 'vitest';
import { openWorld } from './sandbox-harness.ts';

const url = 'https://bridge.example.com/hook';
const eventTypes = ['contract.started', 'contract.ended'];

describe('webhook endpoints', () => {
  it('are created by every request: a repeated request creates a second one', async () => {
    const { api, subscribe } = await openWorld();
    const [first, second] = [await subscribe(url), await subscribe(url)];
    expect(first.id).not.toBe(second.id);
    expect(first.secret).not.toBe(second.secret);
    expect((await api('GET', '/webhook-endpoints')).body.webhookEndpoints).toHaveLength(2);
  });

  it('answer 409 at the limit of the install', async () => {
    const { api, subscribe } = await openWorld({ endpointsPerInstall: 1 });
    const { id } = await subscribe(url);
    const body = { url, eventTypes };
    const refused = await api('POST', '/webhook-endpoints', { body });
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT']);
    await api('DELETE', `/webhook-endpoints/${id}`);
    expect((await api('POST', '/webhook-endpoints', { body })).status).toBe(201);
  });

  const badUrls = [
    'http://bridge.example.com/hook',
    'http://localhost.example.com/hook',
    'http://127.0.0.2/hook',
    'ftp://localhost/hook',
    'bridge.example.com/hook',
    `https://example.com/${'u'.repeat(2048)}`,
    '',
    7,
  ];
  const badTypes = [[], ['contract.paused'], ['contract.started', 'nonsense'], 'contract.started'];

  it.each([...badUrls.map((bad) => ({ url: bad, eventTypes })), ...badTypes.map((bad) => ({ url, eventTypes: bad }))])(
    'refuse %o, when created and when updated',
    async (body) => {
      const { api, subscribe } = await openWorld();
      const { id } = await subscribe(url, eventTypes);
      expect((await api('POST', '/webhook-endpoints', { body })).status).toBe(400);
      expect((await api('PATCH', `/webhook-endpoints/${id}`, { body })).status).toBe(400);
      const { webhookEndpoints } = (await api('GET', '/webhook-endpoints')).body;
      expect(webhookEndpoints).toMatchObject([{ id, url, eventTypes }]);
    },
  );

  it.each([
    'https://bridge.example.com/hook?install=acme',
    'http://localhost:8787/hook',
    'http://127.0.0.1:8787/hook',
    'http://[::1]:8787/hook',
  ])('accept %s', async (accepted) => {
    const { api } = await openWorld();
    const body = { url: accepted, eventTypes };
    expect((await api('POST', '/webhook-endpoints', { body })).status).toBe(201);
  });

  it.each([{ eventTypes }, { url }])('need both a url and event types: %o', async (body) => {
    const { api } = await openWorld();
    expect((await api('POST', '/webhook-endpoints', { body })).status).toBe(400);
  });

  it.each([
    { url: 'https://elsewhere.example.com/' },
    { eventTypes: ['install.revoked'] },
    { status: 'DISABLED' },
    { status: 'ACTIVE' },
    {},
  ])('change by %o in nothing else, and never show the secret', async (body) => {
    const { api, subscribe } = await openWorld();
    const { id } = await subscribe(url, eventTypes);
    const path = `/webhook-endpoints/${id}`;
    const before = (await api('GET', path)).body.webhookEndpoint;
    const { status, body: after } = await api('PATCH', path, { body });
    expect(status).toBe(200);
    const { disabledAt: _, disabledReason: __, ...rest } = after.webhookEndpoint;
    expect({ ...before, ...rest }).toEqual({ ...before, ...body });
    expect(after).toEqual({
      webhookEndpoint: expect.not.objectContaining({ secret: expect.anything() }),
    });
    expect((await api('GET', path)).body).toEqual(after);
  });

  it('refuse an unknown status', async () => {
    const { api, subscribe } = await openWorld();
    const { id } = await subscribe(url);
    const body = { status: 'PAUSED' };
    expect((await api('PATCH', `/webhook-endpoints/${id}`, { body })).status).toBe(400);
  });
});
