import { describeConfig } from '../../config/describe-config.ts';
import { AppError } from '../../domain/errors.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { toDurationMs } from '../../lib/units.ts';
import { loadRunning } from '../../operator/about-instances.ts';
import { loadStatus, toMailed } from '../../operator/load-status.ts';
import { acceptServer, listServers } from '../../operator/tool-servers.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  acceptedToolAnswer,
  doctorAnswer,
  report,
  settingsAnswer,
  statusAnswer,
  statusQuery,
  toolParams,
  toolsAnswer,
} from '../schemas/status-schema.ts';

/** How Gangway is doing. */

const tag = 'status';

const getStatus = defineOperation({
  id: 'getStatus',
  method: 'get',
  path: '/status',
  summary: 'How Gangway is doing, what happened lately, and what needs an operator',
  tag,
  query: statusQuery,
  answer: statusAnswer,
  async run({ query: { since = '24h' } }, ctx) {
    const { installs, config, clock } = ctx;
    const from = instantIn(clock, -(toDurationMs(since) ?? 0));
    const status = await loadStatus(ctx, from, installs, toMailed(config, toInstant(clock.now())));
    const running = await loadRunning(ctx, clock);
    return { ...status, ...running, attention: [...running.attention, ...status.attention] };
  },
});

const getDoctor = defineOperation({
  id: 'getDoctor',
  method: 'get',
  path: '/doctor',
  summary: 'What this instance found when it last looked at everything',
  tag,
  answer: doctorAnswer,
  run(_asked, { reports }) {
    const found = reports.get('doctor');
    return { report: found === undefined ? null : { ...found, checks: [...found.checks] } };
  },
});

const getSettings = defineOperation({
  id: 'getSettings',
  method: 'get',
  path: '/settings',
  summary: 'The configuration as it was loaded, with secrets masked',
  tag,
  answer: settingsAnswer,
  run: (_asked, { config }) => ({ settings: describeConfig(config) }),
});

const listTools = defineOperation({
  id: 'listTools',
  method: 'get',
  path: '/tools',
  summary: 'The tools that are configured, and the servers that their people are in',
  tag,
  answer: toolsAnswer,
  run: async (_asked, ctx) => ({ tools: await listServers(ctx, ctx.config.tools) }),
});

const runDoctor = defineOperation({
  id: 'runDoctor',
  method: 'post',
  path: '/doctor',
  summary: 'Look at configuration, tools, marketplace, database and clocks, and say what to do',
  tag,
  answer: report,
  async run({ by, signal }, { examine, reports }) {
    const found = { by: by.actor, at: by.at, checks: await examine(signal) };
    reports.set('doctor', found);
    return found;
  },
});

const acceptTool = defineOperation({
  id: 'acceptTool',
  method: 'post',
  path: '/tools/{tool}/accept',
  summary: 'Take the server that a tool leads to now as the one that its people are in',
  tag,
  params: toolParams,
  answer: acceptedToolAnswer,
  async run({ params: { tool }, by, signal }, ctx) {
    const [adapter, settings] = [ctx.adapters.get(tool), ctx.config.tools.get(tool)?.settings];
    if (adapter === undefined || settings === undefined) throw new AppError('not_found', `There is no tool ${tool}`);
    const { identity, location } = await acceptServer(ctx, by, { tool, adapter, settings }, signal);
    return { tool, identity, location };
  },
});

export const statusOperations = [getStatus, getDoctor, runDoctor, getSettings, listTools, acceptTool];
