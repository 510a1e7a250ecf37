import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { personalScopes } from '../../../src/marketplace/contract/account.ts';
import { operations } from '../../../src/marketplace/contract/contract.ts';
import { toJsonSchema } from '../../../src/marketplace/contract/json-schema.ts';
import { fieldsOfPath, methodOf, type Operation } from '../../../src/marketplace/contract/operation.ts';
import { platformScopes } from '../../../src/marketplace/contract/platform.ts';
import { type Reason, refusals } from '../../../src/marketplace/contract/refusals.ts';
import { detailsOf, reasonOf } from '../../../src/marketplace/refusal.ts';
import { toStrictSchema } from '../../sandbox/strict-schema.ts';
import { openHttpFake, sendJson } from '../../support/http-fake.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { failureOf } from '../failure-of.ts';
import { examples } from './examples.ts';
import { type Answered, ask, clientOf, type Fields, openParties, type Party, signal } from './parties.ts';
import { situations } from './situations.ts';

/** Each operation of the contract, called through the client at the sandbox: rightly, and in every wrong way. */

const all = operations.map((operation): [string, Operation] => [operation.id, operation]);
const some = (fits: (operation: Operation) => boolean) => all.filter(([, operation]) => fits(operation));

async function exampleOf({ id }: Operation, party: Party): Promise<Fields> {
  return await (examples[id]?.(party) ?? {});
}

describe('the contract', () => {
  it('has an example of each operation', () => {
    expect(Object.keys(examples).sort()).toEqual(operations.map(({ id }) => id).sort());
    expect(operations).toHaveLength(100);
  });

  it('declares each address, and each field, once', () => {
    const addresses = operations.map(({ api, address }) => `${api} ${address.replaceAll(/\{\w+\}/g, '{}')}`);
    expect(new Set(addresses).size).toBe(addresses.length);
    const twice = operations.filter((one) => fieldsOfPath(one).some((field) => field in one.in.shape));
    expect(twice.map(({ id }) => id)).toEqual([]);
  });

  it('says for each operation where the specification has it', () => {
    const unsaid = operations.filter(({ section }) => !/^[AB] \d|^employer-api/.test(section));
    expect(unsaid.map(({ id }) => id)).toEqual([]);
  });
});

describe('called rightly', () => {
  it.each(all)('%s answers what is declared, and nothing else', async (_id, operation) => {
    const party = await openParties();
    const input = await exampleOf(operation, party);
    const answer = await party.ask(operation.id, input);
    if (operation.isFile) expect(Buffer.concat(answer.bytes).toString()).toBe('notes');
    else if (operation.family.endsWith('openapi')) expect(Object.keys(answer.paths).length).toBeGreaterThan(10);
    else expect(() => toStrictSchema(toJsonSchema(operation.out)).parse(answer)).not.toThrow();
  });

  it.each(some(({ isFile }) => !isFile))('%s is read with fields and words of tomorrow', async (_id, operation) => {
    const party = await openParties();
    const input = await exampleOf(operation, party);
    const client = clientOf({ ...party, url: await openTomorrow(party.url) }, operation);
    const answer = await client.call(operation, input as never, signal);
    if (!operation.family.endsWith('openapi')) expect(Object.keys(answer ?? {})).not.toContain('newField');
  });

  it.each(some(({ needsClaim, credential }) => credential === 'personal' && !needsClaim))(
    '%s works before the claim',
    async (_id, operation) => {
      const party = await openParties();
      const input = await exampleOf(operation, party);
      const { sandbox, join } = party;
      expect(sandbox.snapshot().accounts[0]).toMatchObject({ isClaimed: true });
      const unclaimed = join({ isClaimed: false });
      const outcome = await outcomeOf(unclaimed.ask(operation.id, input));
      expect(reasonOf(outcome)).not.toBe('account_claim_required');
    },
  );
});

describe('repeated', () => {
  it.each(all)('%s acts as it says', async (_id, operation) => {
    const party = await openParties();
    const input = await exampleOf(operation, party);
    const keyed = operation.idempotency === 'header' ? { idempotencyKey: 'one' } : {};
    const first = await party.ask(operation.id, input, keyed);
    const second = await outcomeOf(party.ask(operation.id, input, keyed));
    switch (operation.idempotency) {
      case 'header': {
        expect(second).toEqual(first);
        const changed = { ...input, ...changeOf(operation) };
        const refused = await failureOf(party.ask(operation.id, changed, keyed));
        expect([refused.code, refused.status]).toEqual(['conflict', 409]);
        return;
      }
      case 'body':
        expect(second).toMatchObject({ jobId: first.jobId });
        return;
      case 'none':
        expect(second).not.toEqual(first);
        return;
      case 'nature':
        if (second instanceof Error) expect(isDeclared(operation, second)).toBe(true);
        else expect(idsIn(first)).toEqual(expect.arrayContaining(idsIn(second)));
    }
  });
});

