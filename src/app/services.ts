import { hostname } from 'node:os';
import type { Adapter } from '../adapters/adapter.ts';
import { type Budgets, createBudgets } from '../budget/budget-worker.ts';
import type { Config } from '../config/config-schema.ts';
import type { Context, WokenLoop } from '../context.ts';
import { countDueResets } from '../converge/reset-store.ts';
import type { DatabaseClock } from '../db/database-clock.ts';
import type { BrakeLimits } from '../domain/brake.ts';
import { lockEvidence } from '../evidence/evidence-store.ts';
import { createReportEvidence } from '../evidence/report-evidence.ts';
import type { SyncInstallDeps } from '../guidelines/sync-install.ts';
import { learnBinding } from '../installs/binding-store.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import type { SubscriptionDeps } from '../installs/subscription/look-at-subscription.ts';
import type { RotateDeps } from '../installs/tokens/rotate-token.ts';
import { createAlerts } from '../lib/alerts.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import type { Loop } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createWakes, type Wakes } from '../lib/wakes.ts';
import { createSendMail } from '../mail/send-mail.ts';
import type { MembershipRules } from '../memberships/collect-candidates.ts';
import type { OrphanDeps } from '../memberships/find-orphans.ts';
import { createInstallsReaching, createLinkRouter } from '../memberships/link-router.ts';
import { type AlertNoticesDeps, createAlertNotices } from '../notify/alert-notices.ts';
import type { Asked } from '../notify/alert-rules.ts';
import type { Channel } from '../notify/channel.ts';
import { createChannels } from '../notify/create-channels.ts';
import { createNoticeStore, type NoticeStore } from '../notify/notice-store.ts';
import { type CheckDriftDeps, createCheckDrift } from '../reconcile/drift/check-drift.ts';
import { createPreviewDrift, type PreviewDrift } from '../reconcile/drift/preview-drift.ts';
import { createReportDrift } from '../reconcile/drift/report-drift.ts';
import { wantLists } from '../reconcile/runs/active-list-store.ts';
import { createActiveListWorker } from '../reconcile/runs/active-list-worker.ts';
import type { ReconcileDeps } from '../reconcile/runs/reconcile-install.ts';
import { createReportClock } from '../reconcile/runs/report-clock.ts';
import { createReportSuspects } from '../reconcile/runs/report-suspects.ts';
import { createSilence, type Silence } from '../reconcile/runs/silence.ts';
import { createAwaitedReadingStore } from '../removals/awaited-reading-store.ts';
import { createFinalReadingStore } from '../removals/final-reading-store.ts';
import { createRemovalWorker } from '../removals/removal-worker.ts';
import type { Grant } from '../sources/source.ts';
import { canBeReadded, isShared, mayChangeAccounts } from '../tools/account-rules.ts';
import { createUsage, type Usage } from '../usage/create-usage.ts';
import { createImportObservations } from '../usage/import/import-store.ts';
import { createScopeOf } from '../usage/read/find-scopes.ts';
import { wantScopes } from '../usage/read/scope-store.ts';
import { bindTools, createConvergeWorkers, type ToolsDeps } from './tools.ts';

export interface ServicesDeps extends ToolsDeps {
  /** The caller loads it before it uses any service. */
  registry: InstallRegistry;
}

