import { hostname } from 'node:os';
import type { Adapter } from '../adapters/adapter.ts';
import { type Budgets, createBudgets } from '../budget/budget-worker.ts';
import type { Config } from '../config/config-schema.ts';
import { createResetStore } from '../converge/reset-store.ts';
import type { DatabaseClock } from '../db/database-clock.ts';
import { createLockStore } from '../db/lock-store.ts';
import type { BrakeLimits } from '../domain/brake.ts';
import { createEvidenceStore } from '../evidence/evidence-store.ts';
import { createLinkStore } from '../evidence/link-store.ts';
import { createReadRequestStore, type ReadRequestStore } from '../evidence/read-request-store.ts';
import { createReportEvidence } from '../evidence/report-evidence.ts';
import { createGuidelineStore } from '../guidelines/guideline-store.ts';
import type { SyncInstallDeps } from '../guidelines/sync-install.ts';
import { createBindingStore } from '../installs/binding-store.ts';
import { createEndpointStore } from '../installs/endpoint-store.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import type { SubscriptionDeps } from '../installs/subscription/look-at-subscription.ts';
import { createSubscriptionStore } from '../installs/subscription/subscription-store.ts';
import type { RotateDeps } from '../installs/tokens/rotate-token.ts';
import { createAlerts } from '../lib/alerts.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import type { Loop } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createSendMail } from '../mail/send-mail.ts';
import { createAddressStore } from '../memberships/address-store.ts';
import type { MembershipRules } from '../memberships/collect-candidates.ts';
import type { OrphanDeps } from '../memberships/find-orphans.ts';
import { createInstallsReaching, createLinkRouter } from '../memberships/link-router.ts';
import { createOrphanStore } from '../memberships/orphan-store.ts';
import { type AlertNoticesDeps, createAlertNotices } from '../notify/alert-notices.ts';
import type { Asked } from '../notify/alert-rules.ts';
import { createAlertStore } from '../notify/alert-store.ts';
import type { Channel } from '../notify/channel.ts';
import { createChannels } from '../notify/create-channels.ts';
import { createNoticeStore, type NoticeStore } from '../notify/notice-store.ts';
import { createStandingStore } from '../notify/standing-store.ts';
import { type CheckDriftDeps, createCheckDrift } from '../reconcile/drift/check-drift.ts';
import { createDriftStore } from '../reconcile/drift/drift-store.ts';
import { createFindingStore } from '../reconcile/drift/finding-store.ts';
import { createPreviewDrift, type PreviewDrift } from '../reconcile/drift/preview-drift.ts';
import { createReportDrift } from '../reconcile/drift/report-drift.ts';
import { createInstallStateStore } from '../reconcile/read/install-state-store.ts';
import { createActiveListStore, wantLists } from '../reconcile/runs/active-list-store.ts';
import { createActiveListWorker } from '../reconcile/runs/active-list-worker.ts';
import type { ReconcileDeps } from '../reconcile/runs/reconcile-install.ts';
import { createReportClock } from '../reconcile/runs/report-clock.ts';
import { createReportSuspects } from '../reconcile/runs/report-suspects.ts';
import { createRunStore } from '../reconcile/runs/run-store.ts';
import { createSilence, type Silence } from '../reconcile/runs/silence.ts';
import { createSuspectStore } from '../reconcile/runs/suspect-store.ts';
import { createAwaitedReadingStore } from '../removals/awaited-reading-store.ts';
import { type BrakeStore, createBrakeStore } from '../removals/brake-store.ts';
import { createFinalReadingStore } from '../removals/final-reading-store.ts';
import { createRemovalWorker } from '../removals/removal-worker.ts';
import { canBeReadded, isShared, mayChangeAccounts } from '../tools/account-rules.ts';
import { createUsage, type Usage } from '../usage/create-usage.ts';
import { createImportObservations } from '../usage/import/import-store.ts';
import { createScopeOf } from '../usage/read/find-scopes.ts';
import { createScopeStore } from '../usage/read/scope-store.ts';
import type { Storage } from './storage.ts';
import { bindTools, createConvergeWorkers, type ToolsDeps } from './tools.ts';

export interface ServicesDeps extends ToolsDeps {
  /** The caller loads it before it uses any service. */
  registry: InstallRegistry;
}