/** Another request with the same key. */
function changeOf({ id, in: { shape } }: Operation): Fields {
  if (id === 'manuals.restore') return { revisionNumber: 2 };
  const field = ['name', 'title', 'description', 'note'].find((one) => one in shape);
  return { [String(field)]: 'Another' };
}

async function outcomeOf(asked: Promise<Answered>): Promise<Answered> {
  return await asked.catch((error: Error) => error);
}

/** Nothing new is made if all ids are known. */
function idsIn(value: unknown, name = ''): unknown[] {
  if (typeof value === 'string') return /id$/i.test(name) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([field, one]) => idsIn(one, Array.isArray(value) ? name : field));
}

/** An act that was done before may find nothing, or be refused as the contract says. */
function isDeclared({ reasons, refusals }: Operation, error: Error): boolean {
  const reason = reasonOf(error);
  if (reason !== undefined) return reasons.includes(reason);
  return [404, ...refusals].includes(Number(Object(error).status));
}

describe('called with the wrong token', () => {
  const needsToken = ({ credential }: Operation) => credential === 'personal' || credential === 'platform';

  it.each(some(needsToken))('%s is refused without a live token', async (_id, operation) => {
    const party = await openParties();
    const input = await exampleOf(operation, party);
    const unknown = { url: party.url, token: 'ot_pat_unknown_1', platformToken: 'ot_ptk_unknown_1' };
    const refused = await failureOf(ask(unknown, operation.id, input));
    expect([refused.code, refused.status]).toEqual(['unauthenticated', 401]);
    expect(refused.message).not.toContain('unknown_1');
  });

  it.each(some(({ scopes }) => scopes.length > 0))(
    '%s is refused without each of its scopes',
    async (_id, operation) => {
      const party = await openParties();
      const input = await exampleOf(operation, party);
      for (const needed of operation.scopes) {
        const lacking = (held: string) => needed.split('|').every((one) => !covers(held, one));
        const [own, platform] = [personalScopes.filter(lacking), platformScopes.filter(lacking)];
        const { token } = await party.ask('tokens.create', { scopes: own });
        const { token: platformToken } = party.sandbox.createInstall({
          organizationId: party.accountId,
          tokenScopes: platform,
        });
        const refused = await failureOf(ask({ url: party.url, token, platformToken }, operation.id, input));
        expect([needed, refused.code]).toEqual([needed, 'forbidden']);
        const requiredScopes = operation.scopes.flatMap((one) => one.split('|'));
        expect(detailsOf(refused)).toMatchObject({ requiredScopes });
      }
    },
  );

  it.each(some(({ feature }) => feature !== undefined))(
    '%s is refused while its feature is off',
    async (_id, operation) => {
      const party = await openParties();
      const input = await exampleOf(operation, party);
      party.sandbox.setAccount(party.accountId, { featuresOff: [String(operation.feature)] });
      const refused = await failureOf(party.ask(operation.id, input));
      expect([refused.code, detailsOf(refused)]).toEqual(['forbidden', { featureKey: operation.feature }]);
      expect(refused.message).toContain(operation.feature);
    },
  );

  it.each(some(({ needsClaim }) => needsClaim))('%s is refused before the claim', async (_id, operation) => {
    const party = await openParties();
    const unclaimed = party.join({ isClaimed: false });
    const refused = await failureOf(unclaimed.ask(operation.id, await exampleOf(operation, party)));
    expect(reasonOf(refused)).toBe('account_claim_required');
    expect(refused.message).toMatch(/the account must be claimed first, at https:/);
  });

  it.each(some(({ role }) => role !== undefined))('%s is refused without its role', async (_id, operation) => {
    const party = await openParties();
    const input = await exampleOf(operation, party);
    const workspaceId = String(input['workspaceId'] ?? `wsp_${party.accountId}`);
    party.sandbox.setWorkspaceRole(workspaceId, { role: 'VIEWER' });
    const refused = await failureOf(party.ask(operation.id, input));
    expect([refused.code, refused.status]).toEqual(['forbidden', 403]);
  });
});

function covers(held: string, needed: string): boolean {
  return held === needed || held.replace(/:write$/, ':read') === needed;
}

