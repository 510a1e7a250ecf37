import type { Adapter } from '../adapters/adapter.ts';
import { type Budgets, createBudgets } from '../budget/create-budgets.ts';
import type { Config } from '../config/config-schema.ts';
import { createClaimStore } from '../converge/claim-store.ts';
import { usualSecondLookMs } from '../converge/converge-steps.ts';
import { createConvergeWorker } from '../converge/converge-worker.ts';
import { createResetStore } from '../converge/reset-store.ts';
import { createResetWorker } from '../converge/reset-worker.ts';
import { createSettleStore, type SettleStore } from '../converge/settle-store.ts';
import { createToolTroubleStore } from '../converge/tool-trouble-store.ts';
import type { DatabaseClock } from '../db/database-clock.ts';
import { createLockStore } from '../db/lock-store.ts';
import type { BrakeLimits } from '../domain/brake.ts';
import type { ReadRequestStore } from '../evidence/read-request-store.ts';
import { createReportEvidence } from '../evidence/report-evidence.ts';
import { createEndpointStore } from '../installs/endpoint-store.ts';
import { createInstallRegistry, type InstallRegistry } from '../installs/install-registry.ts';
import type { SubscriptionDeps } from '../installs/subscription/look-at-subscription.ts';
import { createSubscriptionStore } from '../installs/subscription/subscription-store.ts';
import { type Alerts, createAlerts } from '../lib/alerts.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Loop } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createSendMail } from '../mail/send-mail.ts';
import type { Rules } from '../memberships/collect-candidates.ts';
import type { OrphanDeps } from '../memberships/find-orphans.ts';
import { createInstallsReaching, createLinkRouter, type RouteLink } from '../memberships/link-router.ts';
import type { Channel } from '../notify/channel.ts';
import { createChannels } from '../notify/create-channels.ts';
import { createNoticeStore, type NoticeStore } from '../notify/notice-store.ts';
import { createTellAlerts } from '../notify/tell-alerts.ts';
import { type CheckDriftDeps, createCheckDrift } from '../reconcile/drift/check-drift.ts';
import { createDriftStore } from '../reconcile/drift/drift-store.ts';
import { createPreviewDrift, type PreviewDrift } from '../reconcile/drift/preview-drift.ts';
import { createReportDrift } from '../reconcile/drift/report-drift.ts';
import { createInstallStateStore } from '../reconcile/read/install-state-store.ts';
import { wantLists } from '../reconcile/runs/active-list-store.ts';
import { createActiveListWorker } from '../reconcile/runs/active-list-worker.ts';
import type { ReconcileDeps } from '../reconcile/runs/reconcile-install.ts';
import { createReportClock } from '../reconcile/runs/report-clock.ts';
import { createReportSuspects } from '../reconcile/runs/report-suspects.ts';
import { createSilence, lookingBefore, type Silence } from '../reconcile/runs/silence.ts';
import { createSuspectStore } from '../reconcile/runs/suspect-store.ts';
import { createAwaitedReadingStore } from '../removals/awaited-reading-store.ts';
import type { BrakeStore } from '../removals/brake-store.ts';
import { createFinalReadingStore } from '../removals/final-reading-store.ts';
import { createRemovalWorker } from '../removals/removal-worker.ts';
import { canReturn, mayChangeAccounts } from '../tools/account-rules.ts';
import { bindTool, placeOf } from '../tools/bind-tool.ts';
import { createUsage, type Usage } from '../usage/create-usage.ts';
import { createImportSightings } from '../usage/import/import-sightings.ts';
import { createPlaceOf } from '../usage/read/find-places.ts';
import { createPlaceStore } from '../usage/read/place-store.ts';
import type { Storage } from './storage.ts';
import { createStores } from './stores.ts';

export interface WorksDeps {
  config: Config;
  storage: Storage;
  logger: Logger;
  clock: DatabaseClock;
  metrics: Metrics;
  adapters: ReadonlyMap<string, Adapter>;
  /** Loaded before anything of this is used. */
  registry: InstallRegistry;
  /** Whether nothing is to be written. */
  isDry?: boolean;
  /** How long a second look waits after one that found nobody who is to be out. */
  secondLookMs?: number;
}

