import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/**
 * What samples the event loop all the time is not shown, and as rare as may be: 100 times a second,
 * which is usual, is a third of what an idle bridge takes. `nodejs_eventloop_lag_seconds` is measured when asked.
 */
const sampled = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];
const sampleEveryMs = 3_600_000;

/** Everything that `/metrics` shows. Labels are configured names or words from closed sets. */
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
      help: 'Signed deliveries by what was answered',
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
      help: 'Requests that were asked to come again later, by reason; those for unknown installs have an empty install',
      labelNames: ['install', 'reason'],
      registers,
    }),
    reusedDeliveryIds: new Counter({
      name: 'gangway_reused_delivery_ids_total',
      help: 'Deliveries that came with the id of another one',
      labelNames: ['install'],
      registers,
    }),
    answerSeconds: new Histogram({
      name: 'gangway_answer_seconds',
      help: 'From the last byte of a delivery to its answer',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10],
      registers,
    }),
    dueDeliveries: new Gauge({
      name: 'gangway_due_deliveries',
      help: 'Stored deliveries that wait to be looked at',
      registers,
    }),
  };
}

function actingMetrics(registers: Registry[]) {
  return {
    intakes: new Counter({
      name: 'gangway_intakes_total',
      help: 'Stored deliveries that were looked at, by outcome',
      labelNames: ['outcome'],
      registers,
    }),
    toolCalls: new Counter({
      name: 'gangway_tool_calls_total',
      help: 'Calls that change a tool, by what came of them',
      labelNames: ['tool', 'operation', 'outcome'],
      registers,
    }),
    invitations: new Counter({
      name: 'gangway_invitations_total',
      help: 'Tries to mail somebody how they get in, by what came of them',
      labelNames: ['outcome'],
      registers,
    }),
    alerts: new Counter({
      name: 'gangway_alerts_total',
      help: 'What an operator should look at, by kind',
      labelNames: ['kind'],
      registers,
    }),
    removals: new Counter({
      name: 'gangway_removals_total',
      help: 'People who were removed from a tool, ever, by whichever instance or command',
      labelNames: ['install'],
      registers,
    }),
    removalDecisions: new Counter({
      name: 'gangway_removal_decisions_total',
      help: 'Decisions of the brake: removals that it let pass, by grounds, and those that it held',
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
      help: 'Contracts asked about at the marketplace, by outcome',
      labelNames: ['install', 'outcome'],
      registers,
    }),
    readDoubts: new Gauge({
      name: 'gangway_read_doubts',
      help: 'What the last read of an install asked for and was not told, by kind',
      labelNames: ['install', 'kind'],
      registers,
    }),
    listings: new Counter({
      name: 'gangway_group_listings_total',
      help: 'Groups whose members were listed to be compared with what is known, by outcome',
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
      help: 'Days of usage that were sent, by what was answered',
      labelNames: ['install', 'outcome'],
      registers,
    }),
    usageHeld: new Gauge({
      name: 'gangway_usage_held',
      help: 'Days of usage that were not sent by the last run, as somebody has to look at them',
      labelNames: ['install'],
      registers,
    }),
  };
}

function budgetMetrics(registers: Registry[]) {
  return {
    budgets: new Gauge({
      name: 'gangway_budgets',
      help: 'Contracts under way by the state of their budget, as it was last read',
      labelNames: ['install', 'state'],
      registers,
    }),
    budgetReads: new Counter({
      name: 'gangway_budget_reads_total',
      help: 'Budgets asked for at the marketplace, by outcome',
      labelNames: ['install', 'outcome'],
      registers,
    }),
  };
}

function tellingMetrics(registers: Registry[]) {
  return {
    notifications: new Counter({
      name: 'gangway_notifications_total',
      help: 'Tries to send a message with notices, by what came of them; and notices whose channel is gone',
      labelNames: ['channel', 'outcome'],
      registers,
    }),
  };
}

function instanceMetrics(registers: Registry[]) {
  return {
    instances: new Gauge({
      name: 'gangway_instances',
      help: 'Instances on the database: running ones, and those that fell silent without having stopped',
      labelNames: ['state'],
      registers,
    }),
    beatAge: new Gauge({
      name: 'gangway_instance_beat_age_seconds',
      help: 'How long ago an instance that has not stopped was alive last, by the clock of the database',
      labelNames: ['instance', 'version'],
      registers,
    }),
  };
}