/** Everything between the marketplace and the tools but the receiver. The command line uses it too. */
export interface Services extends ReconcileDeps, OrphanDeps {
  clock: DatabaseClock;
  /** The installs by name. The Map always has what was loaded last. */
  installs: InstallRegistry['installs'];
  sources: InstallRegistry['sources'];
  readRequests: ReadRequestStore;
  metrics: Metrics;
  /** Every loop checks it before it acts. */
  silence: Silence;
  brakes: BrakeStore;
  limits: BrakeLimits;
  canReturn(tool: string): boolean;
  previewDrift: PreviewDrift;
  /** The webhook endpoint of each install. */
  subscription: SubscriptionDeps;
  /** What replaces the tokens of employers' accounts. */
  rotation: RotateDeps;
  usage: Usage;
  budgets: Budgets;
  /** What brings manuals into the tools. */
  guidelines: SyncInstallDeps;
  /** Where notifications are sent. */
  channels: readonly Channel[];
  /** Stores a notification; it is sent after the transaction is committed. */
  addNotice: NoticeStore['add'];
  /** What stores alerts and announces them. */
  announcing: AlertNoticesDeps;
  /** What is asked whether an alert still stands. */
  asked: Omit<Asked, 'now' | 'deferralOf'>;
  /** Resolves when every alert so far is stored. A process must not end before. */
  alertsStored(): Promise<void>;
  /** How many shared invitation links are due to be reset. */
  countDueResets(): Promise<number>;
  /** Call it when a removal is due. */
  onRemovalDue(): void;
  /** Removals, lists of active contracts, convergence, and the readings of work before a removal. */
  loops: readonly Loop[];
}

export function createServices(given: ServicesDeps): Services {
  const { config, storage, logger, clock, metrics, registry, pollMs } = given;
  const { database, box, memberships } = storage;
  const { installs, sources } = registry;
  const { managedDomains } = config.marketplace;
  const channels = createConfiguredChannels(given);
  const notices = createNoticeStore(channels, clock);
  const { repeatMs } = config.notifications;
  const announcing = { database, alertStore: createAlertStore(database), notices, repeatMs, logger, clock };
  const { settled, ...listener } = createAlertNotices(announcing);
  const alerts = createAlerts(logger, metrics, given.isDry ? undefined : listener);
  const adapters = bindTools(given, alerts);
  const deps = { ...given, adapters };
  const mayChange = (tool: string) => mayChangeAccounts(tool, installs, managedDomains);
  const routeLink = createLinkRouter(installs, adapters);
  const gracePeriods = config.removals;
  const installStates = createInstallStateStore(database);
  const unlistedTools = [...adapters].flatMap(([tool, { listMembers }]) => (listMembers ? [] : [tool]));
  const silence = createSilence({ database, installStates, installs, unlistedTools, gracePeriods, logger, clock });
  const convergeWorkers = createConvergeWorkers(deps, {
    alerts,
    routeLink,
    mayChange,
    isShared: (tool) => isShared(tool, installs),
    silence,
  });
  const resets = createResetStore(database, box);
  const resetting = [...adapters].flatMap(([tool, one]) => (one.resetInvitations ? [tool] : []));
  const services = {
    database,
    logger,
    clock,
    metrics,
    alerts,
    pollMs,
    memberships,
    installs,
    sources,
    channels,
    addNotice: notices.add,
    alertsStored: settled,
    announcing,
    asked: {
      store: createStandingStore(database),
      walls: { installs, adapters },
      suspects: createSuspectStore(database),
    },
    managedDomains,
    limits: config.removals,
    rules: { routeLink, gracePeriods, ...assignmentsOf(adapters) },
    ...createStores(storage),
    installStates,
    silence,
    rotation: { registry, locks: createLockStore(database), clock },
    beforeDeciding: () => silence.check(),
    awaitedReadings: createAwaitedReadingStore({
      gracePeriods,
      installs,
      installsReaching: createInstallsReaching(installs, routeLink),
      wantLists,
    }),
    report: createReportEvidence({ installs, adapters }, alerts, clock),
    reportSuspects: createReportSuspects({ suspects: createSuspectStore(database), alerts, clock }),
    reportClock: createReportClock({ database, alerts, clock, machine: hostname() }),
    mayPass: createFinalReadingStore({
      scopeOf: createScopeOf({ adapters, routeLink, links: config.links }),
      wantRead: createScopeStore(database).want,
    }).mayPass,
    canReturn: (tool: string) => canBeReadded(adapters.get(tool), mayChange(tool)),
    countDueResets: () => resets.countDue(resetting, toInstant(clock.now())),
    onMembershipDue() {
      for (const worker of convergeWorkers) worker.wake();
    },
  };
  const subscription = createSubscription(deps, services);
  const drift = createDriftDeps(deps, services);
  const [checkDrift, previewDrift] = [createCheckDrift(drift), createPreviewDrift(drift)];
  const onRemovalDue = () => removalWorker.wake();
  const onListWanted = () => listWorker.wake();
  const listWorker = createActiveListWorker({ ...services, checkDrift, onRemovalDue });
  const removalWorker = createRemovalWorker({ ...services, lockEvidence: services.evidence.lock, onListWanted });
  const budgets = createBudgets({ ...services, repeatMs });
  const usage = createUsageOf(deps, services, budgets);
  const loops = [removalWorker, listWorker, ...convergeWorkers, ...usage.readers];
  const guidelines = createGuidelineDeps(deps, services);
  return { ...services, subscription, checkDrift, previewDrift, usage, budgets, guidelines, loops, onRemovalDue };
}

