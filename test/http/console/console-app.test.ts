import request from 'supertest';
import { beforeEach, expect, it } from 'vitest';
import { Config } from '../../../src/config/config-schema.ts';
import { beatInstance, keepForMs, stopInstance } from '../../../src/db/instance-store.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { createChanges } from '../../../src/http/console/changes.ts';
import { createConsoleApp } from '../../../src/http/console/console-app.ts';
import { oldestWaiting } from '../../../src/http/console/measure-store.ts';
import { createStartedActs } from '../../../src/http/console/started-acts.ts';
import type { InstallRegistry } from '../../../src/installs/install-registry.ts';
import { instantIn, toInstant } from '../../../src/lib/clock.ts';
import { createLoop, type Loop } from '../../../src/lib/loop.ts';
import { createReadiness, type Readiness } from '../../../src/lib/readiness.ts';
import { alertKinds } from '../../../src/lib/troubles.ts';
import { decidePlan } from '../../../src/operations/decide-plan.ts';
import { listPlans } from '../../../src/removals/plan-store.ts';
import { convergeDue, receiptsOf } from '../../support/converging.ts';
import { createEngine, type Engine, inStudio, startLoops } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { createIncident, derivePostponed, minutes } from '../../support/incident.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const token = 'console-secret';
const numbers = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

function wishOf(number: number) {
  return { trainer: `cmu${number}`, contract: `cmc${number}` };
}

