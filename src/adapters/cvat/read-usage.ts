import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../../domain/errors.ts';
import { dayIn } from '../../lib/days.ts';
import { readCsv } from '../../lib/read-csv.ts';
import type { RestClient } from '../../lib/rest-client.ts';
import { pathSegment } from '../../lib/url.ts';
import type { UsageObservation, UsageRequest } from '../adapter.ts';
import { hasAnalytics } from './check-cvat.ts';
import { type Cvat, listAll, withQuery } from './cvat-api.ts';
import { AssignedPage, Export, StartedExport, toProjectId } from './cvat-schema.ts';
import { eventColumns, tallyEvents } from './tally-events.ts';

const dayMs = 86_400_000;
/** The payload of one save names every shape in it. */
const maxLineBytes = 4 * 1024 * 1024;
/** About four million events. */
const maxBytes = 2 * 1024 ** 3;
const wholeFile = { headers: { accept: '*/*' }, timeoutMs: 600_000, maxBytes };
const firstWaitMs = 50;
const maxWaitMs = 5000;

/** The work in a project by day, from an export of its events. */
export async function* readEventUsage(
  cvat: Cvat,
  project: string,
  request: UsageRequest,
  signal: AbortSignal,
): AsyncGenerator<UsageObservation> {
  const { api, settings } = cvat;
  const firstDay = firstDayOf(request);
  const path = withQuery('/api/events/export', {
    org: settings.organization,
    project_id: toProjectId(project),
    // No time zone begins a day more than 14 hours before UTC.
    from: new Date(Date.parse(`${firstDay}T00:00:00Z`) - 14 * 3_600_000).toISOString(),
  });
  const start = { method: 'POST', path, purpose: 'export the events', signal } as const;
  const { rq_id } = await api.call({ ...start, answer: StartedExport });
  const resultUrl = await waitForExport(api, rq_id, signal);
  if (resultUrl === null) throw noExport(await hasAnalytics(cvat, signal));
  const purpose = 'read the events';
  const bytes = api.download({ ...wholeFile, path: toOwnPath(resultUrl, settings.url), purpose, signal });
  const events = readCsv(bytes, { purpose, columns: eventColumns, maxLineBytes });
  yield* tallyEvents(events, { timeZone: request.timeZone, firstDay });
}

/** Without events: the number of completed jobs that are still assigned to each member. */
export async function* readJobUsage(
  cvat: Cvat,
  project: string,
  signal: AbortSignal,
): AsyncGenerator<UsageObservation> {
  const filters = { project_id: toProjectId(project), state: 'completed', type: 'annotation' };
  const query = { org: cvat.settings.organization, ...filters };
  const call = { path: '/api/jobs', query, purpose: 'list the completed jobs', signal };
  const tasks = new Map<number, number>();
  for await (const { assignee } of listAll(cvat, AssignedPage, call)) {
    if (assignee !== null) tasks.set(assignee.id, (tasks.get(assignee.id) ?? 0) + 1);
  }
  for (const [id, count] of tasks) yield { memberId: String(id), of: 'total', tasks: count };
}

/**
 * Observations are of whole days, so a reading of changes begins with a day. It begins one day earlier,
 * because the editor sends its events late.
 */
function firstDayOf({ firstDay, changedSince, timeZone }: UsageRequest): string {
  if (changedSince === null) return firstDay;
  const changed = dayIn(new Date(Date.parse(changedSince) - dayMs), timeZone);
  return changed > firstDay ? changed : firstDay;
}

/** @returns the URL of the file; null if the export failed or has no file */
async function waitForExport(api: RestClient, id: string, signal: AbortSignal): Promise<string | null> {
  const path = `/api/requests/${pathSegment(id)}`;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, maxWaitMs)) {
    const call = { path, purpose: 'wait for the export of the events', signal };
    const { status, result_url } = await api.call({ ...call, answer: Export });
    if (status === 'finished' && result_url) return result_url;
    if (status === 'finished' || status === 'failed') return null;
    await wait(waitMs, undefined, { signal }).catch(() => {
      throw new AppError('unavailable', `Could not ${call.purpose}: it took too long`);
    });
  }
}

/** An error, and not a reading without work: missing events do not mean zero. */
function noExport(isRecording: boolean): AppError {
  return new AppError(
    isRecording ? 'unavailable' : 'invalid',
    'CVAT could not export its events. Where it runs without analytics (no ClickHouse and Vector, or CVAT_ANALYTICS=0), set "analytics": false and only completed jobs are counted',
  );
}

/**
 * The path of the file below `url`, because the token is sent to no other server. The scheme is not
 * compared: behind a proxy that ends TLS, CVAT gives URLs with plain http.
 */
function toOwnPath(resultUrl: string, url: string): string {
  const own = new URL(url);
  const { host, pathname, searchParams } = URL.parse(resultUrl, url) ?? {};
  if (host !== own.host || pathname === undefined) {
    throw new AppError(
      'invalid',
      'Could not read the events: CVAT says that they are on another server, to which the token is not sent. "url" must have the name under which CVAT knows itself',
    );
  }
  const base = own.pathname.replace(/\/$/, '');
  const path = pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname;
  return withQuery(path, Object.fromEntries(searchParams ?? []));
}
