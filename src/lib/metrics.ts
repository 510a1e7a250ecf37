import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/**
 * These metrics need samples all the time. At the usual 100 a second, that is a third of the processor time of an idle bridge,
 * so they are left out. `nodejs_eventloop_lag_seconds` is measured on demand.
 */
const sampled = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];
const sampleEveryMs = 3_600_000;

/** In seconds, from one second to a day. */
const upToADay = [1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 43_200, 86_400];

/** Labels are configured names or words of closed sets. */
const table = {
  deliveries: counter('gangway_deliveries_total', ['install', 'status'], 'Signed deliveries, by answer'),
  feedEvents: counter(
    'gangway_feed_events_total',
    ['install', 'status'],
    'Events read from an updates feed, by status: accepted, duplicate (delivered or read before), ignored, unprocessable, or old (not stored)',
  ),
  refusals: counter(
    'gangway_refusals_total',
    ['install', 'reason'],
    'Requests that were refused, by reason; requests for unknown installs have an empty install',
  ),
  tokenRefusals: counter(
    'gangway_token_refusals_total',
    ['where', 'reason'],
    'Tokens of operators and scrapers that were refused or missing, by where they were sent: console, api, metrics',
  ),
  deferrals: counter(
    'gangway_deferrals_total',
    ['install', 'reason'],
    'Requests that were deferred, by reason; those for unknown installs have an empty install',
  ),
  reusedDeliveryIds: counter(
    'gangway_reused_delivery_ids_total',
    ['install'],
    'Deliveries with the id of another of the last 10,000 that this process stored',
  ),
  answerSeconds: histogram(
    'gangway_answer_seconds',
    [],
    'Time from the last byte of a delivery to its answer',
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10],
  ),
  dueDeliveries: gauge('gangway_due_deliveries', [], 'Stored deliveries that wait to be handled'),
  intakes: counter('gangway_intakes_total', ['outcome'], 'Stored deliveries that were handled, by outcome'),
  toolCalls: counter(
    'gangway_tool_calls_total',
    ['tool', 'operation', 'outcome'],
    'Calls that change a tool, by outcome',
  ),
  accessSeconds: histogram(
    'gangway_access_seconds',
    ['install'],
    'Time from the delivery or reading that gives a trainer access to when the tool shows them as a member or as invited; counted by the instance that did the work',
    upToADay,
  ),
  lockoutSeconds: histogram(
    'gangway_lockout_seconds',
    ['install'],
    'Time from when a removal was due (its end was received, or its grace period was over) to when the tool shows that the member is out, including the time that the brake held it; counted by the instance that did the work',
    upToADay,
  ),
  invitations: counter('gangway_invitations_total', ['outcome'], 'Attempts to mail an invitation, by outcome'),
  alerts: counter('gangway_alerts_total', ['kind'], 'Alerts, by kind'),
  alertsActive: gauge('gangway_alerts_active', ['kind'], 'Alerts that are not over yet, by kind'),
  removals: counter(
    'gangway_removals_total',
    ['install'],
    'Members that were removed from a tool, by any instance or command',
  ),
  removalDecisions: counter(
    'gangway_removal_decisions_total',
    ['install', 'clearance'],
    'Decisions of the brake: removals that it cleared, by reason, and removals that it held',
  ),
  memberships: gauge('gangway_memberships', ['tool', 'state'], 'Memberships by tool and state'),
  oldestWaiting: gauge(
    'gangway_oldest_waiting_seconds',
    ['kind'],
    'Age of the oldest thing of a kind that waits; 0 if none waits. delivery: to be handled. read_request: a contract to be read. install_read: an install to be read. work_email: a trainer without an address. membership: a trainer to be let in. removal: one to be removed. removal_held: by the brake. invitation: to be handed over. lowering_held: usage to be lowered. notification: to be sent',
  ),
  readAge: gauge(
    'gangway_read_age_seconds',
    ['install'],
    'Time since the last complete reading of an install began; absent before the first',
  ),
  databaseBytes: gauge('gangway_database_bytes', [], 'Size of the database; on SQLite with its write-ahead log'),
  marketplaceReads: counter(
    'gangway_marketplace_reads_total',
    ['install', 'outcome'],
    'Reads of contracts from the marketplace, by outcome',
  ),
  readDoubts: gauge(
    'gangway_read_doubts',
    ['install', 'kind'],
    'What the last read of an install left in doubt, by kind',
  ),
  listings: counter(
    'gangway_group_listings_total',
    ['tool', 'outcome'],
    'Listings of the members of a group, by outcome',
  ),
  drift: gauge(
    'gangway_drift',
    ['tool', 'kind'],
    'Members that were not as they should be when the groups of a tool were last listed',
  ),
  usageDays: counter('gangway_usage_days_total', ['install', 'outcome'], 'Days of usage that were sent, by answer'),
  usageHeld: gauge(
    'gangway_usage_held',
    ['install'],
    'Days of usage that the last run did not send, because an operator must decide about them',
  ),
  budgets: gauge(
    'gangway_budgets',
    ['install', 'state'],
    'Active contracts, by the state of their budget at the last reading',
  ),
  notifications: counter(
    'gangway_notifications_total',
    ['channel', 'outcome'],
    'Attempts to send a message with notices, by outcome; and notices whose channel is gone',
  ),
  jobs: counter('gangway_jobs_total', ['kind', 'install', 'outcome'], 'Runs of jobs, by outcome: done, failed'),
  jobDueAge: gauge(
    'gangway_job_due_age_seconds',
    ['kind'],
    'For how long the job of a kind that is due the longest has been due, as seen by this instance; 0 if none is due',
  ),
  jobsFailing: gauge('gangway_jobs_failing', ['kind', 'install'], 'Jobs whose last run failed'),
  instances: gauge(
    'gangway_instances',
    ['state'],
    'Instances on the database: running ones, and those that are silent but have not stopped',
  ),
  beatAge: gauge(
    'gangway_instance_beat_age_seconds',
    ['instance', 'version'],
    'Seconds since the last beat of an instance that has not stopped, by the clock of the database',
  ),
};

type Table = typeof table;

/** Everything that `/metrics` shows. */
export type Metrics = { registry: Registry } & { [Key in keyof Table]: ReturnType<Table[Key]> };

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: sampleEveryMs });
  for (const name of sampled) registry.removeSingleMetric(`nodejs_eventloop_lag_${name}_seconds`);
  const metrics = Object.entries(table).map(([key, create]) => [key, create([registry])]);
  return { registry, ...Object.fromEntries(metrics) };
}

function counter<Label extends string = never>(name: string, labelNames: Label[], help: string) {
  return (registers: Registry[]) => new Counter({ name, help, labelNames, registers });
}

function gauge<Label extends string = never>(name: string, labelNames: Label[], help: string) {
  return (registers: Registry[]) => new Gauge({ name, help, labelNames, registers });
}

function histogram<Label extends string = never>(name: string, labelNames: Label[], help: string, buckets: number[]) {
  return (registers: Registry[]) => new Histogram({ name, help, labelNames, buckets, registers });
}
