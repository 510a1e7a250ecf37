import { mapAtOnce } from '../../../src/lib/at-once.ts';
import { hasRoom } from '../../../src/mail/mail-count-store.ts';
import { isReachable } from '../../../src/memberships/address-store.ts';
import type { Dialect } from '../databases.ts';
import { newDelivery } from '../deliveries.ts';
import { listUnfinished } from '../journey.ts';
import { type MailBox, openMailBox } from '../mail-box.ts';
import { createRandom } from '../random.ts';
import { openSite, type Site, type SiteBridge } from '../site.ts';
import { until } from '../until.ts';
import { bystanders, type HonestTrainer, honestProjects, managed, managedProject, protectedName } from './cast.ts';
import { createForger, type ForgedDelivery, type Forger } from './forger.ts';
import { createGuard, type Guard } from './guard.ts';
import { type HonestBusiness, openHonestBusiness } from './honest-business.ts';
import type { OpenWatchedTool, WatchedTool, WatchedToolOptions } from './watched-tool.ts';

/** A day of two customers on one tool, one of which forges whatever it can. */
export interface HostileDay {
  tool: OpenWatchedTool;
  toolOptions: WatchedToolOptions;
  /** Domains that are the marketplace's; with none, two customers have no power over accounts. */
  managedDomains: string[];
  /** The patterns of the hostile customer. */
  projects: string[];
  seed: number;
  steps: number;
  /** How much is forged in a step, and in the flood. */
  forgedEach: number;
  flood: number;
  /**
   * Whether the tool never takes back a person who is out: then a customer can keep out one that another is
   * about to hire, and all that is asked is that no person is harmed.
   */
  isForGood?: boolean;
  /** How many steps it may take until a trainer is in: 0 where none waits for a mail. */
  mostSteps: number;
}

export interface HostileDayReport {
  /** What was done, or is in the end, that should not be. */
  wrong: string[];
  /** Of the trainers that the honest customer hired. */
  stepsToAccess: number[];
  /** Of the tool, for whatever reason. */
  changeCount: number;
  /** How many forged people of the flood were dealt with between an honest hire's coming and its turn. */
  overtakenBy: number;
}

const twoHoursMs = 2 * 3_600_000;
const connections = 16;
/** In which many of one sender stand in line already when the honest customer hires. */
const floodedStep = 3;

export async function liveHostileDay(
  dialect: Pick<Dialect, 'createMigrated'>,
  day: HostileDay,
): Promise<HostileDayReport> {
  const world = await openWorld(dialect, day);
  const { guard, honest } = world;
  const report: HostileDayReport = { wrong: [], stepsToAccess: [], overtakenBy: 0, changeCount: 0 };
  try {
    report.overtakenBy = await liveSteps(world, day);
    await endAll(world, day.steps);
    const { stuck, astray } = guard.judgeEnd(honest.hired());
    report.wrong.push(...astray, ...(day.isForGood === true ? [] : stuck));
  } catch (error) {
    // What was done until then is to be reported all the same.
    report.wrong.push(`broken off: ${String(error)}`);
  }
  report.wrong.unshift(...guard.violations());
  report.changeCount = guard.countChanges();
  report.stepsToAccess.push(...honest.stepsToAccess());
  return report;
}

async function liveSteps(world: World, day: HostileDay): Promise<number> {
  const { site, bridge, guard, forger, honest } = world;
  let overtakenBy = 0;
  for (let step = 0; step < day.steps; step += 1) {
    site.clock.advance(twoHoursMs / day.steps);
    const forged = forger.step(day.forgedEach, site.clock.now());
    guard.note(forged);
    const sending = send(bridge, forged);
    honest.step(step);
    await sending;
    if (step === floodedStep) overtakenBy = await hireInFlood(world, day.flood, step);
    await settle(world, step);
  }
  return overtakenBy;
}

interface World {
  site: Site;
  bridge: SiteBridge;
  tool: WatchedTool;
  box: MailBox;
  guard: Guard;
  forger: Forger;
  honest: HonestBusiness;
  managedDomains: string[];
}

async function openWorld(
  dialect: Pick<Dialect, 'createMigrated'>,
  { tool: openTool, toolOptions, managedDomains, projects, seed }: HostileDay,
): Promise<World> {
  const box = await openMailBox();
  const site = await openSite(dialect, ['honest', 'hostile']);
  const tool = await openTool(toolOptions);
  const seeded = [...bystanders, managed].map((person) => [person.name, tool.seed(person)] as const);
  const protectedAccounts = seeded.flatMap(([name, ids]) => (name === protectedName ? ids : []));
  const idsOf = (accounts: readonly string[]) => accounts.map((one) => tool.idOf?.(one) ?? one);
  const closed = [...honestProjects, managedProject].map(tool.groupOf);
  const guard = createGuard(tool, {
    names: new Map(seeded.flatMap(([name, ids]) => ids.map((id) => [id, name] as const))),
    protectedAccounts,
    closedGroups: new Set(closed.includes(tool.groupOf('a-1')) ? [] : closed),
  });
  const bridge = await site.start({
    installs: { honest: { projects: ['b-*'] }, hostile: { projects } },
    tools: { studio: tool.adapter },
    // What is to be seen is not what the brake holds.
    removals: { max: 100_000, maxFraction: 1 },
    managedDomains,
    protected: idsOf(protectedAccounts),
    mail: { smtp: box.url, from: 'studio@example.com' },
    // Five bridges look around in one process.
    pollMs: 1000,
  });
  const grants = ['honest', 'hostile'].map((name) => site.customer(name).installId);
  const accountIds = idsOf(seeded.flatMap(([, accounts]) => accounts));
  const forger = createForger(createRandom(seed), { accountIds, grants });
  const honest = await openHonestBusiness(site, tool, guard);
  return { site, bridge, tool, box, guard, forger, honest, managedDomains };
}