/** What leads from a marketplace to the tools without a receiver: the command line has it too. */
export interface Works extends ReconcileDeps, OrphanDeps {
  clock: DatabaseClock;
  /** All there are, live. */
  installs: InstallRegistry['installs'];
  platformApis: InstallRegistry['platformApis'];
  readRequests: ReadRequestStore;
  metrics: Metrics;
  /** To be asked before anything is acted on. */
  silence: Silence;
  brakes: BrakeStore;
  limits: BrakeLimits;
  canReturn(tool: string): boolean;
  previewDrift: PreviewDrift;
  /** The webhook endpoint of each install. */
  subscription: SubscriptionDeps;
  usage: Usage;
  budgets: Budgets;
  /** Where people outside are told. */
  channels: readonly Channel[];
  /** Has them told, once the transaction has been committed. */
  addNotice: NoticeStore['add'];
  /** Resolves when every alert so far is kept to be told: a process must not end before. */
  alertsTold(): Promise<void>;
  /** How many links for everybody are to be made worthless now. */
  countDueResets(): Promise<number>;
  /** Called when there is something for the brake to look at. */
  onRemovalDue(): void;
  /** The brake, what brings each tool in line, and what reads it before a removal. */
  loops: readonly Loop[];
}

export function createWorks(given: WorksDeps): Works {
  const { config, storage, logger, clock, metrics, registry } = given;
  const { database, box, memberships } = storage;
  const { installs, platformApis } = registry;
  const { managedDomains } = config.marketplace;
  const channels = createConfiguredChannels(given);
  const notices = createNoticeStore(database, channels, clock);
  const { tell, settled } = createTellAlerts({ database, notices, logger, clock });
  const alerts = createAlerts(logger, metrics, given.isDry ? undefined : tell);
  const adapters = bindTools(given, alerts);
  const deps = { ...given, adapters };
  const mayChange = (tool: string) => mayChangeAccounts(tool, installs, managedDomains);
  const routeLink = createLinkRouter(installs, adapters);
  const graces = config.removals;
  const installStates = createInstallStateStore(database);
  const silence = createSilence({ database, installStates, installs, graces, logger, clock });
  const convergeWorkers = createConvergeWorkers(deps, { alerts, routeLink, mayChange, silence });
  const resets = createResetStore(database, box);
  const resetting = [...adapters].flatMap(([tool, one]) => (one.resetInvitations ? [tool] : []));
  const works = {
    database,
    logger,
    clock,
    metrics,
    alerts,
    memberships,
    installs,
    platformApis,
    channels,
    addNotice: notices.add,
    alertsTold: settled,
    managedDomains,
    limits: config.removals,
    rules: { routeLink, graces, ...assignmentsOf(adapters) },
    ...createStores(storage),
    installStates,
    silence,
    beforeDeciding: () => silence.look(),
    awaitedReadings: createAwaitedReadingStore({
      graces,
      installs,
      installsReaching: createInstallsReaching(installs, routeLink),
      wantLists,
    }),
    report: createReportEvidence({ installs, adapters }, alerts),
    reportSuspects: createReportSuspects({ suspects: createSuspectStore(database), alerts, clock }),
    reportClock: createReportClock({ database, alerts, clock }),
    mayPass: createFinalReadingStore({
      placeOf: createPlaceOf({ adapters, routeLink, links: config.links }),
      wantRead: createPlaceStore(database).want,
    }).mayPass,
    canReturn: (tool: string) => canReturn(adapters.get(tool), mayChange(tool)),
    countDueResets: () => resets.countDue(resetting, toInstant(clock.now())),
    onMembershipDue() {
      for (const worker of convergeWorkers) worker.wake();
    },
  };
  const subscription = createSubscription(deps, works);
  const drift = createDriftDeps(deps, works);
  const [checkDrift, previewDrift] = [createCheckDrift(drift), createPreviewDrift(drift)];
  const onRemovalDue = () => removalWorker.wake();
  const onListWanted = () => listWorker.wake();
  const listWorker = createActiveListWorker({ ...works, checkDrift, onRemovalDue });
  const removalWorker = createRemovalWorker({ ...works, lockEvidence: works.evidence.lock, onListWanted });
  const budgets = createBudgets({ ...works, repeatMs: config.notifications.repeatMs });
  const usage = createUsageOf(deps, works, budgets);
  const loops = [removalWorker, listWorker, ...convergeWorkers, ...usage.readers];
  return { ...works, subscription, checkDrift, previewDrift, usage, budgets, loops, onRemovalDue };
}

/** Each tool answers as the server that its people are in, or not at all. */
function bindTools(
  { config, storage: { database }, clock, isDry, ...given }: WorksDeps,
  alerts: Alerts,
): Map<string, Adapter> {
  const deps = { database, alerts, clock, isDry };
  const place = (tool: string) => placeOf(config.tools.get(tool)?.settings ?? {});
  const all = [...given.adapters];
  return new Map(all.map(([tool, one]) => [tool, bindTool(deps, tool, one, place(tool))]));
}

type UnwiredWorks = Omit<
  Works,
  'subscription' | 'checkDrift' | 'previewDrift' | 'usage' | 'budgets' | 'loops' | 'onRemovalDue'
>;

