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

/** @param answerMs how long each answer takes */
export async function openSoakTool(answerMs = 0): Promise<SoakTool> {
  const groups = new Map<string, Set<string>>();
  /** Seconds of today, by project and trainer. */
  const worked = new Map<string, Map<string, number>>();

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
    return { member: shown };
  }

  /** Each reading finds that those who are in have worked for a minute more. */
  function answerWork(project: string): object {
    const days = worked.get(project) ?? new Map<string, number>();
    worked.set(project, days);
    for (const trainer of of(project)) days.set(trainer, Math.min((days.get(trainer) ?? 0) + 60, 80_000));
    const day = new Date().toISOString().slice(0, 10);
    return { work: [...days].map(([memberId, seconds]) => ({ of: 'day', day, memberId, seconds })) };
  }

  function answer(method: string, url: string): object {
    const [, area, project = '', trainer = ''] = url.split('/').map(decodeURIComponent);
    if (area === 'work') return answerWork(project);
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
