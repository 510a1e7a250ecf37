import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../../domain/errors.ts';
import { dayIn } from '../../lib/day-in.ts';
import { pathSegment } from '../../lib/path-segment.ts';
import { readCsv } from '../../lib/read-csv.ts';
import type { UsageObservation, UsageRequest } from '../adapter.ts';
import { hasAnalytics } from './check-cvat.ts';
import type { CvatApi } from './cvat-api.ts';
import { AssignedPage, type CvatSettings, Export, StartedExport } from './cvat-schema.ts';
import { createTally, eventColumns } from './tally-events.ts';

const dayMs = 86_400_000;
/** The payload of one save names every shape in it. */
const maxLineBytes = 4 * 1024 * 1024;
const firstWaitMs = 50;
const maxWaitMs = 5000;

/** The work in a project by day, from an export of its events. */
export async function* readEventUsage(
  api: CvatApi,
  settings: CvatSettings,
  { project, request, signal }: { project: string; request: UsageRequest; signal: AbortSignal },
): AsyncGenerator<UsageObservation> {
  const firstDay = firstDayOf(request);
  const query = {
    org: settings.organization,
    project_id: toProjectId(project),
    // No time zone begins a day more than 14 hours before UTC.
    from: new Date(Date.parse(`${firstDay}T00:00:00Z`) - 14 * 3_600_000).toISOString(),
  };
  const path = '/api/events/export';
  const start = { method: 'POST', path, query, purpose: 'export the events', signal } as const;
  const { rq_id } = await api.ask(StartedExport, start);
  const resultUrl = await waitForExport(api, rq_id, signal);
  if (resultUrl === null) throw noExport(await hasAnalytics(api, signal));
  const file = { ...toOwnPath(resultUrl, settings.url), purpose: 'read the events', signal };
  const tally = createTally({ timeZone: request.timeZone, firstDay });
  const options = { purpose: file.purpose, columns: eventColumns, maxLineBytes };
  for await (const event of readCsv(api.download(file), options)) tally.add(event);
  yield* tally.observations();
}

/** Without events: the number of completed jobs that are still assigned to each member. */
export async function* readJobUsage(
  api: CvatApi,
  { organization }: CvatSettings,
  { project, signal }: { project: string; signal: AbortSignal },
): AsyncGenerator<UsageObservation> {
  const filters = { project_id: toProjectId(project), state: 'completed', type: 'annotation' };
  const query = { org: organization, ...filters };
  const call = { path: '/api/jobs', query, purpose: 'list the completed jobs', signal };
  const tasks = new Map<number, number>();
  for await (const { assignee } of api.list(AssignedPage, call)) {
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

function toProjectId(project: string): string {
  if (/^[1-9]\d{0,14}$/.test(project)) return project;
  throw new AppError(
    'invalid',
    'The id of a CVAT project is a number: link the job to the number in the address of the project in CVAT',
  );
}

/** @returns the URL of the file; null if the export failed or has no file */
async function waitForExport(api: CvatApi, id: string, signal: AbortSignal): Promise<string | null> {
  const path = `/api/requests/${pathSegment(id)}`;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, maxWaitMs)) {
    const call = { path, purpose: 'wait for the export of the events', signal };
    const { status, result_url } = await api.ask(Export, call);
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
function toOwnPath(resultUrl: string, url: string): { path: string; query: Record<string, string> } {
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
  return { path, query: Object.fromEntries(searchParams ?? []) };
}