function createStores({ database, box }: Storage) {
  return {
    evidence: createEvidenceStore(database, box),
    addresses: createAddressStore(box),
    readRequests: createReadRequestStore(database),
    learnCustomer: createBindingStore(database).learn,
    runs: createRunStore(database),
    orphans: createOrphanStore(database),
    brakes: createBrakeStore(database),
    activeLists: createActiveListStore(database),
  };
}

/** The services before the parts that need them are made. */
type UnwiredServices = Omit<
  Services,
  'subscription' | 'checkDrift' | 'previewDrift' | 'usage' | 'budgets' | 'guidelines' | 'loops' | 'onRemovalDue'
>;

function createSubscription(
  { config, storage: { database, box } }: ServicesDeps,
  { installStates, sources, alerts, logger, clock }: UnwiredServices,
): SubscriptionDeps {
  return {
    database,
    installStates,
    sources,
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
  { config, adapters, storage: { box } }: ServicesDeps,
  services: UnwiredServices,
  { keepAnswer }: Budgets,
): Usage {
  return createUsage({
    ...services,
    adapters,
    box,
    usage: config.usage,
    links: config.links,
    routeLink: services.rules.routeLink,
    onAnswer: keepAnswer,
    otherObservations: [createImportObservations(services.database)],
  });
}

/** Compares what the tools list with the memberships that are known. */
function createDriftDeps(
  { config, storage: { box }, adapters }: ServicesDeps,
  services: UnwiredServices,
): CheckDriftDeps {
  const { routeLink, gracePeriods } = services.rules;
  return {
    ...services,
    adapters,
    box,
    routeLink,
    graceMs: gracePeriods.graceMs,
    drifts: createDriftStore(services.database),
    findings: createFindingStore(services.database, box),
    protectedAccounts: new Map([...config.tools].map(([name, tool]) => [name, tool.protected])),
    report: createReportDrift(services),
  };
}

function createGuidelineDeps({ config, adapters }: ServicesDeps, services: UnwiredServices): SyncInstallDeps {
  const { database, installs, sources, alerts, logger, clock } = services;
  return {
    database,
    sources,
    alerts,
    logger,
    clock,
    guidelines: createGuidelineStore(database),
    locks: createLockStore(database),
    links: createLinkStore(database),
    walls: { installs, adapters },
    timeoutOf: (tool) => config.tools.get(tool)?.timeoutMs ?? 15_000,
  };
}

/** The channels of a configuration. Creating them sends nothing. */
export function createConfiguredChannels({ config, clock }: { config: Config; clock: Clock }): Channel[] {
  const { mail } = config;
  return createChannels({
    channels: config.notifications.channels,
    clock,
    mail: mail && { sender: mail, send: createSendMail(mail.smtp) },
  });
}

/** The tools in which assignments stay with a removed member unless Gangway ends them. */
function assignmentsOf(adapters: ReadonlyMap<string, Adapter>): Pick<MembershipRules, 'endsAssignments'> {
  const tools = new Set([...adapters].flatMap(([tool, { endAssignments }]) => (endAssignments ? [tool] : [])));
  return tools.size === 0 ? {} : { endsAssignments: (tool) => tools.has(tool) };
}
