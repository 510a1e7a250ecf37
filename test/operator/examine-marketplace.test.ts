import { describe, expect, it } from 'vitest';
import { type ExaminedMarketplace, examineMarketplace } from '../../src/operator/examine-marketplace.ts';
import { createPlatformSource } from '../../src/sources/platform/create-platform-source.ts';
import type { Source } from '../../src/sources/source.ts';
import { openWorld, type World } from '../sandbox/sandbox-harness.ts';
import { openHttpFake } from '../support/http-fake.ts';

const publicUrl = 'https://bridge.example.com';

function connect(world: Pick<World, 'baseUrl' | 'token'>, timeDriftMs = 0): Source {
  const clock = { now: () => new Date(Date.now() + timeDriftMs) };
  return createPlatformSource({ baseUrl: world.baseUrl, token: world.token, clock });
}

async function look(sources: Record<string, Source>, more: Partial<ExaminedMarketplace> = {}): Promise<string[]> {
  const checks = await examineMarketplace(
    { sources: new Map(Object.entries(sources)), publicUrl, schedule: '*/15 * * * *', ...more },
    new AbortController().signal,
  );
  return checks.map(({ name, status, says }) => `${name}: ${status}: ${says}`);
}

const wellKnown = [
  "marketplace clock: ok: this machine's clock is 0 s ahead of that of the marketplace",
  'contract: ok: the marketplace offers all that is relied on',
];

describe('the marketplace', () => {
  it('is found in order, with what was looked at', async () => {
    const world = await openWorld();
    await world.link('lamps');
    await world.subscribe(`${publicUrl}/webhooks/acme`);
    expect(await look({ acme: connect(world) })).toEqual([
      'install acme: ok: its token is good and has every scope, work addresses are shared, and its webhook endpoint receives every event',
      ...wellKnown,
    ]);
  });

  it('is polled where it cannot deliver: then no endpoint is missing', async () => {
    const world = await openWorld();
    expect(await look({ acme: connect(world) }, { publicUrl: undefined })).toEqual([
      'install acme: ok: its token is good and has every scope, work addresses are shared',
      'webhooks: ok: without receiver.publicUrl nothing is delivered: installs are read on the schedule, "*/15 * * * *"',
      ...wellKnown,
    ]);
  });

  it('says of each install what is amiss, and looks at the others', async () => {
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
    const begins = (
      await look({
        acme: connect(world),
        few: connect({ baseUrl, token: few.token }),
        refused: connect({ baseUrl, token: refused.token }),
        revoked: connect({ baseUrl, token: revoked.token }),
      })
    ).map((line) => line.slice(0, 75));
    expect(begins).toEqual([
      'install acme: warning: the customer does not share work addresses: hired tr',
      'install acme: warning: links without a job, by which no trainer ever gets i',
      expect.stringMatching(/^install acme: failure: its webhook endpoint \S+ is DISABLED/),
      'install few: failure: its token lacks the scope project-links:read: nothing',
      'install few: failure: its token lacks the scope participants:email: no trai',
      'install few: warning: its token lacks the scope webhooks:manage: its webhoo',
      'install few: warning: its token lacks the scope usage:write: work cannot be',
      expect.stringMatching(/^install refused: failure: Could not read the install: answered 401/),
      expect.stringMatching(/^install revoked: failure: Could not read the install: answered 403/),
      expect.stringMatching(/^marketplace clock: ok/),
      expect.stringMatching(/^contract: ok/),
    ]);
  });

  it("is compared with this machine's clock, also by a refusal", async () => {
    const world = await openWorld();
    world.sandbox.revokeToken(world.installId);
    const drifting = await look({ acme: connect(world, 250_000), globex: connect(world) });
    expect(drifting).toContainEqual(expect.stringMatching(/^marketplace clock: failure: .+ (249|250) s ahead of/));
  });

  it('is asked no longer than it may take', async () => {
    const silent = await openHttpFake(() => undefined);
    const api = connect({ baseUrl: silent.url, token: 'ot_ptk_none' });
    expect(await look({ acme: api }, { timeoutMs: 50 })).toEqual([
      'install acme: failure: The marketplace did not answer within 50 ms',
      'contract: warning: The marketplace did not answer within 50 ms',
    ]);
  });

  it('is not asked where there is no install', async () => {
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
