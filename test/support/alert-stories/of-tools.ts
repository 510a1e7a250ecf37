import { AppError } from '../../../src/domain/errors.ts';
import { releaseDoubted } from '../../../src/memberships/ownership-store.ts';
import { bindTool } from '../../../src/tools/bind-tool.ts';
import { createStudioWorker, hire, numberedEvent, receiptsOf, untilActive } from '../converging.ts';
import type { OpenFresh } from '../databases.ts';
import { startLoops } from '../engine-harness.ts';
import { hours, type Incident, minutes } from '../incident.ts';
import { createMemoryTool } from '../memory-tool.ts';
import { until } from '../until.ts';
import { type AlertStories, openIncident } from './alert-story.ts';

const signs = 'street-signs';

/** Lists, judges, and does what follows at once. */
async function check(incident: Incident): Promise<void> {
  await incident.pass(2 * minutes);
  await incident.checkDrift();
  await incident.settle();
}

/** Four people in a tool that lists them, each by a contract of their own. */
async function openStaffed(openFresh: OpenFresh) {
  const tool = createMemoryTool('membership', { lists: true });
  const { alerting, incident } = await openIncident(openFresh, { tool, managedDomains: ['opentrain.work'] });
  const hired = ['cmu1', 'cmu2', 'cmu3', 'cmu4'].map((trainer) => ({ trainer, contract: `of-${trainer}` }));
  await incident.takeAll('contract.started', hired);
  await incident.settle();
  await incident.pass(minutes);
  return { tool, alerting, incident };
}

/** What the tools show and answer. */
export const toolStories = {
  async managed_address_leaked(openFresh) {
    const { tool, alerting, incident } = await openStaffed(openFresh);
    tool.seed(signs, 'x1', 'Stray@OpenTrain.work');
    return {
      alerting,
      find: () => check(incident),
      async end() {
        tool.unseat(signs, 'x1');
        await check(incident);
      },
    };
  },

  async removed_member_returned(openFresh) {
    const { tool, alerting, incident } = await openStaffed(openFresh);
    await incident.event('contract.ended', { trainer: 'cmu1', contract: 'of-cmu1' });
    await incident.pass(minutes);
    tool.seed(signs, 'cmu1', 'cmu1@opentrain.work');
    return { alerting, find: () => check(incident), end: () => incident.pass(hours) };
  },

  async member_keeps_vanishing(openFresh) {
    const { tool, alerting, incident } = await openStaffed(openFresh);
    tool.unseat(signs, 'cmu1');
    await check(incident);
    tool.unseat(signs, 'cmu1');
    return {
      alerting,
      find: () => check(incident),
      async end() {
        await incident.pass(hours);
        await check(incident);
        await incident.pass(25 * hours);
      },
    };
  },

  async address_changed(openFresh) {
    const { tool, alerting, incident } = await openStaffed(openFresh);
    const workEmail = 'amara.new@opentrain.work';
    await incident.event('contract.started', { trainer: 'cmu1', contract: 'of-cmu1', workEmail });
    return {
      alerting,
      find: () => check(incident),
      async end() {
        tool.seed(signs, 'cmu1', 'Amara.New@OpenTrain.work');
        await check(incident);
      },
    };
  },

  async id_of_another(openFresh) {
    const tool = createMemoryTool('membership', { keyedBy: 'number', hasAccounts: true, lists: true });
    const { alerting, incident } = await openIncident(openFresh, { tool });
    await incident.event('contract.started', { workEmail: 'amara@opentrain.work' });
    // A backup was put back, and the next account that was made is another person's.
    tool.forgetAccounts('1');
    tool.seed(signs, '1', 'erin@lab.example');
    const { database, box, clock } = incident.engine;
    return {
      alerting,
      find: () => check(incident),
      end: () => releaseDoubted({ database, box }, 1, { actor: 'ops', at: clock.now().toISOString() }),
    };
  },

  async absence_unproven(openFresh) {
    const tool = createMemoryTool();
    const { alerting, incident } = await openIncident(openFresh, { tool });
    const { engine } = incident;
    let newcomers = [{ id: 'x9', email: null, name: 'amara_n' }];
    tool.adapter = {
      ...tool.adapter,
      async addMember(group) {
        tool.seed(group, 'x9');
        throw new AppError('unavailable', 'no answer');
      },
      async *listNewcomers() {
        yield* newcomers;
      },
    };
    await hire(engine, 1);
    const worker = createStudioWorker(engine, tool);
    startLoops(worker);
    await until(
      'it was not answered',
      () => receiptsOf(engine),
      ({ length }) => length === 1,
    );
    await engine.apply([numberedEvent('contract.ended', 1)]);
    await engine.brake();
    const found = () => engine.log.lines().filter(({ alert }) => alert === 'absence_unproven').length;
    // The worker may also try by itself as soon as the time has moved on.
    let seen = 0;
    return {
      alerting,
      async find() {
        worker.wake();
        await until('it was tried', found, (count) => count > seen);
        seen = found();
        engine.clock.advance(hours);
      },
      async end() {
        newcomers = [];
        // A try that is under way still has them, and then the next one is due only later.
        const look = () => {
          engine.clock.advance(10 * minutes);
          worker.wake();
          return engine.membershipRows();
        };
        await until('the trainer is out', look, (all) => all.every(({ state }) => state === 'removed'));
      },
    };
  },

  async tool_left_alone(openFresh) {
    const memory = createMemoryTool();
    const { alerting, incident } = await openIncident(openFresh, { tool: memory });
    const { engine } = incident;
    let isDown = false;
    const down = new AppError('unavailable', 'The tool answered 503', { status: 503 });
    memory.before = () => {
      if (isDown) throw down;
    };
    memory.adapter.check = async () => {
      if (isDown) throw down;
      return [];
    };
    const worker = createStudioWorker(engine, memory);
    startLoops(worker);
    await hire(engine, 1);
    await untilActive(engine, 1);
    const troubles = () => engine.rows('toolTrouble');
    let hired = 1;
    return {
      alerting,
      async find() {
        isDown = true;
        await hire(engine, 10, hired + 1);
        hired += 10;
        engine.clock.advance(hours);
        worker.wake();
        const now = engine.clock.now().toISOString();
        await until(
          'it is left alone',
          troubles,
          ([one]) => one !== undefined && Reflect.get(one, 'asksAgainAt') > now,
        );
      },
      async end() {
        isDown = false;
        const look = () => {
          engine.clock.advance(hours);
          worker.wake();
          return troubles();
        };
        await until('it answers', look, ({ length }) => length === 0);
      },
    };
  },

  async other_server(openFresh) {
    const tool = createMemoryTool();
    const { alerting, incident } = await openIncident(openFresh, { tool });
    const { engine } = incident;
    let identity = 'org 1';
    const named = { ...tool.adapter, identify: async () => identity };
    const bound = bindTool(engine, 'studio', named);
    const ask = async () => {
      engine.clock.advance(10 * minutes);
      await bound.check(new AbortController().signal).catch(() => undefined);
    };
    await ask();
    return {
      alerting,
      async find() {
        identity = 'org 2';
        await ask();
      },
      async end() {
        identity = 'org 1';
        await ask();
      },
    };
  },
} satisfies AlertStories;