/** @returns those that were refused: a customer may be answered that it sends too much */
async function send(bridge: SiteBridge, forged: readonly ForgedDelivery[]): Promise<ForgedDelivery[]> {
  const refused: ForgedDelivery[] = [];
  await mapAtOnce(forged, connections, async (delivery) => {
    const { status } = await bridge.deliver('hostile', delivery.body);
    if (status !== 200) refused.push(delivery);
  });
  return refused;
}

/** @returns how many of the flood were dealt with between an honest hire and its own turn */
async function hireInFlood(world: World, count: number, step: number): Promise<number> {
  const { site, bridge, forger, honest } = world;
  const trainerId = `usr-flooded${step}`;
  const trainer: HonestTrainer = {
    trainerId,
    email: `${trainerId}@opentrain.work`,
    project: 'b-2',
  };
  // Stored at once, as over HTTP the first would be dealt with before the last has come.
  const receivedAt = site.clock.now().toISOString();
  const flood = forger.flood(count, site.clock.now());
  await bridge.storage.inbox.append(flood.map(({ body }) => newDelivery(body, { install: 'hostile', receivedAt })));
  const query = bridge.storage.database.kysely.selectFrom('membership').select('id');
  honest.hire(trainer, step);
  // On a busy machine a part of the flood is over before it has come.
  await site.sandbox.idle();
  const before = (await query.orderBy('id', 'desc').limit(1).executeTakeFirst())?.id ?? 0;
  await untilQuiet(world);
  const own = await query.where('trainerId', '=', trainerId).executeTakeFirst();
  const between = query.where('id', '>', before).where('id', '<', own?.id ?? Number.MAX_SAFE_INTEGER);
  return (await between.execute()).length;
}

/** How soon a list that was no answer is asked for again. */
const listAgainMs = 5000;

/**
 * Until nothing is due. A list of the hostile customer's contracts leaves out those it has made up, so a removal of
 * its people waits for one as long as it may, and the time goes on meanwhile.
 */
async function untilQuiet({ site, bridge }: World): Promise<void> {
  await site.sandbox.idle();
  const { kysely } = bridge.storage.database;
  const look = async () => {
    const unfinished: { membership?: number; leasedUntil?: string | null }[] = await listUnfinished(
      bridge.storage,
      site.clock,
    );
    const rows = await kysely.selectFrom('awaitedReading').select('membershipId').execute();
    const waiting = new Set(rows.map(({ membershipId }) => membershipId));
    const waits = unfinished.every(
      ({ membership = 0, leasedUntil }) => waiting.has(membership) && leasedUntil === null,
    );
    if (unfinished.length > 0 && waits) await bridge.pass(listAgainMs);
    return unfinished;
  };
  await until('nothing is due', look, ({ length }) => length === 0);
}

/** Until nothing is due, mails are read, and what the readers did is seen. */
async function settle(world: World, step: number) {
  const { bridge, site, tool, box, honest, managedDomains } = world;
  await untilQuiet(world);
  const { kysely } = bridge.storage.database;
  const countUnsent = async () =>
    await kysely
      .selectFrom('invitation')
      .innerJoin('membership', 'membership.id', 'invitation.membershipId')
      .select('membershipId')
      .where('kind', '=', 'link')
      .where('content', 'is not', null)
      .where('deliveredAt', 'is', null)
      .where('isRenewalWanted', '=', 0)
      .where('invitation.nextAttemptAt', '<=', site.clock.now().toISOString())
      .where('wanted', '=', 1)
      .where('state', 'in', ['invited', 'active'])
      .where((eb) => isReachable(eb, managedDomains))
      // Who has had enough mails today waits for tomorrow.
      .where((eb) => hasRoom(eb, site.clock.now().toISOString()))
      .execute();
  await until('mails are sent', countUnsent, (unsent) => unsent.length === 0);
  for (const mail of box.mails.splice(0)) await tool.accept?.(mail);
  honest.look(step);
}

/** So often what was refused is sent again, a minute later. */
const mostTurns = 30;
/** Long enough after the ends for every wait of ours to be over, but that for a revoked grant. */
const afterMs = [0, 60_000, 20 * 60_000, 65 * 60_000, 65 * 60_000];

async function endAll(world: World, step: number): Promise<void> {
  const { site, bridge, forger } = world;
  let unsent = forger.ends(site.clock.now());
  for (let turn = 0; unsent.length > 0; turn += 1) {
    if (turn > mostTurns) throw new Error(`${unsent.length} ends were never taken`);
    unsent = await send(bridge, unsent);
    if (unsent.length > 0) site.clock.advance(60_000);
  }
  for (const ms of afterMs) {
    site.clock.advance(ms);
    await settle(world, step);
  }
}