/** Everything between the marketplace and the tools but the receiver. The command line uses it too. */
export interface Services extends Context, Omit<ReconcileDeps, keyof Context>, Omit<OrphanDeps, keyof Context> {
  clock: DatabaseClock;
  metrics: Metrics;
  wakes: Wakes<WokenLoop>;
  /** Every loop checks it before it acts. */
  silence: Silence;
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
  const { config, storage, logger, clock, metrics, registry } = given;
  const { database, box } = storage;
  const { installs, sources } = registry;
  const { managedDomains } = config.marketplace;
  const channels = createConfiguredChannels(given);
  const notices = createNoticeStore(channels, clock);
  const { repeatMs } = config.notifications;
  const announcing = { database, box, notices, repeatMs, logger, clock };
  const { settled, ...listener } = createAlertNotices(announcing);
  const alerts = createAlerts(logger, metrics, given.isDry ? undefined : listener);
  const adapters = bindTools(given, alerts);
  const deps = { ...given, adapters };
  const mayChange = (tool: string) => mayChangeAccounts(tool, installs, managedDomains);
  const wakes = createWakes<WokenLoop>();
  const ctx: Context = {
    ...storage,
    pollMs: given.pollMs,
    config,
    clock,
    logger,
    metrics,
    alerts,
    installs,
    sources,
    adapters,
    routeLink: createLinkRouter(installs, adapters),
    wake: wakes.wake,
  };
  const { routeLink } = ctx;
  const gracePeriods = config.removals;
  const unlistedTools = [...adapters].flatMap(([tool, { listMembers }]) => (listMembers ? [] : [tool]));
  const silence = createSilence({ database, box, installs, unlistedTools, gracePeriods, logger, clock });
  const convergeWorkers = createConvergeWorkers(deps, {
    alerts,
    routeLink,
    mayChange,
    isShared: (tool) => isShared(tool, installs),
    silence,
  });
  const resetting = [...adapters].flatMap(([tool, one]) => (one.resetInvitations ? [tool] : []));
  const services = {
    ...ctx,
    wakes,
    clock,
    channels,
    addNotice: notices.add,
    alertsStored: settled,
    announcing,
    asked: {
      ...storage,
      walls: { installs, adapters },
    },
    managedDomains,
    limits: config.removals,
    rules: { routeLink, gracePeriods, ...assignmentsOf(adapters) },
    learnCustomer: (install: string, grant: Grant) => learnBinding(storage, install, grant),
    silence,
    rotation: { ...storage, registry, clock },
    beforeDeciding: () => silence.check(),
    awaitedReadings: createAwaitedReadingStore({
      gracePeriods,
      installs,
      installsReaching: createInstallsReaching(installs, routeLink),
      wantLists,
    }),
    report: createReportEvidence({ installs, adapters }, alerts, clock),
    reportSuspects: createReportSuspects({ database, box, alerts, clock }),
    reportClock: createReportClock({ database, alerts, clock, machine: hostname() }),
    mayPass: createFinalReadingStore({
      scopeOf: createScopeOf({ adapters, routeLink, links: config.links }),
      wantRead: wantScopes,
    }).mayPass,
    canReturn: (tool: string) => canBeReadded(adapters.get(tool), mayChange(tool)),
    countDueResets: () => countDueResets(storage, resetting, toInstant(clock.now())),
    onMembershipDue: () => wakes.wake('memberships'),
  };
  const subscription = createSubscription(deps, services);
  const drift = createDriftDeps(deps, services);
  const [checkDrift, previewDrift] = [createCheckDrift(drift), createPreviewDrift(drift)];
  const onRemovalDue = () => wakes.wake('removals');
  const onListWanted = () => wakes.wake('lists');
  const listWorker = createActiveListWorker({ ...services, checkDrift, onRemovalDue });
  const removalWorker = createRemovalWorker({
    ...services,
    lockEvidence: (tx) => lockEvidence(services, tx),
    onListWanted,
  });
  const budgets = createBudgets({ ...services, repeatMs });
  const usage = createUsageOf(deps, services, budgets);
  wakes.add('memberships', ...convergeWorkers);
  wakes.add('removals', removalWorker);
  wakes.add('lists', listWorker);
  wakes.add('work', ...usage.readers);
  const loops = [removalWorker, listWorker, ...convergeWorkers, ...usage.readers];
  const guidelines = createGuidelineDeps(deps, services);
  return { ...services, subscription, checkDrift, previewDrift, usage, budgets, guidelines, loops, onRemovalDue };
}

/** The services before the parts that need them are made. */
type UnwiredServices = Omit<
  Services,
  'subscription' | 'checkDrift' | 'previewDrift' | 'usage' | 'budgets' | 'guidelines' | 'loops' | 'onRemovalDue'
>;

function createSubscription({ config }: ServicesDeps, services: UnwiredServices): SubscriptionDeps {
  return {
    ...services,
    hasConfiguredSecrets: (install) => (config.installs.get(install)?.webhookSecrets.length ?? 0) > 0,
    publicUrl: config.receiver.publicUrl,
  };
}

function createUsageOf({ config, adapters }: ServicesDeps, services: UnwiredServices, { keepAnswer }: Budgets): Usage {
  return createUsage({
    ...services,
    adapters,
    usage: config.usage,
    links: config.links,
    routeLink: services.rules.routeLink,
    onAnswer: keepAnswer,
    otherObservations: [createImportObservations(services)],
  });
}

/** Compares what the tools list with the memberships that are known. */
function createDriftDeps({ config, adapters }: ServicesDeps, services: UnwiredServices): CheckDriftDeps {
  const { routeLink, gracePeriods } = services.rules;
  return {
    ...services,
    adapters,
    routeLink,
    graceMs: gracePeriods.graceMs,
    protectedAccounts: new Map([...config.tools].map(([name, tool]) => [name, tool.protected])),
    report: createReportDrift(services),
  };
}

function createGuidelineDeps({ config, adapters }: ServicesDeps, services: UnwiredServices): SyncInstallDeps {
  return {
    ...services,
    walls: { installs: services.installs, adapters },
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