function createSubscription(
  { config, storage: { database, box } }: WorksDeps,
  { installStates, platformApis, alerts, logger, clock }: UnwiredWorks,
): SubscriptionDeps {
  return {
    database,
    installStates,
    platformApis,
    alerts,
    logger,
    clock,
    locks: createLockStore(database),
    endpoints: createEndpointStore(database, box),
    subscriptions: createSubscriptionStore(database),
    hasConfiguredSecrets: (install) => (config.installs.get(install)?.webhookSecrets.length ?? 0) > 0,
    publicUrl: config.receiver.publicUrl,
  };
}

function createUsageOf(
  { config, adapters, storage: { box } }: WorksDeps,
  works: UnwiredWorks,
  { keepAnswer }: Budgets,
): Usage {
  return createUsage({
    ...works,
    adapters,
    box,
    usage: config.usage,
    links: config.links,
    routeLink: works.rules.routeLink,
    onAnswer: keepAnswer,
    otherSightings: [createImportSightings(works.database)],
  });
}

/** What the tools list, compared with what is known. */
function createDriftDeps({ config, storage: { box }, adapters }: WorksDeps, works: UnwiredWorks): CheckDriftDeps {
  const { routeLink, graces } = works.rules;
  return {
    ...works,
    adapters,
    box,
    routeLink,
    graceMs: graces.graceMs,
    drifts: createDriftStore(works.database),
    protectedAccounts: new Map([...config.tools].map(([name, tool]) => [name, tool.protected])),
    report: createReportDrift(works),
  };
}

interface ConvergeRules {
  alerts: Alerts;
  routeLink: RouteLink;
  silence: Silence;
  /** Whether accounts of a tool may be ended, renamed or activated. */
  mayChange(tool: string): boolean;
}

function createConvergeWorkers(deps: WorksDeps, { alerts, routeLink, silence, mayChange }: ConvergeRules): Loop[] {
  const { config, storage, logger, clock, metrics, adapters } = deps;
  const { secondLookMs = usualSecondLookMs } = deps;
  const { database, box } = storage;
  const resets = createResetStore(database, box);
  const troubles = createToolTroubleStore(database);
  const shared = { logger, clock, metrics, alerts, locks: createLockStore(database), troubles };
  const claims = lookingBefore(silence, createClaimStore(database, box));
  const settling = createSettleStore(database, box, routeLink);
  return [...config.tools].flatMap(([tool, { concurrency, timeoutMs, ...settings }]) => {
    const adapter = adapters.get(tool);
    if (adapter === undefined) return [];
    const given = { ...shared, tool, adapter, claims, concurrency, timeoutMs };
    const known = {
      protectedAccounts: settings.protected,
      managedDomains: config.marketplace.managedDomains,
      mayChangeAccounts: () => mayChange(tool),
      secondLookMs,
    };
    if (adapter.resetInvitations === undefined) {
      return [createConvergeWorker({ ...given, ...known, settling })];
    }
    const onMembershipDue = () => worker.wake();
    const resetter = createResetWorker({ ...given, resets, onMembershipDue });
    const onResetWanted = () => resetter.wake();
    const worker = createConvergeWorker({ ...given, ...known, settling: tellingOfResets(settling, onResetWanted) });
    return [worker, resetter];
  });
}

/** The removal is settled first: what it wants may be done right after it. */
function tellingOfResets(settling: SettleStore, onResetWanted: () => void): SettleStore {
  return {
    ...settling,
    async settle(claim, result, now) {
      await settling.settle(claim, result, now);
      if (result.wantsReset) onResetWanted();
    },
  };
}

/** Where a configuration has people told. Nothing is sent by it. */
export function createConfiguredChannels({ config, clock }: { config: Config; clock: Clock }): Channel[] {
  const { mail } = config;
  return createChannels({
    channels: config.notifications.channels,
    clock,
    mail: mail && { sender: mail, send: createSendMail(mail.smtp) },
  });
}

/** The installs of a configuration, and those that were connected; none before it is loaded. */
export function openRegistry({
  config: { installs: configured, marketplace },
  storage: { database, box },
}: {
  config: Config;
  storage: Pick<Storage, 'database' | 'box'>;
}): InstallRegistry {
  return createInstallRegistry({ configured, baseUrl: marketplace.baseUrl, database, box });
}

/** Which tools leave with somebody what is assigned to them. */
function assignmentsOf(adapters: ReadonlyMap<string, Adapter>): Pick<Rules, 'endsAssignments'> {
  const tools = new Set([...adapters].flatMap(([tool, { endAssignments }]) => (endAssignments ? [tool] : [])));
  return tools.size === 0 ? {} : { endsAssignments: (tool) => tools.has(tool) };
}
