import { createServer } from 'node:http';
import type { Adapter, Person } from '../../src/adapters/adapter.ts';
import { clockwork, type Owner, runAs } from './clockwork.ts';
import type { Fleet, FleetSettings } from './fleet.ts';
import { emailOf, type Market } from './market.ts';
import type { Customer } from './plan.ts';

/**
 * What others do, by their documented rule, in Gangway's place: read the lists and make the tool equal to them, or act
 * on events alone. Each trusts a whole answer, gives up a run in which one request fails, and begins again at the next.
 */
export type Rule = (typeof rules)[number]['name'];

export const rules = [
  { name: 'unlisted', says: 'removes whoever is not listed' },
  { name: 'okta', says: 'the same, held where more than 20 % of more than 100 people would go' },
  { name: 'peribolos', says: 'the same, refused where more than 25 % would go' },
  { name: 'events', says: "adds and removes by the marketplace's events alone" },
] as const;

const minuteMs = 60_000;
const readEveryMs = 15 * minuteMs;
const port = 8787;
/** What reads the platform API: an employer's own account has another. */
const read: readonly Customer[] = ['acme', 'globex'];

export async function openRival(rule: Rule, { market, tool, log }: FleetSettings): Promise<Fleet> {
  const owner: Owner = { name: rule, isDead: false };
  /** Who was put in, by customer. */
  const ours = new Map<Customer, Set<string>>(read.map((customer) => [customer, new Set()]));
  const held = new Map<Customer, string[]>();
  let isUp = true;
  const isOver = { value: false };

  async function reach(customer: Customer, wanted: ReadonlySet<string>): Promise<void> {
    const present = ours.get(customer) ?? new Set();
    const leaving = [...present].filter((seat) => !wanted.has(seat));
    for (const seat of [...wanted].filter((one) => !present.has(one))) {
      if (await change(tool.adapter, 'add', seat)) present.add(seat);
    }
    if (isHeld(rule, leaving.length, present.size)) {
      held.set(customer, leaving);
      return;
    }
    await remove(customer, leaving);
  }

  async function remove(customer: Customer, seats: readonly string[]): Promise<void> {
    const present = ours.get(customer) ?? new Set();
    const others = read.filter((other) => other !== customer).map((other) => ours.get(other) ?? new Set());
    for (const seat of seats) {
      const isAnothers = others.some((their) => their.has(seat));
      if (isAnothers || (await change(tool.adapter, 'remove', seat))) present.delete(seat);
    }
  }

  async function readAll(): Promise<void> {
    for (const customer of read) {
      const wanted = await listWanted(market, customer).catch(() => null);
      if (wanted !== null) await reach(customer, wanted);
    }
  }

  async function heed(customer: Customer, body: string): Promise<void> {
    const { type, data } = JSON.parse(body) as { type: string; data: EventData };
    const seat = `${data.projectLink?.externalProjectId}/${data.freelancer?.workEmail}`;
    if (type === 'contract.started') {
      if (await change(tool.adapter, 'add', seat)) ours.get(customer)?.add(seat);
    } else if (type === 'contract.ended') await remove(customer, [seat]);
  }

  const server = runAs(owner, () =>
    createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (!isUp) {
        response.statusCode = 503;
        response.end();
        return;
      }
      response.end('{}');
      const customer = request.url?.split('/').at(-1) as Customer;
      if (rule === 'events' && read.includes(customer)) {
        await heed(customer, Buffer.concat(chunks).toString()).catch(() => undefined);
      }
    }),
  );
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));

  void runAs(owner, async () => {
    while (!isOver.value) {
      if (isUp && rule !== 'events') await readAll();
      await clockwork.wait(readEveryMs);
    }
  });

  async function restart(downMs: number): Promise<void> {
    isUp = false;
    await clockwork.wait(downMs);
    isUp = true;
  }

  return {
    readBeganMs: async () => 0,
    knows: async () => true,
    listStored: async () => new Set(),
    readUpTo: async () => 0n,
    async approveAll() {
      const decisions = [...held];
      held.clear();
      for (const [customer, seats] of decisions) {
        log(`a person lets ${seats.length} go`);
        await remove(customer, seats);
      }
      return decisions.length;
    },
    rejectAll: async () => [],
    listHeld: async () => [],
    listBudgets: async () => [],
    forget: async () => undefined,
    forgottenPeople: () => [],
    inviteAgain: async () => undefined,
    rotateToken: async () => undefined,
    decide: async () => 200,
    isBound: async () => false,
    settleDoubts: async () => undefined,
    lookAgain: async () => undefined,
    forgotten: () => [],
    restart,
    start: async () => undefined,
    runSecond: async () => undefined,
    restore: (afterMs) => clockwork.wait(afterMs),
    setAhead: () => undefined,
    unnamed: new Set(),
    leavesOut: () => false,
    onKilled: async () => undefined,
    approvedMs: () => 0,
    // What is not rightly signed would be refused; what a customer signs about others is heeded.
    deliverTo: async (customer, body) => {
      if (rule === 'events' && isUp) await heed(customer, body).catch(() => undefined);
    },
    async close() {
      isOver.value = true;
      owner.isDead = true;
      server.close();
    },
  };
}

interface EventData {
  freelancer?: { workEmail?: string };
  projectLink?: { externalProjectId?: string };
}

function isHeld(rule: Rule, leaving: number, present: number): boolean {
  if (rule === 'okta') return present > 100 && leaving > 0.2 * present;
  return rule === 'peribolos' && leaving > 0.25 * present;
}

/** @throws where one request fails */
async function listWanted(market: Market, customer: Customer): Promise<Set<string>> {
  const { baseUrl } = market.addresses;
  const ask = async <T>(path: string): Promise<T> => {
    const headers = { authorization: `Bearer ${market.tokenOf(customer)}` };
    const response = await fetch(`${baseUrl}${path}`, { headers, signal: AbortSignal.timeout(15_000) });
    if (!response.ok) throw new Error(`answered ${response.status}`);
    return (await response.json()) as T;
  };
  const { projectLinks } = await ask<{ projectLinks: { id: string; externalProjectId: string }[] }>('/project-links');
  const projects = new Map(projectLinks.map(({ id, externalProjectId }) => [id, externalProjectId]));
  const { contracts } = await ask<{ contracts: { id: string; projectLinkIds: string[] }[] }>(
    '/contracts?status=active&limit=200',
  );
  const wanted = new Set<string>();
  for (const { id, projectLinkIds } of contracts) {
    const { participants } = await ask<{ participants: { workEmail?: string; opentrainUserId: string }[] }>(
      `/contracts/${id}/participants`,
    );
    for (const { opentrainUserId, workEmail = emailOf(opentrainUserId) } of participants) {
      for (const link of projectLinkIds) wanted.add(`${projects.get(link)}/${workEmail}`);
    }
  }
  return wanted;
}

/** @returns whether the tool said that it was done */
async function change(adapter: Adapter, how: 'add' | 'remove', seat: string): Promise<boolean> {
  const [group = '', email = ''] = seat.split('/');
  const person: Person = { trainerId: email, email, displayName: null, memberId: null };
  const signal = AbortSignal.timeout(15_000);
  try {
    if (how === 'add') await adapter.addMember(group, person, signal);
    else {
      const member = await adapter.findMember(group, person, signal);
      if (member !== null) await adapter.removeMember(group, member, signal);
    }
    return true;
  } catch {
    return false;
  }
}
