import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../../domain/errors.ts';
import { dayMs } from '../../lib/clock.ts';
import { dayIn } from '../../lib/days.ts';
import { readCsv } from '../../lib/read-csv.ts';
import { pathSegment } from '../../lib/url.ts';
import type { UsageObservation, UsageRequest } from '../adapter.ts';
import { type ToolClient, unless } from '../tool-request.ts';
import { type Cvat, listAll, withQuery } from './cvat-api.ts';
import { AssignedPage, Export, Plugins, StartedExport, toProjectId } from './cvat-schema.ts';

/** The payload of one save names every shape in it. */
const maxLineBytes = 4 * 1024 * 1024;
/** About four million events. */
const maxBytes = 2 * 1024 ** 3;
const wholeFile = { headers: { accept: '*/*' }, timeoutMs: 600_000, maxBytes };
const firstWaitMs = 50;
const maxWaitMs = 5000;

/** The work in a project by day, from an export of CVAT's events. */
export async function* readEventUsage(
  cvat: Cvat,
  project: string,
  request: UsageRequest,
): AsyncGenerator<UsageObservation> {
  const { api, settings } = cvat;
  const firstDay = firstDayOf(request);
  const path = withQuery('/api/events/export', {
    org: settings.organization,
    project_id: toProjectId(project),
    // No time zone begins a day more than 14 hours before UTC.
    from: new Date(Date.parse(`${firstDay}T00:00:00Z`) - 14 * 3_600_000).toISOString(),
  });
  const start = { method: 'POST', path, purpose: 'export the events' } as const;
  const { rq_id } = await api.call({ ...start, answer: StartedExport });
  const resultUrl = await waitForExport(api, rq_id);
  if (resultUrl === null) throw noExport(await hasAnalytics(cvat));
  const purpose = 'read the events';
  const bytes = api.download({ ...wholeFile, path: toOwnPath(resultUrl, settings.url), purpose });
  const events = readCsv(bytes, { purpose, columns: eventColumns, maxLineBytes });
  yield* tallyEvents(events, { timeZone: request.timeZone, firstDay });
}

/** Without events: how many completed jobs are still assigned to each member. */
export async function* readJobUsage(cvat: Cvat, project: string): AsyncGenerator<UsageObservation> {
  const filters = { project_id: toProjectId(project), state: 'completed', type: 'annotation' };
  const query = { org: cvat.settings.organization, ...filters };
  const call = { path: '/api/jobs', query, purpose: 'list the completed jobs' };
  const tasks = new Map<number, number>();
  for await (const { assignee } of listAll(cvat, AssignedPage, call)) {
    if (assignee !== null) tasks.set(assignee.id, (tasks.get(assignee.id) ?? 0) + 1);
  }
  for (const [id, count] of tasks) yield { memberId: String(id), of: 'total', tasks: count };
}

/** Observations are of whole days. A reading of changes begins a day early, because the editor sends its events late. */
function firstDayOf({ firstDay, changedSince, timeZone }: UsageRequest): string {
  if (changedSince === null) return firstDay;
  const changed = dayIn(new Date(Date.parse(changedSince) - dayMs), timeZone);
  return changed > firstDay ? changed : firstDay;
}

/** @returns the URL of the file; null if the export failed or has no file */
async function waitForExport(api: ToolClient, id: string): Promise<string | null> {
  const path = `/api/requests/${pathSegment(id)}`;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, maxWaitMs)) {
    const call = { path, purpose: 'wait for the export of the events' };
    const { status, result_url } = await api.call({ ...call, answer: Export });
    if (status === 'finished' && result_url) return result_url;
    if (status === 'finished' || status === 'failed') return null;
    await wait(waitMs, undefined, { signal: api.signal }).catch(() => {
      throw new AppError('unavailable', `Could not ${call.purpose}: it took too long`);
    });
  }
}

/** Whether the server records events. A server that does not say is assumed to. */
export async function hasAnalytics({ api }: Cvat): Promise<boolean> {
  const call = { path: '/api/server/plugins', purpose: 'ask what CVAT runs with' };
  const plugins = await unless([404], api.call({ ...call, answer: Plugins }));
  return plugins?.ANALYTICS !== false;
}

/** An error and not an empty reading, because missing events do not mean that nobody worked. */
function noExport(isRecording: boolean): AppError {
  return new AppError(
    isRecording ? 'unavailable' : 'invalid',
    'CVAT could not export its events. If it runs without analytics (no ClickHouse and Vector, or CVAT_ANALYTICS=0), set "analytics": false to count only completed jobs',
  );
}

