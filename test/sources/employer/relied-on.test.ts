import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { createEmployerSource } from '../../../src/sources/employer/create-employer-source.ts';
import { reliedOperations } from '../../../src/sources/employer/relied-on.ts';
import { fixedLinks } from '../../../src/sources/job-links.ts';
import type { Source } from '../../../src/sources/source.ts';
import { openHttpFake, sendJson } from '../../support/http-fake.ts';
import { signal } from '../failure-of.ts';

const id = 'id1';

/** What leads to further calls; all else is refused. */
const answers: Record<string, object> = {
  [`/contracts/${id}`]: { contract: { id, freelancer: { userId: id }, jobDmConversationId: id } },
  '/instructions/workspaces': { workspaces: [{ id }] },
  [`/instructions/workspaces/${id}/manuals`]: { manuals: [{ id }] },
  [`/instructions/manuals/${id}`]: { manual: { id, bindings: [{ kind: 'JOB', targetId: id, precedence: 0 }] } },
  [`/instructions/manuals/${id}/publications`]: { publications: [{ publicationNumber: 1, audiences: ['WORKER'] }] },
  [`/instructions/manuals/${id}/publications/1/manifest`]: {
    publicationNumber: 1,
    pages: [{ pageId: id, title: 'Signs', revision: 1 }],
  },
};

const calls: ((source: Source) => Promise<unknown> | undefined)[] = [
  (source) => source.readGrant(signal),
  (source) => source.listContracts({ status: 'active' }, signal),
  (source) => source.listParticipants(id, signal),
  (source) => source.readBudget(id, signal),
  (source) => source.readUpdates?.('1', signal),
  (source) => source.listEndpoints(signal),
  (source) => source.createEndpoint({ url: 'https://x.example', eventTypes: ['contract.created'] }, signal),
  (source) => source.readEndpoint(id, signal),
  (source) => source.deleteEndpoint(id, signal),
  (source) => source.endContract?.(id, signal),
  (source) => source.readApproval?.(id, signal),
  (source) => source.listPendingPayments?.(signal),
  (source) => source.readPublications?.([id], signal),
  (source) => source.listTokens?.(signal),
  (source) => source.createToken?.({ name: 'x', scopes: ['payments:read'], expiresAt: '2099-01-01' }, signal),
  (source) => source.revokeToken?.(id, signal),
];

it('is what is called, and all that may be sent', async () => {
  const sent = new Map<string, { query: string[]; body: string[] }>();
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x.example');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = pathname.replaceAll(id, '{id}').replace('/publications/1/', '/publications/{number}/');
    const body = Object.keys(JSON.parse(Buffer.concat(chunks).toString() || '{}') as object);
    sent.set(`${request.method} ${path}`, { query: [...searchParams.keys()].sort(), body: body.sort() });
    const answer = answers[pathname];
    sendJson(response, answer ?? {}, answer === undefined ? 400 : 200);
  }
  const fake = await openHttpFake((request, response) => void take(request, response));
  const links = fixedLinks(new Map([[id, 'signs']]));
  const source = createEmployerSource({ baseUrl: fake.url, token: 'ot_pat_none', links });
  for (const call of calls) await call(source)?.catch(() => undefined);
  const relied = reliedOperations.map(({ operation, query = {}, body = {} }) => [
    operation,
    { query: Object.keys(query).sort(), body: Object.keys(body).map(withoutMark).sort() },
  ]);
  expect(Object.fromEntries(sent)).toEqual(Object.fromEntries(relied));
});

/** The mark of a field that is not always sent. */
function withoutMark(name: string): string {
  return name.replace(/\?$/, '');
}
