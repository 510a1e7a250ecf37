import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A tool over HTTP in which everybody who is in works, and that notes when each came in and went. */
export interface SoakTool {
  url: string;
  /** Sees each call that lets somebody in or takes them out, as `project/trainer`. */
  onChange: (member: string, isIn: boolean) => void;
  has(member: string): boolean;
  /** As `project/trainer`, sorted. */
  members(): string[];
  close(): void;
}

export async function openSoakTool(): Promise<SoakTool> {
  const groups = new Map<string, Set<string>>();
  /** Seconds of today, by project and trainer. */
  const worked = new Map<string, Map<string, number>>();
  const of = (project: string) => groups.get(project) ?? groups.set(project, new Set()).get(project) ?? new Set();

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

  const server = createServer(({ method = '', url = '' }, response) => {
    const [, area, project = '', trainer = ''] = url.split('/').map(decodeURIComponent);
    if (area === 'work') return send(response, answerWork(project));
    if (area !== 'groups') return send(response, {});
    if (trainer !== '') return send(response, answerMember(method, project, trainer));
    send(response, { members: [...of(project)].map((id) => ({ id, email: `${id}@opentrain.work` })) });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const tool: SoakTool = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    onChange: () => undefined,
    has: (member) => groups.get(member.split('/')[0] ?? '')?.has(member.split('/')[1] ?? '') ?? false,
    members: () => [...groups].flatMap(([project, all]) => [...all].map((one) => `${project}/${one}`)).toSorted(),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return tool;
}

function send(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