/**
 * The path of the file below `url`, because the token is sent to no other server. The scheme is not compared, because
 * CVAT gives http URLs behind a proxy that terminates TLS.
 */
function toOwnPath(resultUrl: string, url: string): string {
  const own = new URL(url);
  const { host, pathname, searchParams } = URL.parse(resultUrl, url) ?? {};
  if (host !== own.host || pathname === undefined) {
    throw new AppError(
      'invalid',
      'Could not read the events: CVAT says that they are on another server, to which Gangway does not send the token. "url" must have the host name that CVAT uses for itself',
    );
  }
  const base = own.pathname.replace(/\/$/, '');
  const path = pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname;
  return withQuery(path, Object.fromEntries(searchParams ?? []));
}

const eventColumns = ['scope', 'timestamp', 'user_id', 'job_id', 'obj_name', 'obj_val', 'count', 'duration', 'payload'];

const labelScopes = new Set(['create:shapes', 'create:tracks', 'create:tags']);

type Event = ReadonlyMap<string, string>;

interface Day {
  workingMs: number;
  labels: number;
  /** The completed jobs. A job that is reopened and completed again counts once. */
  jobs: Set<string>;
}

async function* tallyEvents(
  events: AsyncIterable<Event>,
  { timeZone, firstDay }: Pick<UsageRequest, 'timeZone' | 'firstDay'>,
): AsyncGenerator<UsageObservation> {
  const members = new Map<string, Map<string, Day>>();
  for await (const event of events) {
    if (!isCounted(event)) continue;
    const day = dayIn(toInstant(event.get('timestamp') ?? ''), timeZone);
    if (day < firstDay) continue;
    const memberId = event.get('user_id') ?? '';
    const days = members.get(memberId) ?? new Map<string, Day>();
    const counts = days.get(day) ?? { workingMs: 0, labels: 0, jobs: new Set() };
    members.set(memberId, days.set(day, counts));
    addEvent(counts, event);
  }
  for (const [memberId, days] of members) {
    for (const [day, { workingMs, labels, jobs }] of days) {
      yield { memberId, of: 'day', day, seconds: Math.round(workingMs / 1000), labels, tasks: jobs.size };
    }
  }
}

/**
 * Time is counted only from `send:working_time`: other events of the editor have durations too, which would count it
 * twice. A change of a job makes one event for each changed property.
 */
function isCounted(event: Event): boolean {
  const scope = event.get('scope') ?? '';
  // The server's own events have no user.
  if (!/^[1-9]\d*$/.test(event.get('user_id') ?? '')) return false;
  if (scope !== 'update:job') return scope === 'send:working_time' || labelScopes.has(scope);
  const isState = event.get('obj_name') === 'state';
  return isState && event.get('obj_val') === 'completed' && event.get('job_id') !== '';
}

function addEvent(day: Day, event: Event): void {
  const scope = event.get('scope') ?? '';
  if (labelScopes.has(scope)) day.labels += toCount(event.get('count'));
  else if (scope === 'update:job') day.jobs.add(event.get('job_id') ?? '');
  else day.workingMs += workingMsOf(event);
}

/** On older servers, only the payload has the duration. */
function workingMsOf(event: Event): number {
  const duration = toCount(event.get('duration'));
  if (duration > 0) return duration;
  const [, workingTime] = /"working_time":\s*(\d+)/.exec(event.get('payload') ?? '') ?? [];
  return toCount(workingTime);
}

/** An empty column does not apply. An invalid count is an error, not zero. */
function toCount(text = ''): number {
  if (text === '') return 0;
  if (/^\d{1,15}(\.\d+)?$/.test(text)) return Number(text);
  throw invalidEvents('count');
}

/** `2026-03-15 09:30:00.250`, in UTC unless a zone is given. CVAT leaves out a fraction of 0. */
function toInstant(text: string): Date {
  const [, day, time, zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d:\d\d)?$/.exec(text) ?? [];
  const at = new Date(`${day}T${time}${zone}`);
  if (Number.isNaN(at.getTime())) throw invalidEvents('time');
  return at;
}

function invalidEvents(what: string): AppError {
  return new AppError('invalid', `Could not read the events: they have an invalid ${what}`);
}