describeAnyDatabase('the console', (openFresh) => {
  let engine: Engine;
  let readiness: Readiness;
  let storageFailure: AppError | undefined;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    storageFailure = undefined;
    readiness = createReadiness(async () => {
      if (storageFailure !== undefined) throw storageFailure;
    }, engine.clock);
  });

  function open({ loops = [] as Loop[], token: wanted = undefined as string | undefined, installs = ['acme'] } = {}) {
    const ctx = {
      ...engine,
      clock: { now: engine.clock.now, takeLatest: engine.clock.now },
      installs: new Map(installs.map((install) => [install, inStudio()])),
      config: Config.parse({ console: wanted === undefined ? {} : { token: wanted } }),
      // No page is requested here.
      registry: {} as InstallRegistry,
      channels: [],
      examine: async () => [],
      startedActs: createStartedActs(),
    };
    return request(
      createConsoleApp(ctx, {
        loops,
        readiness,
        changes: createChanges(),
        loadApi: async () => (_request, _response, next) => next(),
      }),
    );
  }

  it('tells browsers and programs how to turn the console on while it is off', async () => {
    const page = await open().get('/plans').set('Accept', 'text/html,application/xhtml+xml,*/*;q=0.8').expect(404);
    expect(page.headers).toMatchObject({
      'content-type': expect.stringMatching('text/html'),
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    });
    expect(page.text).toContain('<h1>The console is off</h1>');
    expect(page.text).toMatch(/gangway init.*console.*tokens/s);
    const [style = ''] = /\/assets\/[^"]+\.css/.exec(page.text) ?? [];
    await open().get(style).expect(200);
    for (const accepted of ['*/*', 'application/json']) {
      const answer = await open().get('/api/v1/plans').set('Accept', accepted).expect(404);
      expect(answer.body).toEqual({ error: expect.stringContaining('Add console.tokens'), code: 'not_found' });
    }
  });

  /** A loop that the test controls. */
  function openLoop(name: string, run: () => Promise<'idle'> = async () => 'idle'): Loop {
    const { clock, logger } = engine;
    const loop = createLoop({ name, intervalMs: 1000, stallMs: 60_000, run, clock, logger });
    startLoops(loop);
    return loop;
  }

  it('is healthy while every loop runs, and says so without a token', async () => {
    const loops = [openLoop('intake'), openLoop('converge studio')];
    const answer = await open({ loops, token }).get('/healthz').expect(200);
    expect(answer.body).toEqual({ status: 'ok' });
    expect(answer.headers).not.toHaveProperty('x-powered-by');
  });

  it('is ready while deliveries can be stored and it is not draining', async () => {
    const readyz = (status: number) => open({ token }).get('/readyz').expect(status);
    expect((await readyz(200)).body).toEqual({ status: 'ok' });

    engine.clock.advance(1000);
    storageFailure = new AppError('unavailable', 'The database could not be used (SQLITE_FULL)');
    expect((await readyz(503)).body).toMatchObject({ code: 'unavailable' });

    engine.clock.advance(1000);
    storageFailure = undefined;
    await readyz(200);
    readiness.drain();
    expect((await readyz(503)).body).toEqual({ status: 'draining' });
  });

  it('reports a stalled loop until it goes on', async () => {
    let goOn = () => {};
    let runs = 0;
    const hanging = openLoop('read', () => {
      runs += 1;
      return new Promise((resolve) => {
        goOn = () => resolve('idle');
      });
    });
    const sound = openLoop('intake');
    const healthz = () => open({ loops: [sound, hanging] }).get('/healthz');
    const countRuns = () => runs;
    await until('it hangs', countRuns, (count) => count === 1);
    await healthz().expect(200);

    engine.clock.advance(61_000);
    sound.wake();
    await until('the other went round', sound.isHealthy, Boolean);
    const answer = await healthz().expect(503);
    expect(answer.body).toEqual({ status: 'stalled', stalled: ['read'] });
    // Deliveries are still stored.
    await open({ loops: [sound, hanging] })
      .get('/readyz')
      .expect(200);

    goOn();
    await until('it went on', hanging.isHealthy, Boolean);
    await healthz().expect(200);
    goOn();
  });

  it('measures what is in the database', async () => {
    const tool = createMemoryTool();
    await engine.deliver([
      fullEvent({ type: 'contract.started', trainer: 'cmu1', contract: 'cmc1' }),
      fullEvent({ type: 'contract.started', trainer: 'cmu2', contract: 'cmc2', workEmail: null }),
    ]);
    const before = await open().get('/metrics').expect(200);
    expect(before.text).toContain('gangway_due_deliveries 2');
    await engine.takeIn();
    await convergeDue(engine, tool);

    const { text, headers } = await open().get('/metrics').expect(200);
    expect(headers['content-type']).toMatch(/^text\/plain/);
    expect(text).toContain('gangway_due_deliveries 0');
    expect(text).toContain('gangway_memberships{tool="studio",state="active"} 1');
    expect(text).toContain('gangway_memberships{tool="studio",state="waiting_email"} 1');
    expect(text).toContain('gangway_intakes_total{outcome="handled"} 2');
    expect(text).toMatch(/^process_cpu_seconds_total \S+$/m);
    expect(text).toMatch(/^# TYPE gangway_answer_seconds histogram$/m);

    await engine.deliver([fullEvent({ type: 'contract.ended', contract: 'cmc1' })]);
    await engine.takeIn();
    await convergeDue(engine, tool);
    const after = await open().get('/metrics').expect(200);
    expect(after.text).toContain('gangway_memberships{tool="studio",state="removed"} 1');
    expect(after.text).not.toContain('state="active"');
  });

  it('shows which instances are running, and the age of each heartbeat', async () => {
    const beat = (id: string, secondsAgo: number) => {
      const beatAt = instantIn(engine.clock, -secondsAgo * 1000);
      const instance = { id, name: `host-${id}/1`, version: '0.1.0', startedAt: beatAt, beatAt };
      return beatInstance(engine.database, instance, instantIn(engine.clock, -keepForMs));
    };
    await beat('a', 86_401);
    await beat('b', 3600);
    await beat('c', 2);
    await beat('d', 1);
    await stopInstance(engine.database, 'd', toInstant(engine.clock.now()));

    const { text } = await open().get('/metrics').expect(200);
    expect(text).toContain('gangway_instances{state="running"} 1');
    expect(text).toContain('gangway_instances{state="silent"} 1');
    const age = (name: string) =>
      new RegExp(`^gangway_instance_beat_age_seconds{instance="${name}",version="0.1.0"} (.*)$`, 'm').exec(text)?.[1];
    const names = ['host-a/1', 'host-b/1', 'host-c/1', 'host-d/1'];
    expect(names.map(age)).toEqual([undefined, '3600', '2', undefined]);
  });

  it('shows the age of the oldest thing of each kind that waits, and 0 if nothing waits', async () => {
    const ages = async () => {
      const { text } = await open().get('/metrics').expect(200);
      const found = text.matchAll(/^gangway_oldest_waiting_seconds{kind="(\w+)"} (.*)$/gm);
      return Object.fromEntries([...found].map(([, kind, age]) => [kind, Number(age)]));
    };
    const nothing = Object.fromEntries(Object.keys(oldestWaiting).map((kind) => [kind, 0]));
    expect(await ages()).toEqual(nothing);
    await engine.deliver([fullEvent({ type: 'contract.started' })]);
    engine.clock.advance(90_000);
    expect(await ages()).toEqual({ ...nothing, delivery: 90 });
    await engine.takeIn();
    expect(await ages()).toEqual({ ...nothing, membership: 90 });
    await convergeDue(engine, createMemoryTool());
    // A removal that waits for its grace period is not due yet.
    await engine.apply([fullEvent({ type: 'project_link.removed' })]);
    await derivePostponed(engine);
    expect(await ages()).toEqual(nothing);
    engine.clock.advance(16 * minutes);
    expect(await ages()).toEqual({ ...nothing, removal: 60 });
  });

  it('shows how long ago each install was read, and omits removed installs', async () => {
    const incident = createIncident(engine.database);
    const ageOf = async (installs: string[]) => {
      const { text } = await open({ installs }).get('/metrics').expect(200);
      return [...text.matchAll(/^gangway_read_age_seconds{.*$/gm)].map(([line]) => line);
    };
    expect(await ageOf(['acme'])).toEqual([]);
    await incident.read({ links: { cml1: 'signs' }, active: { con1: { links: ['cml1'], people: ['cara'] } } });
    await incident.read({ links: {}, isRefused: true }, 'globex');
    engine.clock.advance(5 * minutes);
    expect(await ageOf(['acme', 'globex'])).toEqual(['gangway_read_age_seconds{install="acme"} 300']);
    const { text } = await open({ installs: ['acme', 'globex'] }).get('/metrics');
    expect(text).toContain('gangway_oldest_waiting_seconds{kind="install_read"} 300');
    expect(await ageOf([])).toEqual([]);
    const { text: without } = await open({ installs: [] }).get('/metrics');
    expect(without).toContain('gangway_oldest_waiting_seconds{kind="install_read"} 0');
  });

  it('shows every kind of alert before one is raised', async () => {
    const { text } = await open().get('/metrics').expect(200);
    for (const kind of alertKinds) expect(text).toContain(`gangway_alerts_total{kind="${kind}"} 0`);
  });

  it('counts each removed member and nobody else', async () => {
    const incident = createIncident(engine.database);
    await incident.takeAll('contract.started', numbers.slice(0, 9).map(wishOf));
    await incident.settle();
    incident.tool.seed('street-signs', 'cmu9');
    await incident.event('contract.started', wishOf(9));
    // One was a member before us and stays. Another is hired again before the removal.
    await incident.takeAll('contract.ended', [wishOf(0), wishOf(1), wishOf(8), wishOf(9)]);
    await incident.engine.brake();
    await incident.event('contract.started', { ...wishOf(8), contract: 'cmc8b' });
    // The answer of one is lost: the next try finds them gone.
    let isLost = false;
    incident.tool.after = (call, subject) => {
      if (call !== 'remove' || subject !== 'street-signs/cmu2') return;
      if (isLost) return;
      isLost = true;
      throw new AppError('unavailable', 'The connection broke');
    };
    await incident.event('contract.ended', wishOf(2));
    await incident.pass(5 * minutes);
    // The other removals are held, and another process approves some of them.
    await incident.event('project_link.removed', wishOf(3));
    await incident.pass(15 * minutes);
    const operator = { actor: 'operator', at: toInstant(incident.engine.clock.now()) };
    const [plan] = await listPlans(incident.engine, {});
    await decidePlan(incident.engine, operator, 'approve', plan?.id ?? 0);
    await incident.settle();

    const removed = (await receiptsOf(incident.engine)).filter((one) => one === 'remove removed');
    const { text } = await open().get('/metrics').expect(200);
    expect(removed.length).toBeGreaterThan(5);
    expect(text).toContain(`gangway_removals_total{install="acme"} ${removed.length}\n`);
    // Another process removed and counted them, and this process shows the count too.
    const { values } = await engine.metrics.removalDecisions.get();
    expect(values).toEqual([]);
  });

  it('has no personal data and no secrets in its metrics', async () => {
    await engine.deliver([fullEvent({ type: 'contract.started' })]);
    await engine.takeIn();
    await convergeDue(engine, createMemoryTool());
    const { text } = await open({ token }).get('/metrics').auth(token, { type: 'bearer' });
    expect(text).not.toMatch(/@|cmu1|cmc1|street-signs|Amara|console-secret|whsec_|ot_ptk_/);
  });

  it.each([
    ['none', undefined],
    ['another', 'Bearer console-secreT'],
    ['a longer one', 'Bearer console-secret!'],
    ['another scheme', `Basic ${Buffer.from(`:${token}`).toString('base64')}`],
    ['no scheme', token],
  ])('refuses metrics to a request with this token: %s', async (_, authorization) => {
    const asked = open({ token }).get('/metrics');
    const answer = await (authorization === undefined ? asked : asked.set('authorization', authorization));
    expect(answer.status).toBe(401);
    expect(answer.body).toMatchObject({ code: 'unauthenticated' });
    expect(answer.text).not.toContain('gangway_memberships');
  });

  it('shows metrics to a request with the token', async () => {
    await open({ token }).get('/metrics').auth(token, { type: 'bearer' }).expect(200);
  });

  it.each(['/', '/metrics/x', '/members', '/%2e%2e/healthz'])('answers 404 at %s', async (path) => {
    const answer = await open().get(path).expect(404);
    expect(answer.body).toMatchObject({ code: 'not_found' });
  });

  it('reports a failure without details', async () => {
    const kysely = engine.database.kysely.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: () => Promise.reject(new Error('at row secret-row')),
    });
    engine.database = { ...engine.database, kysely };
    const answer = await open().get('/metrics').expect(500);
    expect(answer.body).toEqual({ error: 'The console could not answer now', code: 'internal' });
    expect(answer.text).not.toContain('secret-row');
  });
});
