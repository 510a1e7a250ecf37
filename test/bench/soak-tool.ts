import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A tool over HTTP in which everybody who is in works, and that notes when each came in and went. */
export interface SoakTool {
  url: string;
  /** Sees each call that lets somebody in or takes them out, as `project/trainer`. */
  onChange: (member: string, isIn: boolean) => void;
  has(member: string): boolean;
  /** As `project/trainer`, sorted. */
  members(): string[];
  /** How many there were. */
  calls(): number;
  close(): void;
}

/** Each whole minute that a trainer is in counts as worked when it is over. */
interface Worker {
  /** Of the times that are over. */
  beforeSeconds: number;
  changedMs: number;
  /** Null while they are out. */
  cameMs: number | null;
}

const minuteMs = 60_000;
/** A day has no more. */
const mostSeconds = 80_000;

function workedBy({ beforeSeconds, changedMs, cameMs }: Worker): { seconds: number; changedMs: number } {
  const minutes = cameMs === null ? 0 : Math.floor((Date.now() - cameMs) / minuteMs);
  if (cameMs === null || minutes === 0) return { seconds: beforeSeconds, changedMs };
  return { seconds: Math.min(beforeSeconds + minutes * 60, mostSeconds), changedMs: cameMs + minutes * minuteMs };
}

/** @param answerMs how long each answer takes */
export async function openSoakTool(answerMs = 0): Promise<SoakTool> {
  const groups = new Map<string, Set<string>>();
  /** By project and trainer. */
  const workers = new Map<string, Map<string, Worker>>();

  function of(project: string): Set<string> {
    const members = groups.get(project) ?? new Set();
    groups.set(project, members);
    return members;
  }

  function answerMember(method: string, project: string, trainer: string): object {
    const members = of(project);
    const shown = { id: trainer, email: `${trainer}@opentrain.work` };
    if (method === 'GET') return { member: members.has(trainer) ? shown : null };
    tool.onChange(`${project}/${trainer}`, method === 'PUT');
    if (method === 'PUT') members.add(trainer);
    else members.delete(trainer);
    clock(project, trainer, method === 'PUT');
    return { member: shown };
  }

  function clock(project: string, trainer: string, isIn: boolean): void {
    const known = workers.get(project) ?? new Map<string, Worker>();
    workers.set(project, known);
    const worker = known.get(trainer) ?? { beforeSeconds: 0, changedMs: 0, cameMs: null };
    if (isIn === (worker.cameMs !== null)) return;
    const { seconds, changedMs } = workedBy(worker);
    known.set(trainer, { beforeSeconds: seconds, changedMs, cameMs: isIn ? Date.now() : null });
  }

  /** What has changed since then, and all of it where that is left out. */
  function answerWork(project: string, since: string | null): object {
    const day = new Date().toISOString().slice(0, 10);
    const all = [...(workers.get(project) ?? [])].map(([memberId, worker]) => ({ memberId, ...workedBy(worker) }));
    const changed = all.filter(({ changedMs }) => changedMs >= (since === null ? 1 : Date.parse(since)));
    return { work: changed.map(({ memberId, seconds }) => ({ of: 'day', day, memberId, seconds })) };
  }

  function answer(method: string, url: string): object {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const [, area, project = '', trainer = ''] = pathname.split('/').map(decodeURIComponent);
    if (area === 'work') return answerWork(project, searchParams.get('since'));
    if (area !== 'groups') return {};
    if (trainer !== '') return answerMember(method, project, trainer);
    return { members: [...of(project)].map((id) => ({ id, email: `${id}@opentrain.work` })) };
  }

  let calls = 0;
  const server = createServer(({ method = '', url = '' }, response) => {
    calls += 1;
    const body = JSON.stringify(answer(method, url));
    const end = () => response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    if (answerMs === 0) end();
    else setTimeout(end, answerMs);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const tool: SoakTool = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    onChange: () => undefined,
    has: (member) => groups.get(member.split('/')[0] ?? '')?.has(member.split('/')[1] ?? '') ?? false,
    members: () => [...groups].flatMap(([project, all]) => [...all].map((one) => `${project}/${one}`)).toSorted(),
    calls: () => calls,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return tool;
}