describe('called for what is not ours', () => {
  const open = new Set(['freelancers.get', 'permissions.revoke']);
  const isOwned = (one: Operation) => fieldsOfPath(one).length > 0 && one.credential !== 'none' && !open.has(one.id);

  it.each(some(isOwned))('%s is refused, and so is an unknown id', async (_id, operation) => {
    const party = await openParties();
    const theirs = await exampleOf(operation, party.join());
    const refused = await failureOf(party.ask(operation.id, theirs));
    expect([403, 404]).toContain(refused.status);
    const [field = ''] = fieldsOfPath(operation);
    const unknown = field === 'attachmentId' ? `att_${'0'.repeat(32)}` : 'unknown_1';
    const missing = await failureOf(party.ask(operation.id, { ...theirs, [field]: unknown }));
    expect(missing.status).toBe(404);
  });
});

describe('called with malformed input', () => {
  const hasInput = (one: Operation) => Object.keys(one.in.shape).length > 0;

  it.each(some(hasInput))('%s is refused for each field of a wrong type', async (_id, operation) => {
    const party = await openParties();
    const input = await exampleOf(operation, party);
    for (const field of Object.keys(operation.in.shape)) {
      const wrong = wrongFor(operation, field);
      if (wrong === undefined) continue;
      const refused = await failureOf(party.ask(operation.id, { ...input, [field]: wrong }));
      expect([field, refused.code]).toEqual([field, 'invalid']);
    }
  });

  it.each(some(({ isStrict }) => isStrict))('%s is refused for an unknown field', async (_id, operation) => {
    const party = await openParties();
    const input = await exampleOf(operation, party);
    const refused = await failureOf(party.ask(operation.id, { ...input, unknown: 1 }));
    expect(refused.code).toBe('invalid');
  });
});

/** In a query, everything is text, and a list may have one. Undefined for a field that accepts anything. */
function wrongFor(operation: Operation, field: string): unknown {
  const wrong = methodOf(operation) === 'GET' ? 'wrong' : { wrong: ['type'] };
  const accepts = operation.in.shape[field];
  return accepts?.safeParse(wrong).success || accepts?.safeParse([wrong]).success ? undefined : wrong;
}

const refused = operations.flatMap(({ id, reasons }) => reasons.map((reason): [string, Reason] => [id, reason]));

describe('refused with a reason', () => {
  /** The test of the gates has it for each operation. */
  const situated = refused.filter(([, reason]) => reason !== 'account_claim_required');

  it('has a situation for each, and uses the whole catalogue', () => {
    expect(Object.keys(situations).sort()).toEqual(situated.map((pair) => pair.join(' ')).sort());
    expect([...new Set(refused.map(([, reason]) => reason))].sort()).toEqual(Object.keys(refusals).sort());
  });

  it.each(situated)('%s tells %s in the words of the catalogue', async (id, reason) => {
    const party = await openParties();
    const input = await situations[`${id} ${reason}`]?.(party);
    const failure = await failureOf(party.ask(id, input));
    const [status, means] = refusals[reason];
    expect([reasonOf(failure), failure.status]).toEqual([reason, status]);
    expect(failure.message.toLowerCase()).toContain(means.toLowerCase());
    const { logger, text: logged } = createLogLines();
    logger.error({ err: failure }, 'Refused');
    expect(logged()).toContain(failure.message);
    expect(logged()).not.toMatch(/ot_(pat|ptk|clm)_|whsec_|checkout|I know signs/);
  });
});

/** A marketplace of tomorrow, in front of the sandbox: every record has a new field, and every known word is a new one. */
async function openTomorrow(url: string): Promise<string> {
  async function pass(request: IncomingMessage, response: ServerResponse) {
    const { method = 'GET', url: path, headers } = request;
    const { authorization = '' } = headers;
    const sent = await text(request);
    const body = sent === '' ? {} : { body: sent };
    const answer = await fetch(`${url}${path}`, { method, headers: { authorization }, ...body });
    sendJson(response, makeNew(await answer.json()), answer.status);
  }
  return (await openHttpFake((request, response) => void pass(request, response))).url;
}

const known = new Set(operations.flatMap(({ out }) => wordsIn(toJsonSchema(out))));

function wordsIn(schema: unknown): unknown[] {
  if (Array.isArray(schema)) return schema.flatMap(wordsIn);
  if (typeof schema !== 'object' || schema === null) return [];
  const { enum: words = [] } = schema as { enum?: unknown[] };
  return [...words, ...Object.values(schema).flatMap(wordsIn)];
}

function makeNew(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(makeNew);
  if (typeof value !== 'object' || value === null) return known.has(value) ? 'A_NEW_WORD' : value;
  const entries = Object.entries(value).map(([name, one]) => [name, makeNew(one)]);
  return { ...Object.fromEntries(entries), newField: { of: ['tomorrow'] } };
}
