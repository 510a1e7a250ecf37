import { describe, expect, it } from 'vitest';
import { createPlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import type { Source } from '../../src/marketplace/source.ts';
import { examineMarketplace } from '../../src/operations/check-marketplace.ts';
import { openWorld, type World } from '../sandbox/sandbox-harness.ts';
import { openHttpFake } from '../support/http-fake.ts';

const publicUrl = 'https://bridge.example.com';

function connect(world: Pick<World, 'baseUrl' | 'token'>, timeDriftMs = 0): Source {
  const clock = { now: () => new Date(Date.now() + timeDriftMs) };
  return createPlatformSource({ baseUrl: world.baseUrl, token: world.token, clock });
}

async function look(
  sources: Record<string, Source>,
  { timeoutMs, ...receiver }: { timeoutMs?: number; publicUrl?: string | undefined } = {},
): Promise<string[]> {
  const checks = await examineMarketplace(
    new Map(Object.entries(sources)),
    { receiver: { publicUrl, ...receiver }, reconcile: { schedule: '*/15 * * * *' } },
    new AbortController().signal,
    timeoutMs,
  );
  return checks.map(({ name, status, says }) => `${name}: ${status}: ${says}`);
}

const wellKnown = [
  "marketplace clock: ok: This machine's clock is 0 s ahead of that of the marketplace",
  'marketplace API: ok: The marketplace has every endpoint Gangway uses',
];

describe('the marketplace', () => {
  it('passes all checks, which name what was checked', async () => {
    const world = await openWorld();
    await world.link('lamps');
    await world.subscribe(`${publicUrl}/webhooks/acme`);
    expect(await look({ acme: connect(world) })).toEqual([
      'install acme: ok: Token valid, all scopes granted, work emails shared, webhook endpoint receives every event',
      ...wellKnown,
    ]);
  });

  it('is polled without a public address, and then misses no endpoint', async () => {
    const world = await openWorld();
    expect(await look({ acme: connect(world) }, { publicUrl: undefined })).toEqual([
      'install acme: ok: Token valid, all scopes granted, work emails shared',
      'webhooks: ok: No webhooks without receiver.publicUrl; installs are read on the schedule "*/15 * * * *"',
      ...wellKnown,
    ]);
  });

  it('names the problem of each install, and checks the others too', async () => {
    const world = await openWorld();
    const { sandbox, baseUrl } = world;
    await world.link('lamps', null);
    const { id } = await world.subscribe(`${publicUrl}/webhooks/acme`);
    await world.api('PATCH', `/webhook-endpoints/${id}`, { body: { status: 'DISABLED' } });
    sandbox.setPiiConsent(world.installId, false);
    const few = sandbox.createInstall({ scopes: ['contracts:read', 'participants:read'] });
    const refused = sandbox.createInstall();
    sandbox.revokeToken(refused.installId);
    const revoked = sandbox.createInstall();
    sandbox.revokeInstall(revoked.installId);
    const lines = await look({
      acme: connect(world),
      few: connect({ baseUrl, token: few.token }),
      refused: connect({ baseUrl, token: refused.token }),
      revoked: connect({ baseUrl, token: revoked.token }),
    });
    const names = lines.map((line) => line.split(/: (?:ok|warning|failure): /)[0]);
    expect(new Set(names).size).toBe(names.length);
    const begins = lines.map((line) => line.slice(0, 75));
    expect(begins).toEqual([
      'consent of acme: warning: The customer does not share work emails, so hired',
      expect.stringMatching(/^jobs of acme: warning: Nobody can be hired through links with no job: \w+/),
      expect.stringMatching(/^webhook endpoint \S+ of acme: failure: The webhook endpoint is/),
      'scope project-links:read of few: failure: The token lacks the scope project',
      'scope participants:email of few: failure: The token lacks the scope partici',
      'scope webhooks:manage of few: warning: The token lacks the scope webhooks:m',
      'scope usage:write of few: warning: The token lacks the scope usage:write: w',
      expect.stringMatching(/^install refused: failure: Could not read the install: answered 401/),
      expect.stringMatching(/^install revoked: failure: Could not read the install: answered 403/),
      expect.stringMatching(/^marketplace clock: ok/),
      expect.stringMatching(/^marketplace API: ok/),
    ]);
  });

  it('has its clock compared, also by a refusal', async () => {
    const world = await openWorld();
    world.sandbox.revokeToken(world.installId);
    const drifting = await look({ acme: connect(world, 250_000), globex: connect(world) });
    expect(drifting).toContainEqual(expect.stringMatching(/^marketplace clock: failure: .+ (249|250) s ahead of/));
  });

  it('is asked no longer than the time-out', async () => {
    const silent = await openHttpFake(() => undefined);
    const api = connect({ baseUrl: silent.url, token: 'ot_ptk_none' });
    expect(await look({ acme: api }, { timeoutMs: 50 })).toEqual([
      'install acme: failure: The marketplace did not answer within 50 ms',
      'marketplace API: warning: The marketplace did not answer within 50 ms',
    ]);
  });

  it('is not asked if there is no install', async () => {
    expect(await look({})).toEqual([]);
  });

  it('is only read', async () => {
    const { url, requests } = await openHttpFake((_, response) => response.writeHead(403).end());
    await look({ acme: connect({ baseUrl: url, token: 'ot_ptk_none' }) });
    const world = await openWorld();
    const before = world.sandbox.snapshot();
    await look({ acme: connect(world) });
    expect(world.sandbox.snapshot()).toEqual(before);
    expect(requests.map(({ line }) => line)).toEqual(['GET /installs/current', 'GET /openapi.json']);
  });
});
