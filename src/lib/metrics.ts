import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/**
 * These are sampled all the time. At the usual 100 times a second that is a third of what an idle bridge
 * takes of the processor, so they are not shown. `nodejs_eventloop_lag_seconds` is measured on demand.
 */
const sampled = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];
const sampleEveryMs = 3_600_000;

/** Everything that `/metrics` shows. Labels are configured names or words of closed sets. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: sampleEveryMs });
  for (const name of sampled) registry.removeSingleMetric(`nodejs_eventloop_lag_${name}_seconds`);
  return {
    registry,
    ...receivingMetrics(registers),
    ...actingMetrics(registers),
    ...readingMetrics(registers),
    ...usageMetrics(registers),
    ...budgetMetrics(registers),
    ...tellingMetrics(registers),
    ...instanceMetrics(registers),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

function receivingMetrics(registers: Registry[]) {
  return {
    deliveries: new Counter({
      name: 'gangway_deliveries_total',
      help: 'Signed deliveries, by answer',
      labelNames: ['install', 'status'],
      registers,
    }),
    refusals: new Counter({
      name: 'gangway_refusals_total',
      help: 'Requests that were refused, by reason; requests for unknown installs have an empty install',
      labelNames: ['install', 'reason'],
      registers,
    }),
    deferrals: new Counter({
      name: 'gangway_deferrals_total',
      help: 'Requests that were deferred, by reason; those for unknown installs have an empty install',
      labelNames: ['install', 'reason'],
      registers,
    }),
    reusedDeliveryIds: new Counter({
      name: 'gangway_reused_delivery_ids_total',
      help: 'Deliveries with the id of another delivery',
      labelNames: ['install'],
      registers,
    }),
    answerSeconds: new Histogram({
      name: 'gangway_answer_seconds',
      help: 'Time from the last byte of a delivery to its answer',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10],
      registers,
    }),
    dueDeliveries: new Gauge({
      name: 'gangway_due_deliveries',
      help: 'Stored deliveries that wait to be handled',
      registers,
    }),
  };
}

function actingMetrics(registers: Registry[]) {
  return {
    intakes: new Counter({
      name: 'gangway_intakes_total',
      help: 'Stored deliveries that were handled, by outcome',
      labelNames: ['outcome'],
      registers,
    }),
    toolCalls: new Counter({
      name: 'gangway_tool_calls_total',
      help: 'Calls that change a tool, by outcome',
      labelNames: ['tool', 'operation', 'outcome'],
      registers,
    }),
    invitations: new Counter({
      name: 'gangway_invitations_total',
      help: 'Attempts to mail an invitation, by outcome',
      labelNames: ['outcome'],
      registers,
    }),
    alerts: new Counter({
      name: 'gangway_alerts_total',
      help: 'Alerts, by kind',
      labelNames: ['kind'],
      registers,
    }),
    removals: new Counter({
      name: 'gangway_removals_total',
      help: 'Members that were removed from a tool, by any instance or command',
      labelNames: ['install'],
      registers,
    }),
    removalDecisions: new Counter({
      name: 'gangway_removal_decisions_total',
      help: 'Decisions of the brake: removals that it cleared, by reason, and removals that it held',
      labelNames: ['install', 'clearance'],
      registers,
    }),
    memberships: new Gauge({
      name: 'gangway_memberships',
      help: 'Memberships by tool and state',
      labelNames: ['tool', 'state'],
      registers,
    }),
  };
}

function readingMetrics(registers: Registry[]) {
  return {
    marketplaceReads: new Counter({
      name: 'gangway_marketplace_reads_total',
      help: 'Reads of contracts from the marketplace, by outcome',
      labelNames: ['install', 'outcome'],
      registers,
    }),
    readDoubts: new Gauge({
      name: 'gangway_read_doubts',
      help: 'What the last read of an install left in doubt, by kind',
      labelNames: ['install', 'kind'],
      registers,
    }),
    listings: new Counter({
      name: 'gangway_group_listings_total',
      help: 'Listings of the members of a group, by outcome',
      labelNames: ['tool', 'outcome'],
      registers,
    }),
    drift: new Gauge({
      name: 'gangway_drift',
      help: 'Members that were not as they should be when the groups of a tool were last listed',
      labelNames: ['tool', 'kind'],
      registers,
    }),
  };
}

function usageMetrics(registers: Registry[]) {
  return {
    usageDays: new Counter({
      name: 'gangway_usage_days_total',
      help: 'Days of usage that were sent, by answer',
      labelNames: ['install', 'outcome'],
      registers,
    }),
    usageHeld: new Gauge({
      name: 'gangway_usage_held',
      help: 'Days of usage that the last run did not send, because an operator must decide about them',
      labelNames: ['install'],
      registers,
    }),
  };
}

function budgetMetrics(registers: Registry[]) {
  return {
    budgets: new Gauge({
      name: 'gangway_budgets',
      help: 'Active contracts, by the state of their budget at the last reading',
      labelNames: ['install', 'state'],
      registers,
    }),
    budgetReads: new Counter({
      name: 'gangway_budget_reads_total',
      help: 'Reads of budgets from the marketplace, by outcome',
      labelNames: ['install', 'outcome'],
      registers,
    }),
  };
}

function tellingMetrics(registers: Registry[]) {
  return {
    notifications: new Counter({
      name: 'gangway_notifications_total',
      help: 'Attempts to send a message with notices, by outcome; and notices whose channel is gone',
      labelNames: ['channel', 'outcome'],
      registers,
    }),
  };
}

function instanceMetrics(registers: Registry[]) {
  return {
    instances: new Gauge({
      name: 'gangway_instances',
      help: 'Instances on the database: running ones, and those that are silent but have not stopped',
      labelNames: ['state'],
      registers,
    }),
    beatAge: new Gauge({
      name: 'gangway_instance_beat_age_seconds',
      help: 'Seconds since the last beat of an instance that has not stopped, by the clock of the database',
      labelNames: ['instance', 'version'],
      registers,
    }),
  };
}
